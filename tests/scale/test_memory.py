"""Splitting, evaluating and recommending from a store take no more memory for more users and rows."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import corml

ITEMS = 500
BUDGET = 4 << 20

# The largest anonymous memory of each step above what the program has before, in KiB: mapped files do not count.
WATCHED = """
import contextlib, ctypes, sys, threading
import corml
from corml.evaluation import sharded
from corml.outofcore.lists import sizes
from corml.splits import _draw

sharded.AT_ONCE, sizes.PIECE, sizes.PIECES, _draw.HELD = 1000, 1000, 2, 10_000
corml.Popularity._block_shape = lambda self, X: (500, X.shape[1])

def anonymous():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

def steps(store, model, out):
    yield lambda: corml.split(store, "ratio", out=out + ".ratio")
    yield lambda: corml.split(store, "temporal", out=out + ".temporal")
    yield lambda: corml.evaluate(model, out + ".ratio", ["ndcg@10", "coverage@10"], intervals=False)
    yield lambda: corml.recommend_to(model, out + ".lists", data=store, k=10)

def peak(step):
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed before hides nothing
    most, before, done = [anonymous()], anonymous(), threading.Event()
    def watch():
        while not done.wait(0.002):
            most[0] = max(most[0], anonymous())
    watcher = threading.Thread(target=watch)
    watcher.start()
    step()
    done.set()
    watcher.join()
    return most[0] - before

small, large, model, out = sys.argv[1:]
model = corml.read_model(model)
for step in steps(corml.Store(small), model, out + ".warm"):
    step()
print(*(peak(step) for step in steps(corml.Store(large), model, out)))
"""


def write_store(folder, rows):
    rng = np.random.default_rng(rows)
    frame = pl.DataFrame(
        {
            "user": np.arange(rows) // 8,
            "item": (ITEMS * rng.random(rows) ** 2).astype(np.int64),
            "time": rng.integers(10**8, 10**9, rows),
        }
    )
    frame.write_parquet(folder / f"{rows}.parquet", row_group_size=20_000)
    return corml.build_store(folder / f"{rows}.parquet", folder / f"{rows}.store", memory=BUDGET)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux to tell anonymous memory")
@pytest.mark.slow
def test_four_times_the_rows_take_the_same_memory(tmp_path):
    few, many = (write_store(tmp_path, rows) for rows in (150_000, 600_000))
    corml.Popularity().fit(corml.Interactions.from_pairs(range(ITEMS), range(ITEMS))).save(tmp_path / "m.corml")
    peaks = {}
    for store in (few, many):
        names = [str(few.path), str(store.path), str(tmp_path / "m.corml"), str(store.path)]
        done = subprocess.run([sys.executable, "-c", WATCHED, *names], capture_output=True, text=True, check=True)
        peaks[len(store)] = list(map(int, done.stdout.split()))
    for step, before, after in zip(("ratio", "temporal", "evaluate", "lists"), *peaks.values(), strict=True):
        kept = 100 * (many.users - few.users) // 1024 if step == "evaluate" else 0  # an id and a number for each user
        assert after < 1.3 * before + 500 + kept, (step, peaks)
