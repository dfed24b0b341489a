"""Histories so long that they alone would decide what a fit takes: a model learns from a part of each.

What it takes to count pairs of items grows with the square of a history, and a history of 100,000 items, of a crawler
or an account that many people share, says little about any of them. So of one longer than the setting
`longest_history` so many items are learned from, drawn by a hash of the user and the item: the same ones each time,
whatever the order of the data. It is scored, and kept out of lists, as a whole.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.ids import Ids
from corml.interactions import Interactions
from corml.labels import Labels
from corml.settings import optional, setting, whole

if TYPE_CHECKING:
    from corml.fitted import Plan

__all__ = ["LONGEST", "are_degrees", "kept_of_long", "longest_history", "planned", "shortened", "told"]

LONGEST = 5_000  # items: more than all but a few people have of anything
AN_INTERACTION = 48  # bytes, while all of them are put in order for the fingerprint that every fit takes
_MIX = np.uint64(0x9E3779B97F4A7C15)

P = TypeVar("P", bound="Plan")


def longest_history(default: int | None = LONGEST) -> Any:
    """The setting of a model that counts pairs of items."""
    return setting(
        default,
        optional(whole(2, 1_000_000_000), "all of it, at the cost of its square"),
        help="items of one history that are learned from: of a longer one, so many drawn by a hash",
    )


def shortened(train: Interactions, longest: int | None) -> Interactions:
    """The interactions to learn from; the same object where no history is longer."""
    if longest is None or not len(train):
        return train
    long = np.bincount(train.user, minlength=len(train.users)) > longest
    if not long.any():
        return train
    at = np.flatnonzero(long[train.user])
    keep = np.ones(len(train), dtype=bool)
    keep[at] = kept_of_long(train.users, train.items, train.user[at], train.item[at], longest)
    return train.where(keep)


def planned(train: Interactions, longest: int | None, make: Callable[[Interactions], P]) -> P:
    """The plan of a fit on what is learned from; whatever a model does, all interactions are put in order first."""
    learned_from = shortened(train, longest)
    plan = make(learned_from)
    plan = replace(plan, predicted_bytes=max(plan.predicted_bytes, AN_INTERACTION * len(train)))
    return told(plan, train.user_degrees - learned_from.user_degrees)


def told(plan: P, left_out: NDArray[Any] | int) -> P:
    """The plan, with how many histories are longer than is learned from, and how many interactions are left out."""
    long = int(np.count_nonzero(left_out))
    return replace(plan, long_histories=long, left_out=int(np.sum(left_out))) if long else plan


def kept_of_long(users: Ids, items: Ids, user: NDArray[Any], item: NDArray[Any], longest: int) -> NDArray[np.bool_]:
    """Which of these pairs, all those of some users, are learned from: the first so many of each user by a hash."""
    codes = _hashes_of(users, user) * _MIX ^ _hashes_of(items, item)
    codes = (codes ^ (codes >> np.uint64(29))) * _MIX  # or two users would have the items of one order
    order = np.lexsort((codes, user))
    sorted_users = user[order]
    starts = np.flatnonzero(np.concatenate([[True], sorted_users[1:] != sorted_users[:-1]]))
    rank = np.arange(len(user)) - np.repeat(starts, np.diff(np.append(starts, len(user))))
    kept = np.zeros(len(user), dtype=bool)
    kept[order[rank < longest]] = True
    return kept


def are_degrees(degrees: NDArray[Any], counts: NDArray[Any], train: csr_array, longest: int | None) -> bool:
    """Whether items may have these numbers of users in what was learned from, with these in all that is known."""
    whole = np.maximum(counts, 1)
    if np.array_equal(degrees, whole):
        return True
    if longest is None or not (degrees <= whole).all():
        return False
    left_out = np.maximum(np.diff(train.indptr) - longest, 0).sum()
    return not train.nnz or float((whole - degrees).sum()) <= left_out  # a file may be without histories


def _hashes_of(ids: Ids, rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Hashes of the ids that occur, at their places."""
    from corml.labels.hashing import hashes  # compiled: only who has a long history waits for that

    used, place = np.unique(rows, return_inverse=True)
    return hashes(Labels.of(map(str, ids.labels[used])))[place]
