"""A run that is killed with SIGKILL at any moment goes on to the same figures, and loses nothing that was finished.

CORML_KILLS sets how many kills (5 by default).
"""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")]

KILLS = int(os.environ.get("CORML_KILLS", "5"))
PROGRAM = """
import json, sys
from corml.experiments.reproduce import reproduce
models = ["popularity", "item-knn", "slim", "gf-cf", "ease", "corml-untouched", "corml-paper"]
print("begun", flush=True)
outcome = reproduce("table", quick=True, models=models, folder=sys.argv[1])
print(json.dumps(outcome.record()["rows"]))
"""


def start(folder):
    program = [sys.executable, "-c", PROGRAM, str(folder)]
    child = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    return child


def figures(child):
    out, err = child.communicate()
    assert child.returncode == 0, err
    return [{key: value for key, value in row.items() if "seconds" not in key} for row in json.loads(out)]


def test_after_any_kill_the_same_command_ends_with_the_same_figures(tmp_path):
    begun = time.monotonic()
    expected = figures(start(tmp_path / "whole"))
    whole, rng, kills, at_work = time.monotonic() - begun, random.Random(7), 0, 0
    for number in range(KILLS):
        folder = tmp_path / str(number)
        child = start(folder)
        time.sleep(rng.uniform(0, whole))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        kills += child.returncode == -signal.SIGKILL
        kept = {path.name: path.read_bytes() for path in folder.rglob("runs/*.json")}
        at_work += 0 < len(kept) < 7
        assert figures(start(folder)) == expected
        assert all((folder / "movielens-small/runs" / name).read_bytes() == old for name, old in kept.items())
    assert kills
    print(f"{kills} of {KILLS} kills hit the program, {at_work} of them between two finished fits")
