"""Anyone's recommendations from a file: CSV, TSV, Parquet or a TREC run, one row per recommended item.

    user,item,rank          columns by name; rank from the best, or score (higher is better), or neither: then the
    7,318,1                 order of rows counts
    7,858,2

    7 Q0 318 1 0.93 bm25    a TREC run: user, a word, item, rank, score, the name of the run; sorted by score as
    7 Q0 858 2 0.87 bm25    trec_eval does it, ranks deciding where scores are equal

Ids stay text, so that "007" is not "7".
"""

import os
from typing import TYPE_CHECKING

from corml.errors import DataError, ascii_line

if TYPE_CHECKING:
    import polars

__all__ = ["ENDINGS", "read_lists"]

TABLES = {".csv": ",", ".tsv": "\t"}
TREC = (".run", ".trec", ".txt")
ENDINGS = (*TABLES, ".parquet", *TREC)
TREC_COLUMNS = ("user", "word", "item", "rank", "score", "name")

# What other programs call the columns; the first that is there is taken.
NAMES = {
    "user": ("user", "user_id", "userid", "userId", "uid", "qid", "query_id"),
    "item": ("item", "item_id", "itemid", "itemId", "iid", "docid", "doc_id"),
    "rank": ("rank",),
    "score": ("score", "prediction"),
}


def read_lists(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """Columns user and item as text, each user's items from the best to the worst."""
    from corml.lazy_polars import polars

    name, text = ascii_line(path, 200), os.fspath(path)
    kind = _ending(text, name)
    try:
        if kind == ".parquet":
            frame = polars.read_parquet(text)
        elif kind in TABLES:
            frame = polars.read_csv(text, separator=TABLES[kind], infer_schema=False)
        else:
            frame = _trec(text, name)
    except OSError as fault:
        raise DataError(f"Cannot read the lists {name}: {fault.strerror or fault}.") from None
    except (polars.exceptions.PolarsError, UnicodeDecodeError) as fault:
        reason = str(fault).partition("\n")[0]
        raise DataError(f"The lists {name} cannot be read as {kind[1:]}: {ascii_line(reason, 200)}.") from None
    return _ordered(_named(frame, name), name, by_score=kind in TREC)


def _ending(path: str, name: str) -> str:
    plain = path.lower().removesuffix(".gz")
    for ending in ENDINGS:
        if plain.endswith(ending):
            return ending
    raise DataError(f"Cannot tell what the lists {name} are: the name must end in {', '.join(ENDINGS)}.")


def _trec(path: str, name: str) -> "polars.DataFrame":
    """Words between any blanks."""
    import gzip

    from corml.lazy_polars import polars

    open_text = gzip.open if path.lower().endswith(".gz") else open
    with open_text(path, "rt", encoding="utf-8") as lines:
        rows = [line.split() for line in lines]
    rows = [row for row in rows if row]
    odd = next((number for number, row in enumerate(rows, start=1) if len(row) != len(TREC_COLUMNS)), None)
    if odd is not None:
        raise DataError(
            f"Line {odd} of the run {name} has {len(rows[odd - 1])} words: a TREC run has six, user Q0 item rank score "
            "name."
        )
    return polars.DataFrame(rows, schema=dict.fromkeys(TREC_COLUMNS, polars.String), orient="row")


def _named(frame: "polars.DataFrame", name: str) -> "polars.DataFrame":
    """The columns that are used, under our names."""
    found = {ours: next((n for n in theirs if n in frame.columns), None) for ours, theirs in NAMES.items()}
    missing = [ours for ours in ("user", "item") if found[ours] is None]
    if missing:
        there = ", ".join(map(ascii_line, frame.columns))
        raise DataError(
            f"The lists {name} have no column {' nor '.join(missing)} among {there}: name them user and item."
        )
    return frame.select([frame[theirs].alias(ours) for ours, theirs in found.items() if theirs is not None])


def _ordered(frame: "polars.DataFrame", name: str, *, by_score: bool) -> "polars.DataFrame":
    from corml.lazy_polars import polars

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
