"""A new user, an empty folder and the installed package: ten messy exports become lists, and nothing is lost.

The wheel is built from this tree and installed into a folder of its own; the tree itself cannot be imported.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "tests" / "fresh_user.py"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package as a wheel installs it."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder / "wheels"), str(ROOT)]
    subprocess.run(build, check=True, cwd=folder)
    (wheel,) = (folder / "wheels").glob("corml-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True, cwd=folder)
    return wheel, folder / "site"


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("empty")


def run(installed, work, *words):
    """Run Python with the installed package alone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CORML", "COV"))}
    environment |= {"PYTHONPATH": str(installed[1]), "CORML_THREADS": "1", "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, "-P", *map(str, words)],
        cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


def test_the_wheel_has_everything_and_nothing_else(installed):
    names = zipfile.ZipFile(installed[0]).namelist()
    files = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*") if path.is_file()}
    expected = {name for name in files if "__pycache__" not in name}
    assert {name for name in names if not name.startswith("corml-")} == expected


def test_ten_messy_exports_become_lists_without_anything_known(installed, work):
    done = run(installed, work, SCRIPT, "first")
    assert done.returncode == 0, done.stdout[-3000:]
    assert f"corml from {installed[1]}" in done.stdout
    assert done.stdout.endswith("all is well\n")
    assert len(list(work.glob("*-next.parquet"))) == 10


def test_another_process_opens_them_again(installed, work):
    done = run(installed, work, SCRIPT, "again")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "fitted again" in done.stdout
    assert done.stdout.endswith("all is well\n")
    shown = run(installed, work, "-m", "corml", "inspect", "retail.corml")
    assert "added since, not learned from" in shown.stdout
