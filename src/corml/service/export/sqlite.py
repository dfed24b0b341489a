"""SQLite: one file that every language reads. `:history` is a JSON array of ids, `:k` a number, `:user` an id."""

import contextlib
import sqlite3
from pathlib import Path

import numpy as np

from corml.errors import DataError
from corml.service.export._tables import Job, Table, Target, Values, queries

__all__ = ["sqlite"]

TYPES = {"integer": "INTEGER", "real": "REAL", "text": "TEXT"}


def write(job: Job, path: Path) -> None:
    """Write all tables; nothing is journalled, because a file that is not finished is thrown away."""
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            for setting in ("page_size = 8192", "journal_mode = OFF", "synchronous = OFF"):
                database.execute(f"PRAGMA {setting}")
            database.execute("BEGIN")
            for table in job.tables:
                _add(database, table)
            database.execute("COMMIT")
            database.execute("ANALYZE")
    except sqlite3.Error as fault:
        raise DataError(f"SQLite could not write: {fault}. What was there before is as it was.") from fault


def _add(database: sqlite3.Connection, table: Table) -> None:
    columns = ", ".join(f"{name} {TYPES[kind]}" for name, kind in table.columns.items())
    # Rows of a table without row numbers stand in the order of their key: those of one item side by side.
    clustered = len(table.key) > 1
    key = f", PRIMARY KEY ({', '.join(table.key)})" if table.key else ""
    database.execute(f"CREATE TABLE {table.name} ({columns}{key}){' WITHOUT ROWID' if clustered else ''}")
    marks = ", ".join("?" * len(table.columns))
    for part in table.parts:
        values = (_plain(part[name]) for name in table.columns)
        database.executemany(f"INSERT INTO {table.name} VALUES ({marks})", zip(*values, strict=True))
    for index in table.indices:
        database.execute(f"CREATE INDEX {table.name}_by_{'_'.join(index)} ON {table.name} ({', '.join(index)})")


def _plain(values: Values) -> list[object]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def is_ours(path: Path) -> bool:
    """Whether a file is an export, and not a database with something else in it."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            facts = {name for (name,) in database.execute("SELECT name FROM metadata")}
    except sqlite3.Error:
        return False
    return {"items", "metadata"} <= names and {"data_fingerprint", "contents", "format"} <= facts


sqlite = Target(
    ending=".sqlite",
    queries=queries(given="json_each(:history) AS given", id="CAST(given.value AS TEXT)", k=":k", user=":user"),
    write=write,
    is_ours=is_ours,
)
