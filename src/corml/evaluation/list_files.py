"""Anyone's recommendations from a file: CSV, TSV, Parquet or a TREC run, one row per recommended item.

    user,item,rank          columns by name; rank from the best, or score (higher is better), or neither: then the
    7,318,1                 order of rows counts
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
from corml.data import File, Parquet
from corml.errors import DataError, ascii_line, quoted

if TYPE_CHECKING:
    import polars

__all__ = ["ENDINGS", "read_lists"]

TABLES = {".csv": ",", ".tsv": "\t"}
TREC = (".run", ".trec", ".txt")
ENDINGS = (*TABLES, ".parquet", *TREC)
TREC_COLUMNS = ("user", "word", "item", "rank", "score", "name")

PER_VALUE = 24  # bytes of a field in memory,
PER_ROW = 200  # of a row of a table, whose ids become objects of Python,
PER_RUN_ROW = 800  # and of a row of a run, all of whose words do

# What other programs call the columns; the first that is there is taken.
NAMES = {
    "user": ("user", "user_id", "userid", "userId", "uid", "qid", "query_id"),
    "item": ("item", "item_id", "itemid", "itemId", "iid", "docid", "doc_id"),
    "rank": ("rank",),
    "score": ("score", "prediction"),
}


def read_lists(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """Columns user and item as text, each user's items from the best to the worst."""
    from corml._runtime.lazy_polars import polars

    name = ascii_line(path, 200)
    kind = _ending(os.fspath(path), name)
    file = File(path, allow_expansion=None)
    try:
        frame = _of_parquet(file, name) if kind == ".parquet" else _of_text(file.data, kind, name)
        return _ordered(frame, name, by_score=kind in TREC)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, UnicodeDecodeError) as fault:
        reason = str(fault).partition("\n")[0]
        raise DataError(f"The lists {name} cannot be read as {kind[1:]}: {ascii_line(reason, 200)}.") from None


def _ending(path: str, name: str) -> str:
    plain = path.lower().removesuffix(".gz")
    for ending in ENDINGS:
        if plain.endswith(ending):
            return ending
    raise DataError(f"Cannot tell what the lists {name} are: the name must end in {', '.join(ENDINGS)}.")


def _of_parquet(file: File, name: str) -> "polars.DataFrame":
    from corml._runtime.lazy_polars import polars

    table = Parquet(file)
    memory.require(PER_ROW * table.rows, what=f"Reading the lists {name}", instead="leave out users, or add memory.")
    used = _used(table.names, name)
    columns = table.read(list(used.values())).series
    for ours, column in zip(used, columns, strict=True):
        if column.dtype.is_nested():
            raise DataError(
                f"The column {ours} of the lists {name} holds {column.dtype}: one plain value per row is needed."
            )
    return polars.DataFrame(dict(zip(used, columns, strict=True)))


def _of_text(data: bytes, kind: str, name: str) -> "polars.DataFrame":
    from corml._runtime.lazy_polars import polars

    separator = TABLES.get(kind, " ")
    rows = data.count(b"\n") + data.count(b"\r") + 1
    values = rows + data.count(separator.encode())
    needed = len(data) + (PER_RUN_ROW * rows if kind in TREC else PER_ROW * rows + PER_VALUE * values)
    memory.require(needed, what=f"Reading the lists {name}", instead="write them as Parquet, or add memory.")
    frame = _trec(data, name) if kind in TREC else polars.read_csv(data, separator=separator, infer_schema=False)
    return frame.select(polars.nth(at).alias(ours) for ours, at in _used(frame.columns, name).items())


def _trec(data: bytes, name: str) -> "polars.DataFrame":
    """Words between any blanks."""
    from corml._runtime.lazy_polars import polars

    rows = []
    for number, line in enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"), start=1):
        words = line.split(maxsplit=len(TREC_COLUMNS))
        if words and len(words) != len(TREC_COLUMNS):
            count = len(words) if len(words) < len(TREC_COLUMNS) else "more than six"
            raise DataError(
                f"Line {number} of the run {name} has {count} words: a TREC run has six, user Q0 item rank score name."
            )
        if words:
            rows.append(words)
    return polars.DataFrame(rows, schema=dict.fromkeys(TREC_COLUMNS, polars.String), orient="row")


def _used(names: Sequence[str], name: str) -> dict[str, int]:
    """The places of the columns that are used, under our names."""
    found = {ours: next((names.index(n) for n in theirs if n in names), None) for ours, theirs in NAMES.items()}
    missing = [ours for ours in ("user", "item") if found[ours] is None]
    if missing:
        there = quoted(names, 8)
        raise DataError(
            f"The lists {name} have no column {' nor '.join(missing)} among {there}: name them user and item."
        )
    return {ours: at for ours, at in found.items() if at is not None}


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
