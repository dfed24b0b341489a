"""The examples run as they are, say something, and stay short."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
SAYS = {
    "compare_and_measure": "more novel",
    "explain_a_list": "Silence of the Lambs, The (1991): score",
    "fold_in_new_users": "Toy Story 2 (1999)",
    "quickstart": "converged: True",
    "your_own_dataframe": "Oat milk 1 l",
}


def test_every_example_is_here():
    assert {path.stem for path in EXAMPLES} == set(SAYS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_without_a_warning(path, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "CORML_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert SAYS[path.stem] in ran.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits_on_a_screen(path):
    assert len(path.read_text("utf-8").splitlines()) <= 40
