"""Killed at any moment, the same call ends with the same bytes; and memory does not grow with the rows."""

import os
import random
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import polars as pl
import pytest

import corml
from corml.errors import DataError, UsageError

MEMORY = 1 << 21

BUILD = """
import sys
import polars
from corml.outofcore.ingest import build_store
print("begun", flush=True)
build_store(sys.argv[1], sys.argv[2], memory=int(sys.argv[3]))
"""

# The largest anonymous memory while a store is made, above what the program has before: mapped files do not count.
WATCHED = """
import sys, threading, time
import polars, numba
import corml

def anonymous():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

corml.build_store(sys.argv[1], sys.argv[2] + ".warm", memory=int(sys.argv[4]))
peak, before, done = [0], anonymous(), threading.Event()

def watch():
    while not done.wait(0.002):
        peak[0] = max(peak[0], anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
try:
    store = corml.build_store(sys.argv[3], sys.argv[2], memory=int(sys.argv[4]))
finally:
    done.set()
    watcher.join()
print(peak[0], before, len(store.manifest.user_starts))
"""


def write_rows(path, rows, seed=0):
    rng = np.random.default_rng(seed)
    path.mkdir()
    for part in range(4):
        size = rows // 4
        frame = pl.DataFrame(
            {
                "user": rng.integers(0, max(rows // 10, 1), size),
                "item": (2000 * rng.random(size) ** 3).astype(np.int64),
                "rating": rng.integers(1, 6, size),
                "time": rng.integers(10**8, 10**9, size),
            }
        )
        frame.write_parquet(path / f"{part}.parquet", row_group_size=20_000)


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kill_again_and_again(folder, kills, seed):
    """Kill processes that make a store at random moments, each going on where the last one was; give all that ended."""
    rng, out, killed = random.Random(seed), folder / "killed", 0
    while killed < kills:
        child = subprocess.Popen(
            [sys.executable, "-c", BUILD, str(folder / "in"), str(out), str(MEMORY)], stdout=subprocess.PIPE
        )
        child.stdout.readline()
        time.sleep(rng.random() * 0.5)
        child.kill()
        child.wait()
        child.stdout.close()
        killed += (out / "work").exists()  # else it had not begun, or had just ended
        if (out / "manifest.json").exists() or killed == kills:
            corml.build_store(str(folder / "in"), out, memory=MEMORY)
            yield files_of(out)
            shutil.rmtree(out)


@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_kill_at_any_moment_and_go_on_to_the_same_bytes(tmp_path, kills):
    write_rows(tmp_path / "in", 80_000)
    corml.build_store(str(tmp_path / "in"), tmp_path / "whole", memory=MEMORY)
    whole, ended = files_of(tmp_path / "whole"), 0
    for found in kill_again_and_again(tmp_path, kills, seed=kills):
        assert found == whole
        ended += 1
    assert ended


class Stop(Exception):
    pass


def test_stopped_after_any_step_it_goes_on_and_nothing_done_is_done_again(tmp_path):
    write_rows(tmp_path / "in", 20_000)
    source, out = str(tmp_path / "in"), tmp_path / "stopped"
    steps = []
    corml.build_store(source, tmp_path / "whole", memory=MEMORY, progress=lambda *step: steps.append(step))
    for stop in range(len(steps)):
        left = iter(range(stop + 1))

        def stopping(*step, left=left):
            if next(left, None) is None:
                raise Stop

        before = {path: path.stat().st_mtime_ns for path in out.rglob("*.*") if path.is_file()}
        try:
            corml.build_store(source, out, memory=MEMORY, progress=stopping)
        except Stop:
            with pytest.raises(DataError, match="is an unfinished store"):
                corml.Store(out)
            kept = {path: path.stat().st_mtime_ns for path in before}
            assert kept == before
        else:
            break
    corml.build_store(source, out, memory=MEMORY)
    assert files_of(out) == files_of(tmp_path / "whole")


def test_an_unfinished_store_is_not_continued_with_other_options(tmp_path):
    write_rows(tmp_path / "in", 4000)

    def stop(*step):
        raise Stop

    with pytest.raises(Stop):
        corml.build_store(str(tmp_path / "in"), tmp_path / "s", progress=stop)
    with pytest.raises(UsageError, match="a store of other files, options"):
        corml.build_store(str(tmp_path / "in"), tmp_path / "s", at_least=4)
    with pytest.raises(DataError, match="run the same corml data store again"):
        corml.load(tmp_path / "s")
    corml.build_store(str(tmp_path / "in"), tmp_path / "s")


@pytest.mark.skipif(os.name != "posix", reason="locks of files")
def test_two_processes_do_not_make_the_same_store(tmp_path):
    write_rows(tmp_path / "in", 4000)
    refused, inside, leave = [], threading.Event(), threading.Event()

    def hold(*step):
        inside.set()
        leave.wait(60)

    first = threading.Thread(
        target=lambda: corml.build_store(str(tmp_path / "in"), tmp_path / "s", progress=hold), daemon=True
    )
    first.start()
    assert inside.wait(60)
    try:
        corml.build_store(str(tmp_path / "in"), tmp_path / "s")
    except UsageError as fault:
        refused.append(str(fault))
    finally:
        leave.set()
        first.join()
    assert "Another process is making" in refused[0]
    assert corml.Store(tmp_path / "s", verify=True)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux to tell anonymous memory")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    write_rows(tmp_path / "warm", 4000)
    peaks = {}
    for rows in (150_000, 600_000):
        write_rows(tmp_path / f"in{rows}", rows)
        names = [str(tmp_path / "warm"), str(tmp_path / f"out{rows}"), str(tmp_path / f"in{rows}"), str(8 << 20)]
        done = subprocess.run([sys.executable, "-c", WATCHED, *names], capture_output=True, text=True, check=True)
        peak, before, parts = map(int, done.stdout.split())
        peaks[rows] = (peak, peak - before)
        assert parts > rows // 50_000
        shutil.rmtree(tmp_path / f"out{rows}")
    few, many = peaks.values()
    assert many[0] < 1.2 * few[0], peaks
    assert many[1] < 1.5 * few[1], peaks  # without the program itself, which would hide what grows
