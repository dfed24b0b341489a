"""Kill -9 at any moment of a save: the file is one of the two versions, whole, and the next save tidies up.

CORML_KILLS sets how many kills (8 by default); `CORML_KILLS=1000 pytest tests/reliability/test_kill.py` takes minutes.
"""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

import corml
from corml import read_model
from corml.persistence import container
from support import with_arrays

KILLS = int(os.environ.get("CORML_KILLS", "8"))
ITEMS = 1800  # H is dense: a file of 26 MB

# Reads two models once, then forks a child for each line it gets; the child saves them in turn until it is killed.
SAVER = """
import os, sys
import corml

versions = [corml.read_model(path) for path in sys.argv[1:3]]
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        while True:
            for version in versions:
                version.save(sys.argv[3])
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Two large models that differ in every entry of H, as files."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("versions")
    pairs = corml.Interactions.from_pairs(np.arange(3 * ITEMS) % 50, np.arange(3 * ITEMS) % ITEMS)
    model = corml.CoRML(rank=4, tol=0, max_steps=1).fit(pairs)
    for name in ("first", "second"):
        half = np.triu(rng.random((ITEMS, ITEMS), dtype=np.float32), 1)
        with_arrays(model, H=csr_array(half + half.T)).save(folder / name)
    return [folder / "first", folder / "second"]


def wait_for_a_new_file(folder, before):
    end = time.monotonic() + 10
    while set(os.listdir(folder)) <= before and time.monotonic() < end:
        pass


def test_after_any_kill_the_file_is_one_version_or_the_other(tmp_path, versions):
    path = tmp_path / "m.corml"
    path.write_bytes(versions[0].read_bytes())
    digests = {container.read(version).digest for version in versions}
    delays, landed = random.Random(2026), 0
    started = time.monotonic()
    read_model(versions[0]).save(path)
    longest = 2 * (time.monotonic() - started)  # about two saves

    command = [sys.executable, "-c", SAVER, *versions, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as saver:
        for number in range(KILLS):
            before = set(os.listdir(tmp_path))
            saver.stdin.write("go\n")
            saver.stdin.flush()
            child = int(saver.stdout.readline())
            if number % 2:  # half of the kills at any moment, half while the new file is being written
                wait_for_a_new_file(tmp_path, before)
            time.sleep(delays.uniform(0, 0.02 if number % 2 else longest))
            os.kill(child, signal.SIGKILL)
            assert saver.stdout.readline() == "gone\n"

            assert container.read(path).digest in digests
            landed += not set(os.listdir(tmp_path)) <= before
        saver.stdin.close()
    read_model(path).save(path)

    assert os.listdir(tmp_path) == ["m.corml"]
    assert container.read(path).digest in digests
    print(f"{landed} of {KILLS} kills landed inside a write")
    assert landed  # or the test would say nothing
