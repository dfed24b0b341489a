"""SQLite and DuckDB files: a query, or the only table there is. They are opened for reading alone."""

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml.datasets._columns import Columns
from corml.datasets._frames import FrameTable, column
from corml.datasets._packed import magic, shown
from corml.errors import DataError, UsageError, ascii_line, quoted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["QueryTable", "from_database", "kind_of_database"]

SUFFIXES = (".sqlite", ".sqlite3", ".db", ".db3", ".duckdb", ".ddb")
BATCH = 50_000  # rows taken from SQLite at a time

Fetch = Callable[[Sequence[int]], "list[pl.Series]"]


class QueryTable(FrameTable):
    """The answer to a query; its columns are fetched together."""

    def __init__(self, names: Sequence[str], fetch: Fetch, where: str) -> None:
        super().__init__(names, lambda at: fetch([at])[0], where)
        self._fetch = fetch

    def read(self, positions: Sequence[int]) -> Columns:
        """Run the query and keep some columns."""
        return Columns(self._fetch(positions), "row")


def kind_of_database(path: Path) -> str | None:
    """Say which database a file is, by its first bytes."""
    start = magic(path)
    if start.startswith(b"SQLite format 3\0"):
        return "SQLite"
    if start[8:12] == b"DUCK":
        return "DuckDB"
    if path.suffix.lower() in SUFFIXES and os.path.isfile(path):
        raise DataError(f"{shown(path)} is neither a SQLite nor a DuckDB file: check it.")
    return None


def from_database(path: Path, kind: str, query: str | None) -> QueryTable:
    """Read the answer to a query, or the only table."""
    return (_sqlite if kind == "SQLite" else _duckdb)(path, query)


def _sqlite(path: Path, query: str | None) -> QueryTable:
    import sqlite3

    def connect() -> Any:
        return closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True))

    with _complaints(path, sqlite3.Error, sqlite3.Warning), connect() as database:
        tables = database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )
        chosen = query or _only([name for (name,) in tables], path)
        names = [about[0] for about in database.execute(chosen).description or ()]
    _check_answer(names, path)

    def fetch(positions: Sequence[int]) -> "list[pl.Series]":
        values: list[list[Any]] = [[] for _ in positions]
        with _complaints(path, sqlite3.Error, sqlite3.Warning), connect() as database:
            answer = database.execute(chosen)
            while rows := answer.fetchmany(BATCH):
                for kept, at in zip(values, positions, strict=True):
                    kept.extend(row[at] for row in rows)
        return [column(kept) for kept in values]

    return QueryTable(names, fetch, shown(path))


def _duckdb(path: Path, query: str | None) -> QueryTable:
    if importlib.util.find_spec("duckdb") is None:
        raise UsageError(
            f"{shown(path)} is a DuckDB file, and duckdb, which reads it, is not installed: "
            "pip install 'corml[duckdb]'."
        )
    import duckdb

    from corml.lazy_polars import polars as pl

    def connect() -> Any:
        return closing(duckdb.connect(str(path), read_only=True))

    with _complaints(path, duckdb.Error), connect() as database:
        tables = database.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
        chosen = query or _only([name for (name,) in tables], path)
        answer = database.sql(chosen)
        names = [] if answer is None else list(answer.columns)
    _check_answer(names, path)

    def fetch(positions: Sequence[int]) -> "list[pl.Series]":
        with _complaints(path, duckdb.Error), connect() as database:
            wanted = ", ".join(_identifier(names[at]) for at in positions)
            frame = pl.DataFrame(database.sql(chosen).project(wanted))
        return [frame.to_series(at) for at in range(len(positions))]

    return QueryTable(names, fetch, shown(path))


def _only(tables: Sequence[str], path: Path) -> str:
    if len(tables) == 1:
        return f"SELECT * FROM {_identifier(tables[0])}"
    holds = f"{len(tables)} tables ({quoted(tables, 12)})" if tables else "no table"
    example = _identifier(tables[0]) if tables else "orders"
    raise DataError(f"{shown(path)} holds {holds}: choose with query= (--query), such as SELECT * FROM {example}.")


def _check_answer(names: Sequence[str], path: Path) -> None:
    if not names:
        raise UsageError(f"The query= (--query) for {shown(path)} gives no rows: write one that begins with SELECT.")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _complaints(path: Path, *kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kinds as fault:
        reason = ascii_line(str(fault).strip().partition("\n")[0], 200)[1:-1]
        raise DataError(f"{shown(path)} cannot be queried: {reason}. Check query= (--query) and the file.") from fault
