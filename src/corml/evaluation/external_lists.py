"""Lists of another program: a mapping, a frame, a file or Recommendations, matched to the users and items of a task."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids, canonical
from corml.errors import DataError, UsageError, ascii_line
from corml.evaluation.list_files import read_lists
from corml.evaluation.task import Task
from corml.linalg.sparse import filled
from corml.recommend.result import Recommendations

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    ExternalLists = Mapping[Hashable, Sequence[Hashable]] | Recommendations | str | os.PathLike[str] | IntoDataFrame


def by_user(lists: "ExternalLists") -> dict[str, list[str]]:
    """Ranked item ids of each user, as text."""
    if isinstance(lists, Recommendations):
        return _unique(zip(lists.users, lists.values(), strict=True))
    if isinstance(lists, Mapping):
        return _unique(lists.items())
    return _from_frame(read_lists(lists) if isinstance(lists, str | os.PathLike) else lists)


def ranked(
    task: Task, items: Ids, lists: Mapping[str, Sequence[str]], longest: int, *, mask: bool = False
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Item numbers of each user of the task, −1 where a list is short, and counts of what does not match the task.

    With `mask`, items already seen are taken out before a list is cut, as they are for a model.
    """
    best, removed = np.full((len(task), longest), -1, dtype=np.int64), 0
    for row, user in enumerate(task.users):
        listed = lists.get(user, ())
        if mask:
            first, last = task.mask.indptr[row : row + 2]
            seen = set(items.labels[task.mask.indices[first:last]])
            fresh = [item for item in listed if item not in seen]
            listed, removed = fresh, removed + len(listed) - len(fresh)
        listed = listed[:longest]
        if len(set(listed)) < len(listed):
            raise DataError(f"The list of user {ascii_line(user)} names an item twice: give each item once.")
        best[row, : len(listed)] = items.rows(listed)
    counts = {
        "users without a list, counted as 0": int((best < 0).all(axis=1).sum()),
        "lists of users who do not count": len(lists.keys() - set(task.users)),
        "recommended items already seen": int(filled(task.mask, np.arange(len(best))[:, None], best).sum()),
        "recommended items already seen, taken out": removed,
    }
    return best, {what: count for what, count in counts.items() if count}


def _unique(lists: Iterable[tuple[Hashable, Iterable[Hashable]]]) -> dict[str, list[str]]:
    lists_by_user: dict[str, list[str]] = {}
    for user, items in lists:
        if canonical(user) in lists_by_user:
            raise DataError(f"There are two lists for user {ascii_line(user)}: give one list per user.")
        if isinstance(items, str):
            raise UsageError(f"The list of user {ascii_line(user)} is a text: give a list of item ids, best first.")
        lists_by_user[canonical(user)] = [canonical(item) for item in items]
    return lists_by_user


def _from_frame(lists: Any) -> dict[str, list[str]]:
    """Columns user and item, best first, or in the order of a column rank."""
    import narwhals

    try:
        frame: Any = narwhals.from_native(lists, eager_only=True)
    except TypeError:
        raise UsageError("Lists must be a mapping from user to item ids, a frame, or Recommendations.") from None
    missing = {"user", "item"} - set(frame.columns)
    if missing:
        raise DataError(f"The frame of lists has no column {' nor '.join(sorted(missing))}: name them user and item.")
    if "rank" in frame.columns:
        frame = frame.sort("rank")
    lists_by_user: dict[str, list[str]] = {}
    for user, item in zip(frame["user"].to_list(), frame["item"].to_list(), strict=True):
        lists_by_user.setdefault(canonical(user), []).append(canonical(item))
    return lists_by_user
