"""Small tables to start from, and a way to make files of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

PAIRS = [("u1", "i1"), ("u1", "i2"), ("u2", "i2"), ("u3", "i3"), ("u2", "i1")]


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Write text or bytes to a file of that name."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def pairs() -> list[tuple[str, str]]:
    return list(PAIRS)


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("CORML_DATA", str(folder))
    return folder
