"""The same data, settings and machine make the same file, byte by byte, in any process."""

import hashlib
import os
import subprocess
import sys

import pytest

FIT = """
import hashlib, sys
import corml

users = [f"u{n * 7 % 31}" for n in range(300)]
items = [f"café {n * n % 23}" for n in range(300)]
data = corml.Interactions.from_pairs(users, items, titles={"café 1": "Ünï"}, source={"b": 1, "a": 2})
for name, model in (("one", corml.CoRML(rank=8)), ("two", corml.Popularity())):
    model.fit(data).save(f"{sys.argv[1]}/{name}", evaluation={"ndcg@10": 0.1})
"""

SURROUNDINGS = [
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "4294967295", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "1"},
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One folder of models per surroundings, each written by a fresh process in a working folder of its own."""
    made = []
    for number, surroundings in enumerate(SURROUNDINGS):
        folder = tmp_path_factory.mktemp(f"run{number}")
        environment = {**os.environ, **surroundings}
        subprocess.run([sys.executable, "-c", FIT, folder], cwd=folder, env=environment, check=True, timeout=120)
        made.append(folder)
    return made


@pytest.mark.parametrize("name", ["one", "two"])
def test_fresh_processes_write_equal_files(runs, name):
    assert len({hashlib.sha256((folder / name).read_bytes()).hexdigest() for folder in runs}) == 1


BESIDE = """
import sys
sys.path.insert(0, sys.argv[1])
from corml import models
from support import random_interactions

data = random_interactions(5, users=900, items=500)
for name in ("corml", "ease", "gf-cf"):
    models.make(name, {}).fit(data).save(f"{sys.argv[2]}-{name}")
"""


def test_fits_beside_each_other_write_what_one_alone_writes(tmp_path):
    here = os.path.dirname(os.path.dirname(__file__))

    def begin(name):
        return subprocess.Popen([sys.executable, "-c", BESIDE, here, tmp_path / name])

    with begin("alone") as alone:
        assert alone.wait(120) == 0
    together = [begin(f"beside{number}") for number in range(2)]
    assert [one.wait(120) for one in together] == [0] * 2
    for model in ("corml", "ease", "gf-cf"):
        files = {(tmp_path / f"{name}-{model}").read_bytes() for name in ("alone", *(f"beside{n}" for n in range(2)))}
        assert len(files) == 1, model
