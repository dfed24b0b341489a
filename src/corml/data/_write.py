"""Interactions out: CSV, TSV, RecBole `.inter`, Parquet or NPZ, by the suffix, whole or not at all.

Ids are written exactly as they are; text formats quote those that hold a separator, a quote or a line end. An id
such as `=A1` stays what it is: an apostrophe to calm a spreadsheet would make it another id.
"""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.errors import DataError, UsageError, as_utf8, ascii_line, quoted, warn
from corml.persistence import atomic

if TYPE_CHECKING:
    import polars as pl

HEADERS = {
    ".csv": ("user", "item", "time", "weight"),
    ".tsv": ("user", "item", "time", "weight"),
    ".inter": ("user_id:token", "item_id:token", "timestamp:float", "weight:float"),
}


@as_utf8()
def write(interactions: Interactions, path: str | os.PathLike[str]) -> None:
    """Write pairs, and times and weights where there are any, to a file that `load` reads.

    Its suffix says how: `.csv`, `.tsv`, `.inter`, `.parquet` or `.npz`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (*HEADERS, ".parquet", ".npz"):
        raise UsageError(
            f"Cannot tell the format of {ascii_line(path, 200)}: use .csv, .tsv, .inter, .parquet or .npz."
        )
    atomic.target(path)
    if suffix != ".parquet":
        _refuse_nul(interactions.users)
        _refuse_nul(interactions.items)
    if suffix == ".parquet":
        data = _parquet(interactions)
    elif suffix == ".npz":
        data = _npz(interactions)
    else:
        data = _text(interactions, HEADERS[suffix], "," if suffix == ".csv" else "\t")
    atomic.replace(path, data)
    if lost := _lost(interactions):
        words = f"{ascii_line(path, 200)} holds only the pairs to learn from. Left out: {', '.join(lost)}."
        warn(words + _weighing(interactions))


def _lost(interactions: Interactions) -> list[str]:
    """What is known and not written."""
    seen, kinds = interactions.seen, interactions.event_types
    lost = [f"event types ({quoted(kinds, 5)})"] if kinds else []
    if seen is not None and len(seen):
        lost.append(f"{len(seen):,} exclude-only pairs")
    if interactions.others is not None:
        lost.append(f"{len(interactions.others.users):,} users excluded from training")
    if "half_life" in interactions.source.get("options", {}):
        lost.append("weights before the half-life was applied")
    return lost


def _weighing(interactions: Interactions) -> str:
    """How to load the weights that are written, and what they are."""
    if interactions.weights is None:
        return ""
    age = " They count ages back from the latest time: a half-life is not to be given again."
    aged = "half_life" in interactions.source.get("options", {})
    return f" Load its weights with weight='weight' (--weight weight).{age if aged else ''}"


def _text(interactions: Interactions, header: Sequence[str], separator: str) -> bytes:
    from corml._runtime.lazy_polars import polars as pl

    columns = _ids(interactions)
    names = dict(zip(("time", "weight"), header[2:], strict=True))
    for name, numbers in _numbers(interactions).items():
        columns[names[name]] = pl.Series([str(int(x)) if x.is_integer() else repr(x) for x in numbers.tolist()])
    frame = pl.DataFrame(columns).rename({"user": header[0], "item": header[1]})
    return frame.write_csv(separator=separator, quote_style="necessary").encode()


def _ids(interactions: Interactions) -> "dict[str, pl.Series]":
    from corml._runtime.lazy_polars import polars as pl

    return {
        ids.kind: pl.Series(ids.labels.tolist(), dtype=pl.String).gather(rows)
        for ids, rows in ((interactions.users, interactions.user), (interactions.items, interactions.item))
    }


def _refuse_nul(ids: Ids) -> None:
    for label in ids.labels:
        if "\0" in label:
            raise DataError(f"The {ids.kind} id {ascii_line(label)} holds a NUL character: only Parquet can keep it.")


def _parquet(interactions: Interactions) -> bytes:
    from corml._runtime.lazy_polars import polars as pl

    out = io.BytesIO()
    pl.DataFrame({**_ids(interactions), **_numbers(interactions)}).write_parquet(out)
    return out.getvalue()


def _npz(interactions: Interactions) -> bytes:
    arrays: dict[str, NDArray[np.generic]] = {}
    for ids, rows in ((interactions.users, interactions.user), (interactions.items, interactions.item)):
        arrays[ids.kind] = _compactly(ids.labels.tolist())[rows]
    arrays |= _numbers(interactions)
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **arrays)
    return out.getvalue()


def _numbers(interactions: Interactions) -> dict[str, NDArray[np.generic]]:
    known = {"time": interactions.times, "weight": interactions.weights}
    return {name: numbers for name, numbers in known.items() if numbers is not None}


def _compactly(labels: list[str]) -> NDArray[np.generic]:
    """Whole numbers as such if that loses nothing (it does for "007"), else text."""
    try:
        numbers = np.array([int(label) for label in labels], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(labels, dtype=np.str_)
    return numbers if [str(n) for n in numbers.tolist()] == labels else np.array(labels, dtype=np.str_)
