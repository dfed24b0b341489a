"""Kill -9 at any moment while lists are written in parts: the same command goes on, to the same bytes."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import corml
from support import random_interactions

USERS, PIECE = 600, 10  # 30 parts of two pieces

WRITER = f"""
import sys
import corml
from corml.outofcore.lists import sizes

sizes.PIECE, sizes.PIECES = {PIECE}, 2
print(corml.recommend_to(corml.read_model(sys.argv[1]), sys.argv[2], k=5).found)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.corml"
    corml.CoRML(rank=4, tol=0, max_steps=2).fit(random_interactions(0, users=USERS)).save(path)
    return path


def begin(model, folder):
    command = [sys.executable, "-c", WRITER, str(model), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(model, folder):
    """Run to the end; how many parts were there already."""
    process = begin(model, folder)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return int(out)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def state_of(folder):
    """Names and times of the files, as far as they can be read while they change."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.stat().st_mtime_ns for entry in entries}
    except FileNotFoundError:
        return {}


def finished(folder):
    try:
        return len(json.loads((folder / "manifest.json").read_text("utf-8"))["parts"])
    except FileNotFoundError:
        return 0


def kill_some(model, tmp_path, kills):
    """Kill it again and again, most of the time while it writes; what it finished it never loses."""
    assert finish(model, tmp_path / "whole") == 0
    whole, folder = contents(tmp_path / "whole"), tmp_path / "lists"
    delays, landed = random.Random(2026), 0
    for _ in range(kills):
        before, done = state_of(folder), finished(folder)
        with begin(model, folder) as process:
            end = time.monotonic() + 60
            while state_of(folder) == before and process.poll() is None and time.monotonic() < end:
                time.sleep(0.001)
            time.sleep(delays.uniform(0, 0.15))
            process.send_signal(signal.SIGKILL)
        landed += process.returncode == -signal.SIGKILL
        assert finished(folder) >= done
        if finished(folder) == len(whole) - 1:  # nothing is left to be killed: begin anew
            finish(model, folder)
            assert contents(folder) == whole
            shutil.rmtree(folder)
    done = finished(folder)
    assert finish(model, folder) == done
    assert contents(folder) == whole
    assert landed >= kills / 2


def test_killed_at_any_moment_lists_go_on_to_the_same_bytes(model, tmp_path):
    kill_some(model, tmp_path, 3)


@pytest.mark.slow
def test_killed_thirty_times_lists_go_on_to_the_same_bytes(model, tmp_path):
    kill_some(model, tmp_path, 30)
