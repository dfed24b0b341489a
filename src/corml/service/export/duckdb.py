"""DuckDB: one file for analytics. `$history` is a list of ids, `$k` a number, `$user` an id. Needs the extra duckdb."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.parallel import threads
from corml.errors import DataError
from corml.service.export._tables import Job, Table, Target, Values, queries

__all__ = ["duckdb"]

TYPES = {"integer": "INTEGER", "real": "FLOAT", "text": "VARCHAR"}


def write(job: Job, path: Path) -> None:
    """Write all tables, in the order of their keys: DuckDB skips what cannot match by itself."""
    import duckdb as package

    try:
        with contextlib.closing(package.connect(str(path), config=_settings())) as database:
            for table in job.tables:
                _add(database, table)
            database.execute("CHECKPOINT")
    except package.Error as fault:
        reason = str(fault).strip().partition("\n")[0]
        raise DataError(f"DuckDB could not write: {reason}. What was there before is as it was.") from fault


def _settings() -> dict[str, str | bool | int | float | list[str]]:
    """Texts are read as such: to guess their type by a sample, DuckDB takes arrays for columns of pandas and fails."""
    return {"threads": threads(), "pandas_analyze_sample": 0}


def _add(database: Any, table: Table) -> None:
    columns = ", ".join(f"{name} {TYPES[kind]}" for name, kind in table.columns.items())
    database.execute(f"CREATE TABLE {table.name} ({columns})")
    for part in table.parts:
        # Arrays, because those it reads without further packages.
        database.register("part", {name: _array(part[name]) for name in table.columns})
        database.execute(f"INSERT INTO {table.name} SELECT {', '.join(table.columns)} FROM part")
        database.unregister("part")


def _array(values: Values) -> NDArray[np.generic]:
    if isinstance(values, np.ndarray):
        return values
    for text in values:
        str(text or "").encode()  # DuckDB would end in an internal error for half of a character
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def is_ours(path: Path) -> bool:
    """Whether a file is an export, and not a database with something else in it."""
    import duckdb as package

    try:
        with contextlib.closing(package.connect(str(path), read_only=True)) as database:
            facts = {name for (name,) in database.execute("SELECT name FROM metadata").fetchall()}
    except package.Error:
        return False
    return {"data_fingerprint", "contents", "format"} <= facts


duckdb = Target(
    ending=".duckdb",
    queries=queries(given="(SELECT unnest($history::VARCHAR[]) AS id) AS given", id="given.id", k="$k", user="$user"),
    write=write,
    is_ours=is_ours,
    package="duckdb",
)
