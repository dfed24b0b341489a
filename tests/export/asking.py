"""Ask an export as a user of it would: with its own query, and nothing of corml."""

import contextlib
import json
import os
import sqlite3

from corml.service.export import target, targets

TABLES = tuple(name for name in targets() if not target(name).whole)


@contextlib.contextmanager
def asking(to, path):
    """A function from a query and its parameters to rows, as dictionaries; the export is opened once."""
    before = os.getcwd()
    try:
        if to == "sqlite":
            with contextlib.closing(sqlite3.connect(path)) as database:
                yield lambda query, **given: _rows(database.execute(query, _with_json(given)))
            return
        import duckdb

        if to == "parquet":
            os.chdir(path)
        single = {"threads": 1}
        place = {"database": ":memory:"} if to == "parquet" else {"database": str(path), "read_only": True}
        with contextlib.closing(duckdb.connect(**place, config=single)) as database:
            yield lambda query, **given: _rows(database.execute(query, given) if given else database.execute(query))
    finally:
        os.chdir(before)


def ask(to, path, query, **given):
    """Rows of one query."""
    with asking(to, path) as rows_of:
        return rows_of(query, **given)


def stored_facts(to, path):
    """The metadata as the export has them: names and texts."""
    if to == "parquet":
        return json.loads((path / "metadata.json").read_text("utf-8"))
    return {row["name"]: row["value"] for row in ask(to, path, "SELECT name, value FROM metadata")}


def _with_json(given):
    return {**given, "history": json.dumps(given["history"])} if "history" in given else given


def _rows(answer):
    names = [column[0] for column in answer.description]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
