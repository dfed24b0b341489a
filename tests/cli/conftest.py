"""The program run inside the test, small data to run it on, and fitted models."""

import contextlib
import io
import json
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from corml.cli._main import main


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def call(*words):
    """Run a command as the program does and check its manners: one line per error, and never a traceback."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    outcome = Outcome(left.value.code, out.getvalue(), err.getvalue())
    errors = [line for line in outcome.err.splitlines() if line.startswith("error[")]
    assert len(errors) == (outcome.code != 0), outcome
    assert "Traceback" not in outcome.err
    return outcome


@pytest.fixture
def run():
    return call


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ratings(seed=0, users=40, items=25):
    rng = random.Random(seed)
    lines = ["user,item,rating,time"]
    for user in range(users):
        for item in sorted(rng.sample(range(items), rng.randint(5, 10))):
            lines.append(f"u{user},i{item},{rng.randint(1, 5)},{1000 + rng.randint(0, 500)}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def shop(tmp_path_factory) -> Path:
    """A folder with ratings.csv, titles.csv, all.corml (fitted on everything) and split.corml (fitted on a split)."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "ratings.csv").write_text(ratings())
    (folder / "titles.csv").write_text("item,title\n" + "".join(f"i{n},Thing number {n}\n" for n in range(25)))
    data = folder / "ratings.csv"
    assert call("fit", data, "-o", folder / "all.corml", "--titles", folder / "titles.csv").code == 0
    assert call("fit", data, "-o", folder / "split.corml", "--split", "ratio", "--at-least", "2").code == 0
    return folder
