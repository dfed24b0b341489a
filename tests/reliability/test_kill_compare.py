"""Kill -9 at any moment of a study: the next run goes on, to the same numbers. Two at once: nothing is done twice.

CORML_KILLS sets how many kills (8 by default).
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("optuna")

KILLS = int(os.environ.get("CORML_KILLS", "8"))
RUNS = 6  # corml, ease and item-knn, each with its defaults and tuned

# Imports everything once, then forks a child for each folder it is told: the child runs a study there.
WORKER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import optuna
import corml
import corml.experiments, corml.experiments.tuning, corml.models.linear.ease, corml.models.linear.item_knn
from support import random_interactions

split = corml.split(random_interactions(5, users=120, items=60, mean=14), seed=1)
models = [corml.CoRML(rank=4), "ease", "item-knn"]
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        print("began", os.getpid(), flush=True)
        ran = []
        try:
            corml.compare(models, split, metrics="ndcg@10,mrr@10", trials=3, folder=line.strip(), notify=ran.append)
        except corml.errors.UsageError as fault:
            print("refused", fault, file=sys.stderr, flush=True)
        print("ran", len(ran), flush=True)
        os._exit(0)
"""


@pytest.fixture
def start():
    """Begin a study in a folder; gives the process and its id."""
    workers = []

    def begin(folder):
        if not workers or workers[-1].busy:
            workers.append(Worker())
        return workers[-1].begin(folder)

    yield begin
    for worker in workers:
        worker.end()


class Worker:
    def __init__(self):
        command = [sys.executable, "-c", WORKER, str(Path(__file__).parents[1])]
        environment = {**os.environ, "CORML_THREADS": "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.busy = False

    def begin(self, folder):
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        self.busy, self.child = True, self._number("began")
        return self

    def runs_made(self):
        """Wait for the end; how many runs this process made."""
        self.busy = False
        return self._number("ran")

    def _number(self, what):
        """The next line about this; a study that ended before it was killed has left another."""
        return next(int(words[1]) for words in map(str.split, self.process.stdout) if words[0] == what)

    def kill(self):
        self.busy = False
        os.kill(self.child, signal.SIGKILL)
        state = Path(f"/proc/{self.child}/stat")  # a zombie holds no lock any more
        while sys.platform == "linux" and state.exists() and state.read_text().rpartition(") ")[2][0] != "Z":
            time.sleep(0.001)

    def end(self):
        with self.process:  # closes its input, so that it ends
            pass


def figures(folder):
    """All numbers that do not depend on the clock, from the files alone."""
    import corml

    entries = corml.read_study(folder).record()["models"]
    return json.dumps([{**entry, "cost": entry["cost"]["trials"]} for entry in entries], sort_keys=True)


def finished(folder):
    return {path.name: path.read_bytes() for path in (folder / "runs").glob("*.json")}


def test_after_any_kill_a_study_goes_on_to_the_same_numbers(tmp_path, start):
    assert start(tmp_path / "whole").runs_made() == RUNS
    begun = time.monotonic()
    assert start(tmp_path / "warm").runs_made() == RUNS
    longest = time.monotonic() - begun
    expected, moments, landed = figures(tmp_path / "whole"), random.Random(2026), 0
    assert figures(tmp_path / "warm") == expected
    folder = tmp_path / "killed"
    for _ in range(KILLS):
        before = finished(folder)
        study = start(folder)
        time.sleep(moments.uniform(0, longest))
        study.kill()
        after = finished(folder)
        assert before.items() <= after.items()  # what is finished stays as it is
        landed += 0 < len(after) < RUNS
        if len(after) == RUNS:
            assert start(folder).runs_made() == 0
            assert figures(folder) == expected
            shutil.rmtree(folder)
    left = RUNS - len(finished(folder))
    assert start(folder).runs_made() == left
    assert figures(folder) == expected
    print(f"{landed} of {KILLS} kills landed between the first cell and the last")
    assert landed  # or the test would say nothing


def test_two_processes_in_one_folder_leave_one_whole_study(tmp_path, start):
    """The second is refused or, where it comes so late that the first is through, finds all done."""
    assert start(tmp_path / "alone").runs_made() == RUNS
    studies = [start(tmp_path / "shared") for _ in range(2)]
    assert sorted(study.runs_made() for study in studies) == [0, RUNS]
    assert figures(tmp_path / "shared") == figures(tmp_path / "alone")
    assert not [path for path in (tmp_path / "shared").rglob("*.tmp")]
