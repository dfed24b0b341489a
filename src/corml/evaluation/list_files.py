"""Recommendations of other programs from a file: a table in any format that `load` reads, or a TREC run.

    user,item,rank          columns by name, one row per recommended item; rank from the best, or score (higher is
    7,318,1                 better), or neither: then the order of rows counts
    7,858,2

    7 Q0 318 1 0.93 bm25    a TREC run: user, a word, item, rank, score, the name of the run; sorted by score as
    7 Q0 858 2 0.87 bm25    trec_eval does it, ranks deciding where scores are equal

Ids stay text, so that "007" is not "7".
"""

import io
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from corml._runtime import memory
from corml.data import File, Notes, Options, open_table
from corml.errors import DataError, ascii_line, quoted

if TYPE_CHECKING:
    import polars

TREC = ("run", "trec", "txt")
TREC_COLUMNS = ("user", "word", "item", "rank", "score", "name")
PER_ROW, PER_RUN_ROW = 200, 800  # bytes of a row of a table, whose ids become Python objects, and of a run, all words

# Column names of other programs; the first that exists is used.
NAMES = {
    "user": ("user", "user_id", "userid", "userId", "uid", "qid", "query_id"),
    "item": ("item", "item_id", "itemid", "itemId", "iid", "docid", "doc_id"),
    "rank": ("rank",),
    "score": ("score", "prediction"),
}


def read_lists(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """Columns user and item as text, each user's items from the best to the worst."""
    name, file = ascii_line(path, 200), File(path, allow_expansion=None)
    is_run = file.kind in TREC
    return _ordered(_run(file.data, name) if is_run else _table(file, name), name, by_score=is_run)


def _table(file: File, name: str) -> "polars.DataFrame":
    from corml._runtime.lazy_polars import polars

    table = open_table(file, Options(), Notes())
    memory.require(PER_ROW * table.rows, what=f"Reading the lists {name}", instead="leave out users, or add memory.")
    used = _used(table.names, name)
    columns = table.read(list(used.values()))
    for fault in columns.faults[:1]:
        raise DataError(f"The lists {name}, {columns.unit} {fault.number}: {fault.what}.")
    for ours, column in zip(used, columns.series, strict=True):
        if column.dtype.is_nested():
            raise DataError(
                f"The column {ours} of the lists {name} holds {column.dtype}: one plain value per row is needed."
            )
    return polars.DataFrame(dict(zip(used, columns.series, strict=True)))


def _run(data: bytes, name: str) -> "polars.DataFrame":
    """Words between any whitespace."""
    from corml._runtime.lazy_polars import polars

    lines = data.count(b"\n") + data.count(b"\r") + 1
    needed = len(data) + PER_RUN_ROW * lines
    memory.require(needed, what=f"Reading the lists {name}", instead="write them as Parquet, or add memory.")
    rows = []
    try:
        for number, line in enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"), start=1):
            words = line.split(maxsplit=len(TREC_COLUMNS))
            if words and len(words) != len(TREC_COLUMNS):
                count = len(words) if len(words) < len(TREC_COLUMNS) else "more than six"
                raise DataError(
                    f"Line {number} of the run {name} has {count} words: a TREC run has six, user Q0 item rank score "
                    "name."
                )
            if words:
                rows.append(words)
    except UnicodeDecodeError:
        raise DataError(f"The run {name} is not UTF-8 text: write it as UTF-8.") from None
    return polars.DataFrame(rows, schema=dict.fromkeys(TREC_COLUMNS, polars.String), orient="row")


def _used(names: Sequence[str], name: str) -> dict[str, int]:
    """The places of the columns that are used, under our names."""
    columns = {ours: next((names.index(n) for n in theirs if n in names), None) for ours, theirs in NAMES.items()}
    missing = [ours for ours in ("user", "item") if columns[ours] is None]
    if missing:
        there = quoted(names, 8)
        raise DataError(
            f"The lists {name} have no column {' nor '.join(missing)} among {there}: name them user and item."
        )
    return {ours: at for ours, at in columns.items() if at is not None}


def _ordered(frame: "polars.DataFrame", name: str, *, by_score: bool) -> "polars.DataFrame":
    from corml._runtime.lazy_polars import polars

    text = frame.with_columns(polars.col("user", "item").cast(polars.String))
    empty = (text["user"].fill_null("") == "") | (text["item"].fill_null("") == "")
    if empty.any():
        raise DataError(f"Row {empty.to_list().index(True) + 1} of the lists {name} has no user or no item.")
    wanted = ("score", "rank") if by_score else ("rank", "score")
    keys = [key for key in wanted if key in text.columns][: 2 if by_score else 1]
    for key in keys:
        numbers = text[key].cast(polars.Float64, strict=False)
        if (numbers.is_null() | numbers.is_nan()).any():
            raise DataError(f"The column {key} of the lists {name} holds something that is not a number.")
        text = text.with_columns(numbers.alias(key))
    if keys:
        text = text.sort(keys, descending=[key == "score" for key in keys], maintain_order=True)
    return text.select("user", "item")
