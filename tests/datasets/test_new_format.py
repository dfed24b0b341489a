"""A format is one file: what it must have is in `corml.data.formats._table`, and everything else finds it."""

import pytest

import corml
import corml.data.formats as formats
from cli.conftest import call
from corml import plugins
from corml.errors import DataError

ARROWS = '''
"""Lines such as `u1 -> i7`."""

from corml.data.formats._bytes import text_pieces
from corml.data.formats._table import Columns, Place, Table

__all__ = ["Arrows"]


class Arrows(Table):
    """Users and items divided by arrows."""

    SUFFIXES = ("arrows",)

    def __init__(self, file, options, notes):
        self.where, self.budget, self.names, self._file = file.where, file.budget, ["user", "item"], file
        self.rows = file.size // 8

    @classmethod
    def starts(cls, start):
        """Whether the first line has an arrow."""
        return b" -> " in start.split(b"\\n", 1)[0]

    def _slices(self, positions, cut, skip):
        import polars as pl

        line = 1
        for number, piece in enumerate(text_pieces(self._file, about=cut.bytes)):
            rows = [row.split(" -> ") for row in piece.decode().splitlines()]
            if number >= skip:
                series = [pl.Series([row[at] for row in rows]) for at in positions]
                yield Columns(series, "line", [Place(self.where, len(rows), line)])
            line += len(rows)
'''


@pytest.fixture
def arrows(tmp_path, monkeypatch):
    """The new format, and a file of it."""
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "arrows.py").write_text(ARROWS)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path / "plugin")])
    plugins.refresh()
    path = tmp_path / "shop.arrows"
    path.write_text("".join(f"u{n % 97} -> i{n * n % 31}\n" for n in range(20_000)))
    yield path
    monkeypatch.undo()
    plugins.refresh()


def test_a_format_in_one_file_is_read_by_load_the_commands_and_stores(arrows, tmp_path):
    loaded = corml.load(arrows)
    store = corml.build_store(arrows, tmp_path / "s", memory="1MB")
    assert store.interactions().fingerprint == loaded.fingerprint
    assert call("data", "info", arrows, "--json").json["facts"]["interactions"] == len(loaded)
    assert call("fit", arrows, "-o", tmp_path / "m.corml", "--model", "popularity").code == 0
    folder = tmp_path / "days"
    folder.mkdir()
    (folder / "1.arrows").write_bytes(arrows.read_bytes())
    assert corml.load(folder).fingerprint == loaded.fingerprint


def test_a_format_in_one_file_is_under_the_guards_of_all(arrows, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 1000)
    monkeypatch.setattr("corml.data.formats._guard.BOMB_RATIO", 0.1)
    with pytest.raises(DataError, match="expands more than"):
        corml.load(arrows)
    arrows.write_text("u -> i\nu -> \n")
    with pytest.raises(DataError, match="line 2: the item is an empty id"):
        corml.load(arrows, allow_expansion=True)
