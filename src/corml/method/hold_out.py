"""Held-out items of some users, in two ways: what is left to chance, and what belongs together.

Items held out at random lie among those that stay: another place of the same trip, another film of the same director.
What a user does next often does not. A setting that only gains on the first kind would lose on a future like the
second, so half of the users have items held out that belong together: their latest, where times are known, else an item
and those of their items that are most like it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import rows_of

__all__ = ["HeldOut", "hold_out", "related_first"]

SEED = 0
USERS = 6000  # looked at, at most
FEWEST = 200  # users with enough items, below which chance would choose
LEAST_ITEMS = 3  # of a user
SHARE = 0.2  # of the items of such a user are held out

Values = NDArray[np.float64]


class HeldOut(NamedTuple):
    """The data without the held-out pairs, the users looked at, their held-out items, one row each, and their group."""

    train: csr_array
    users: NDArray[np.int64]
    targets: csr_array
    together: NDArray[np.bool_]  # of each such user: whether items that belong together were held out


def hold_out(X: csr_array, order: Values, *, seed: int = SEED) -> HeldOut | None:
    """Hold out a fifth of the items, at least one, of a sample of the users that have three; None if they are few.

    `order` has a number for each pair of X: of the second half of the users, pairs with the lowest are held out.
    """
    rng, degrees = np.random.default_rng(seed), np.diff(X.indptr)
    eligible = np.flatnonzero(degrees >= LEAST_ITEMS)
    if len(eligible) < FEWEST:
        return None
    users = rng.choice(eligible, min(USERS, len(eligible)), replace=False)
    second = np.zeros(X.shape[0], dtype=bool)
    second[users[len(users) // 2 :]] = True
    users = np.sort(users)
    count = np.zeros(X.shape[0], dtype=np.int64)
    count[users] = np.maximum(1, np.rint(SHARE * degrees[users]))
    rows = rows_of(X)
    by_chance = rng.random(X.nnz)
    sorted_pairs = np.lexsort((by_chance, np.where(second[rows], order, 0), rows))
    position = np.empty(X.nnz, dtype=np.int64)
    position[sorted_pairs] = np.arange(X.nnz) - np.repeat(X.indptr[:-1], degrees)
    out = position < count[rows]
    return HeldOut(_only(X, ~out), users, _only(X, out)[users], second[users])


def related_first(X: csr_array, V: NDArray[Any]) -> Values:
    """For each pair how unlike its item is to one item of the user, chosen by chance; V has a row for each item.

    The first direction is popularity, the same for all, so it does not count.
    """
    directions = np.array(V[:, 1:], dtype=np.float32)
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    degrees = np.diff(X.indptr)
    chosen = X.indptr[:-1] + (np.random.default_rng(SEED).random(X.shape[0]) * degrees).astype(np.int64)
    seeds = X.indices[np.repeat(np.minimum(chosen, max(X.nnz - 1, 0)), degrees)]
    unlike = np.empty(X.nnz)
    for start in range(0, X.nnz, 1 << 16):
        part = slice(start, start + (1 << 16))
        unlike[part] = -np.einsum("ij,ij->i", directions[X.indices[part]], directions[seeds[part]])
    return unlike


def _only(X: csr_array, kept: NDArray[np.bool_]) -> csr_array:
    sizes = np.bincount(rows_of(X)[kept], minlength=X.shape[0])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(X.indptr.dtype)
    part = csr_array((X.data[kept], X.indices[kept], indptr), shape=X.shape)
    part.has_sorted_indices = X.has_sorted_indices
    return part
