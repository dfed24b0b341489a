"""Ids of a request: looked up among the known ones, and nothing is ignored or read differently without a warning."""

import difflib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids, canonical, is_missing, is_one_id, labels_of
from corml.errors import UnknownIdError, UsageError, ascii_line, quoted, warn

FEW = 50_000  # known ids that a misspelt one is compared with

Rows = NDArray[np.int64]


def ids_and_rows(ids: Ids, values: object, what: str) -> tuple[list[str], Rows]:
    """Ids as text and their rows, −1 for an unknown one.

    A column of whole numbers with an empty cell is one of floats: 15.0 means the id "15" where "15.0" is not known.
    """
    given = labels_of(values, what)
    for at, value in enumerate(given, start=1):
        if type(value) is not str and is_missing(value):
            raise UsageError(f"{what}: id {at} of {len(given)} is missing ({ascii_line(value)}): leave it out.")
    labels = [canonical(value) for value in given]
    rows = ids.find(labels)
    whole = {
        at: str(int(given[at]))  # type: ignore[call-overload]
        for at in np.flatnonzero(rows < 0).tolist()
        if isinstance(given[at], float | np.floating) and float(given[at]).is_integer()  # type: ignore[arg-type]
    }
    changed = {}
    for (at, label), row in zip(whole.items(), ids.find(list(whole.values())).tolist(), strict=True):
        if row >= 0:
            changed[labels[at]] = label
            labels[at], rows[at] = label, row
    if changed:
        one, other = next(iter(changed.items()))
        warn(
            f"{what}: {_counted(changed)} read as whole numbers, such as {one} as '{other}', because the ids are so "
            "written in the data: convert them with .astype('Int64') or str."
        )
    if is_one_id(values) and rows[0] < 0 and len(parts := _parts(ids, labels[0])) > 1:
        raise UsageError(f"{what}: {ascii_line(labels[0])} is one id, and it is not known: did you mean {parts}?")
    return labels, rows


def rows_or_warn(ids: Ids, lists: Sequence[object], what: str) -> list[Rows]:
    """Rows of the ids of each list, −1 for an unknown one; one warning names those, which are ignored."""
    found = [ids_and_rows(ids, one, what) for one in lists]
    unknown = list(dict.fromkeys(labels[at] for labels, rows in found for at in np.flatnonzero(rows < 0)))
    if unknown:
        words = f"{what}= (--{what}): the model does not know {quoted(unknown)}"
        words += f", {len(unknown):,} ids in all, and ignores them." if len(unknown) > 1 else ", and ignores it."
        warn(f"{words} {meant(ids, unknown[0])}".rstrip())
    return [rows for _, rows in found]


def required(ids: Ids, values: object, what: str, *, advice: str = "") -> tuple[list[str], Rows]:
    """Ids and their rows where every one must be known."""
    labels, rows = ids_and_rows(ids, values, what)
    missing = list(dict.fromkeys(labels[at] for at in np.flatnonzero(rows < 0)))
    if missing:
        raise UnknownIdError(ids.kind, missing, len(ids), advice=advice or meant(ids, missing[0]))
    return labels, rows


def row_of(ids: Ids, value: object, what: str = "item") -> int:
    """The row of one id, which must be known."""
    return int(required(ids, [value], what)[1][0])


def meant(ids: Ids, label: str) -> str:
    """A sentence with the known id, or ids, that were probably meant; nothing where there are none."""
    parts = _parts(ids, label)
    if not parts and len(ids) <= FEW and not label.isdecimal():  # the number next to it is another item
        alike = (one for one in ids if one.casefold() == label.casefold())
        parts = list(islice(alike, 1)) or difflib.get_close_matches(label, ids, n=1)
    return f"Did you mean {ascii_line(parts[0]) if len(parts) == 1 else parts}?" if parts else ""


def _parts(ids: Ids, label: str) -> list[str]:
    """Known ids that a text has between commas, or without blanks around it, or as a whole number."""
    parts = [part.strip() for part in label.split(",")]
    parts = [part.removesuffix(".0") if part not in ids else part for part in parts]
    return parts if all(part in ids for part in parts) else []


def separated(ids: Ids, texts: Iterable[str]) -> list[str]:
    """Ids as a command line gives them: a text that is no known id, with only known ids between commas, is those."""
    listed = []
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        listed += parts if text not in ids and all(part in ids for part in parts) else [text]
    return listed


def _counted(changed: dict[Any, Any]) -> str:
    return "1 id was" if len(changed) == 1 else f"{len(changed):,} ids were"
