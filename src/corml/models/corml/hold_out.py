"""Held-out items of some users, in two ways: what is left to chance, and what belongs together.

Items held out at random lie among those that stay: another hotel of the same trip, another film of the same director.
What a user does next often does not. A setting that only gains on the first kind would lose on a future like the
second, so half of the users have items held out that belong together: their latest, where there are times, else an item
and the most similar ones of their items.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.sparse import Array, Vector, rows_of

SEED = 0
USERS = 6000  # sampled, at most
FEWEST = 200  # users with enough items, below which chance would choose
LEAST_ITEMS = 3  # of a user
SHARE = 0.2  # of the items of such a user are held out
DRAWN, PIECE = 1 << 22, 1 << 16  # random numbers, and pairs, at a time

OrderOf = Callable[[NDArray[np.int64], NDArray[np.int64]], Vector]  # from positions of pairs and their users
Order = Vector | OrderOf


class HeldOut(NamedTuple):
    """The data without the held-out pairs; the sampled users, their held-out items, one row each, and their group."""

    train: csr_array
    users: NDArray[np.int64]
    targets: csr_array
    together: NDArray[np.bool_]  # of each such user: whether items that belong together were held out


class Picked(NamedTuple):
    """The sampled users, their group, and the positions in the matrix of the pairs that are held out."""

    users: NDArray[np.int64]
    together: NDArray[np.bool_]
    positions: NDArray[np.int64]


def held_out(X: csr_array, picked: Picked) -> HeldOut:
    """The data without the pairs that are held out, and these."""
    kept = np.ones(X.nnz, dtype=bool)
    kept[picked.positions] = False
    sizes = np.bincount(rows_of(X)[kept], minlength=X.shape[0])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(X.indptr.dtype)
    train = csr_array((X.data[kept], X.indices[kept], indptr), shape=X.shape)
    train.has_sorted_indices = X.has_sorted_indices
    return HeldOut(train, picked.users, targets_of(X, picked), picked.together)


def pick(indptr: Array, order: Order, *, seed: int = SEED) -> Picked | None:
    """Hold out a fifth of the items, at least one, of a sample of the users that have three; None if they are few.

    `order` has a number for each pair, or is a function of positions: in the second half of the users, pairs with
    the lowest are held out. Nothing is read of other users, so that the matrix may be a file.
    """
    rng, degrees = np.random.default_rng(seed), np.diff(indptr)
    eligible = np.flatnonzero(degrees >= LEAST_ITEMS)
    if len(eligible) < FEWEST:
        return None
    users = rng.choice(eligible, min(USERS, len(eligible)), replace=False)
    second = np.zeros(len(degrees), dtype=bool)
    second[users[len(users) // 2 :]] = True
    users = np.sort(users)
    sizes = degrees[users].astype(np.int64)
    begin = np.cumsum(sizes) - sizes
    row = np.repeat(np.arange(len(users)), sizes)
    offset = np.arange(len(row)) - begin[row]
    at = indptr[users].astype(np.int64)[row] + offset
    by_chance = _random_at(rng, at, int(indptr[-1]))
    values = order(at, users[row]) if callable(order) else order[at]
    sorted_pairs = np.lexsort((by_chance, np.where(second[users[row]], values, 0), row))
    position = np.empty(len(row), dtype=np.int64)
    position[sorted_pairs] = offset
    out = position < np.maximum(1, np.rint(SHARE * sizes))[row]
    return Picked(users, second[users], at[out])


def targets_of(X: csr_array, picked: Picked) -> csr_array:
    """The held-out items of the sampled users, one row each."""
    at, begin = picked.positions, X.indptr[picked.users]
    row = np.searchsorted(begin, at, side="right") - 1
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(begin)))]).astype(X.indptr.dtype)
    targets = csr_array((X.data[at], X.indices[at], indptr), shape=(len(begin), X.shape[1]))
    targets.has_sorted_indices = X.has_sorted_indices
    return targets


def _random_at(rng: np.random.Generator, at: NDArray[np.int64], count: int) -> Vector:
    """Some of `count` random numbers, by sorted positions; not all of them exist at a time."""
    drawn = np.empty(len(at))
    for start in range(0, count, DRAWN):
        numbers = rng.random(min(DRAWN, count - start))
        low, high = np.searchsorted(at, [start, start + DRAWN])
        drawn[low:high] = numbers[at[low:high] - start]
    return drawn


def related_first(X: csr_array, V: Array) -> OrderOf:
    """For a pair how unlike its item is to one item of the user, chosen by chance; V has a row for each item.

    The first direction is popularity, the same for all, so it does not count.
    """
    directions = np.array(V[:, 1:], dtype=np.float32)
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    degrees = np.diff(X.indptr)
    chosen = X.indptr[:-1] + (np.random.default_rng(SEED).random(X.shape[0]) * degrees).astype(np.int64)
    chosen = np.minimum(chosen, max(X.nnz - 1, 0))

    def unlike(at: NDArray[np.int64], users: NDArray[np.int64]) -> Vector:
        values, seeds = np.empty(len(at)), X.indices[chosen[users]]
        for start in range(0, len(at), PIECE):
            part = slice(start, start + PIECE)
            values[part] = -np.einsum("ij,ij->i", directions[X.indices[at[part]]], directions[seeds[part]])
        return values

    return unlike
