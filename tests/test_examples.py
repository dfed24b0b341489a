"""The examples run as they are, print what they promise, and stay short."""

import runpy
import warnings
from pathlib import Path

import pytest

from corml._runtime.parallel import blas

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))
PRINTS = {
    "compare_and_measure": "more novel",
    "explain_a_list": "Silence of the Lambs, The (1991): score",
    "fold_in_new_users": "Toy Story 2 (1999)",
    "quickstart": "converged: True",
    "your_own_dataframe": "Oat milk 1 l",
}


def test_every_example_is_listed():
    assert {path.stem for path in EXAMPLES} == set(PRINTS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_without_a_warning_and_fits_on_a_screen(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORML_THREADS", "1")
    with warnings.catch_warnings(), blas(1):
        warnings.simplefilter("error")
        runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr()
    assert PRINTS[path.stem] in printed.out
    assert printed.err == ""
    assert list(tmp_path.iterdir()) == []
    assert len(path.read_text("utf-8").splitlines()) <= 40
