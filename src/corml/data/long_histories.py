"""Histories so long that they alone would decide what a fit takes: a model learns from a part of each.

What it takes to count pairs of items grows with the square of a history, and a history of 100,000 items, of a crawler
or an account that many people share, says little about any of them. So of one longer than the setting
`longest_history` so many items are learned from, drawn by a hash of the user and the item: the same ones each time,
whatever the order of the data. It is scored, and kept out of lists, as a whole.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import optional, setting, whole
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.labels import Labels

LONGEST = 5_000  # items: more than all but a few users have of anything
_MIX = np.uint64(0x9E3779B97F4A7C15)


def longest_history(default: int | None = LONGEST) -> Any:
    """The setting of a model that counts pairs of items."""
    return setting(
        default,
        optional(whole(2, 1_000_000_000), "all of it, at the cost of its square"),
        help="items of one history that are learned from: of a longer one, so many drawn by a hash",
    )


def shortened(train: Interactions, longest: int | None) -> Interactions:
    """The same without a part of longer histories; the same object where there are none."""
    if longest is None or not len(train):
        return train
    long = np.bincount(train.user, minlength=len(train.users)) > longest
    if not long.any():
        return train
    at = np.flatnonzero(long[train.user])
    keep = np.ones(len(train), dtype=bool)
    keep[at] = kept_of_long(train.users, train.items, train.user[at], train.item[at], longest)
    return train.where(keep)


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
    from corml.data.labels.numbering import hashes  # compiled: only who has a long history waits for that

    used, place = np.unique(rows, return_inverse=True)
    return hashes(Labels.of(map(str, ids.labels[used])))[place]
