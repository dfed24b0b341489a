"""Memory does not follow the number of users: neither of lists in parts, nor of the lists of an evaluation."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import corml
from corml.data.ids import Ids
from corml.evaluation import measure
from corml.splits import Split

ITEMS = 100

# Peak of memory, in bytes, of a process that writes lists for so many users, some 5,000 in a part.
WRITER = f"""
import sys
import numpy as np
import corml
from corml.data.ids import Ids
from corml.outofcore.lists import sizes

sizes.PIECE, sizes.PIECES = 1000, 5
users = int(sys.argv[1])
ids, one = (Ids(range(users), kind="user"), Ids(range({ITEMS}))), np.arange(users)
data = corml.Interactions(*ids, one, one % {ITEMS})
made = corml.recommend_to(corml.Popularity().fit(data), sys.argv[2], k=20)
assert made.rows == 20 * users
(line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(line.split()[1]) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is read from /proc")
def test_twice_the_users_take_the_same_memory(tmp_path):
    """All lists of 20,000 users would be 40 MB more: 1.2 times as much."""

    def peak(users):
        command = [sys.executable, "-c", WRITER, str(users), str(tmp_path / str(users))]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert peak(40_000) <= 1.1 * peak(20_000)


def split_of(users):
    """Everybody has one item to learn from and one to find."""
    ids = Ids(range(users), kind="user"), Ids(range(ITEMS))
    one = np.arange(users)
    return Split(
        train=corml.Interactions(*ids, one, one % ITEMS),
        valid=corml.Interactions(*ids, one[:0], one[:0]),
        test=corml.Interactions(*ids, one, (one * 7 + 1) % ITEMS),
    )


def test_an_evaluation_keeps_five_bytes_of_a_place_in_a_list(monkeypatch):
    """Four of the item and one of the hit; scores, larger numbers and what metrics need are those of some users."""
    monkeypatch.setattr(corml.Popularity, "_block_shape", lambda self, X: (1000, ITEMS))
    monkeypatch.setattr(measure, "BLOCK", 1000)
    monkeypatch.setattr("corml.evaluation.metrics._lists.COUNTED", 1000)

    def peak(k, users=20_000):
        split = split_of(users)
        model = corml.Popularity().fit(split.train)
        tracemalloc.start()
        try:
            corml.evaluate(model, split, [f"ndcg@{k}", f"novelty@{k}", f"coverage@{k}"], intervals=False)
            return tracemalloc.get_traced_memory()[1] / users
        finally:
            tracemalloc.stop()

    peak(1, users=1000)  # loads and compiles what takes memory once
    assert (peak(80) - peak(20)) / 60 < 8
