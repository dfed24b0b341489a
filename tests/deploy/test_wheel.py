"""The wheel: the same bytes from the same source, wherever and whenever it is built."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def build(folder, *, moment):
    """Build the wheel from a copy of the source whose files have that moment; returns its path."""
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, folder / name)
    skip = shutil.ignore_patterns("__pycache__", "*.pyc", "*.nb?")
    shutil.copytree(ROOT / "src", folder / "src", ignore=skip, copy_function=shutil.copyfile)
    for path in folder.rglob("*"):
        os.utime(path, (moment, moment))
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder / "dist"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1767225600"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    (made,) = (folder / "dist").glob("*.whl")
    return made


@pytest.mark.thorough
def test_two_builds_have_the_same_bytes(tmp_path):
    one = build(tmp_path / "a", moment=1_600_000_000)
    other = build(tmp_path / "elsewhere", moment=1_700_000_000)
    assert one.name == other.name
    assert hashlib.sha256(one.read_bytes()).hexdigest() == hashlib.sha256(other.read_bytes()).hexdigest()
    with zipfile.ZipFile(one) as packed:
        names = packed.namelist()
    assert "corml/__init__.py" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests", "deploy")) or name.endswith((".pyc", ".nbi", ".nbc")) for name in names)
