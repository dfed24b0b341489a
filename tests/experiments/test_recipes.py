"""The recipes of docs/compare.md run, where the program they are for is installed."""

import re
import warnings
from pathlib import Path

import pytest

import corml

PAGE = Path(__file__).parents[2] / "docs/compare.md"


@pytest.mark.parametrize(("name", "label"), [("implicit", "als"), ("lenskit", "lenskit")])
def test_a_recipe_for_another_program_runs(name, label, tmp_path, monkeypatch, capsys):
    pytest.importorskip(name)
    section = re.split(rf"^### {name}$", PAGE.read_text("utf-8"), flags=re.M | re.I)[1]
    code = re.search(r"^```python\n(.*?)^```$", section, re.M | re.S)[1]
    monkeypatch.chdir(tmp_path)
    data = corml.load("movielens-small", at_least=4, k_core=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other program
        exec(compile(code, "recipe", "exec"), {"corml": corml, "split": corml.split(data)})
    printed = capsys.readouterr().out
    assert re.search(rf"^{label} +0\.[1-9]", printed, re.M)
    assert len(code.strip().splitlines()) <= 14
