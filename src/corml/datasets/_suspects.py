"""Ids that are probably not what they seem: blanks, twins and words for «nothing»."""

import re
from collections.abc import Callable, Iterator

from corml.errors import quoted
from corml.interactions import Ids

__all__ = ["find"]

NOTHING = {"na", "n/a", "nan", "null", "none", "nil", "undefined", "unknown", "-"}

_TWINS: tuple[tuple[str, Callable[[str], str], str], ...] = (
    ("blanks around them", str.strip, "load(..., trim=True) (--trim) makes them one"),
    ("upper and lower case", str.casefold, "if they are one, write them alike in the file"),
    ("a final .0", lambda label: re.sub(r"^(\d+)\.0+$", r"\1", label), "write whole numbers without .0 in the file"),
    ("leading zeros", lambda label: re.sub(r"^0+(?=\d)", "", label), "if they are one, write them alike in the file"),
)


def find(ids: Ids) -> Iterator[tuple[str, str, str]]:
    """Severity, finding and advice for each kind of suspicion."""
    labels = [str(label) for label in ids.labels]
    blank = [label for label in labels if label != label.strip()]
    if blank:
        what = f"{len(blank):,} {ids.kind} ids begin or end with a blank: {quoted(blank)}"
        yield "warning", what, "load(..., trim=True) (--trim) takes the blanks off"
    empty = [label for label in labels if label.strip().lower() in NOTHING]
    if empty:
        what = f"{ids.kind} ids that may stand for a missing one: {quoted(empty)}"
        yield "warning", what, "if they do, remove these rows from the file"
    for difference, normal, advice in _TWINS:
        twins = _twins(labels, normal)
        if twins:
            yield (
                "warning",
                f"{len(twins):,} {ids.kind} ids differ from another only by {difference}: {quoted(twins)}",
                advice,
            )


def _twins(labels: list[str], normal: Callable[[str], str]) -> list[str]:
    first: dict[str, str] = {}
    return [label for label in labels if first.setdefault(normal(label), label) != label]
