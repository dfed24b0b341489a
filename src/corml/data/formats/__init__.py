"""Formats of tables: each public file is one, found by its file name (see `_table` for what it must have).

Another package adds a format by an entry point in the group `corml.formats`.
"""

from collections.abc import Iterator

from corml import plugins
from corml.data._options import Notes, Options
from corml.data.formats._files import File
from corml.data.formats._table import Table
from corml.errors import UsageError

__all__ = ["File", "Table", "format_of", "open_table", "recognised", "suffixes"]

GROUP = "corml.formats"
FALLBACK = "text"  # of files whose suffix is none of the others


def _formats() -> Iterator[type[Table]]:
    for name in plugins.names(GROUP):
        if name != FALLBACK:
            yield plugins.get(GROUP, name, _is_format, "a subclass of corml.data.formats.Table")
    yield plugins.get(GROUP, FALLBACK)


def _is_format(made: object) -> bool:
    return isinstance(made, type) and issubclass(made, Table)


def suffixes() -> frozenset[str]:
    """The suffixes of all formats that are tables in files of their own."""
    return frozenset(suffix for one in _formats() if not one.takes_query for suffix in one.SUFFIXES if suffix)


def recognised(start: bytes) -> str:
    """The suffix for a file without a name, from its first bytes: of a format, of a compression, or of text."""
    if start.startswith(b"\x1f\x8b"):
        return "gz"
    for one in _formats():
        if one.starts(start):
            return one.SUFFIXES[0]
    return "zip" if start.startswith(b"PK\x03\x04") else ""


def format_of(file: File, options: Options) -> type[Table]:
    """The format of a file."""
    return next((one for one in _formats() if one.recognises(file, options)), plugins.get(GROUP, FALLBACK))


def open_table(file: File, options: Options, notes: Notes, *, about_items: bool = False) -> Table:
    """The table in a file; `about_items` if it describes items instead of interactions."""
    one = format_of(file, Options() if about_items else options)
    if options.query is not None and not one.takes_query:
        raise UsageError(f"query= (--query) is for SQLite and DuckDB files, and {file.where} is none: leave it out.")
    return one.open(file, options, notes, about_items=about_items)
