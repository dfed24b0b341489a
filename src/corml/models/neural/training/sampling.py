"""Mini-batches of training pairs with negatives: items their users have not interacted with.

Negatives are drawn uniformly from all items a user has not seen, by drawing until it is none of those, or by its rank
among them for a user who has seen nearly all of many: exact, with no accidental positive. Each draw depends on the seed
and on its own position only, so any number of threads draws the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows

Whole = NDArray[np.int64]
AHEAD = 1 << 22  # negatives drawn at a time
NEARLY_ALL, MANY = 0.9, 1000  # of so many items: who has seen more has negatives by rank, not by trying


@dataclass(frozen=True)
class Batch:
    """Users, an item each has interacted with, and negatives, a row for each user."""

    users: Whole
    items: Whole
    negatives: Whole


class Sampler:
    """Every pair of the data once in each epoch, in random order, with `count` negatives."""

    def __init__(self, X: csr_array, *, size: int, count: int = 1) -> None:
        self.ptr, self.seen, self.n_items = X.indptr, X.indices, X.shape[1]
        degrees = np.diff(X.indptr)
        self.users = np.repeat(np.arange(X.shape[0]), degrees)
        self.pairs = np.flatnonzero(degrees[self.users] < X.shape[1])  # a user of every item has no negative
        self.size, self.count = size, count

    def __len__(self) -> int:
        return -(-len(self.pairs) // self.size)

    def __call__(self, rng: np.random.Generator) -> Iterator[Batch]:
        """Batches of one epoch."""
        order = rng.permutation(self.pairs)
        at_once = max(self.size, AHEAD // max(self.count, 1) // self.size * self.size)
        for first in range(0, len(order), at_once):
            pairs = order[first : first + at_once]
            users, items = self.users[pairs], self.seen[pairs].astype(np.int64)
            negatives = draw_negatives(self.ptr, self.seen, self.n_items, users, self.count, int(rng.integers(2**63)))
            for start in range(0, len(pairs), self.size):
                part = slice(start, start + self.size)
                yield Batch(users[part], items[part], negatives[part])


def suggested_batch(pairs: int) -> int:
    """The paper's 4,096, or so many that an epoch has fifty steps: with few, patience ends before much is learned."""
    return max(1, min(4096, pairs // 50))


def draw_negatives(ptr: NDArray[Any], seen: NDArray[Any], n_items: int, users: Whole, count: int, seed: int) -> Whole:
    """Draw `count` items for each user, uniformly from those the user has not seen (columns of a row are sorted)."""
    negatives = np.empty((len(users), count), dtype=np.int64)
    over_rows(lambda a, b: _draw(ptr, seen, n_items, users, np.uint64(seed), negatives, a, b), len(users))
    return negatives


@njit(cache=True, nogil=True)
def _draw(ptr, seen, n_items, users, seed, negatives, start, stop):  # type: ignore[no-untyped-def]
    count = negatives.shape[1]
    for row in range(start, stop):
        low, high = ptr[users[row]], ptr[users[row] + 1]
        by_rank = n_items > MANY and high - low > NEARLY_ALL * n_items
        choice = n_items - (high - low) if by_rank else n_items
        state = seed + np.uint64(row) * np.uint64(0x9E3779B97F4A7C15)
        for column in range(count):
            while True:
                state += np.uint64(0xD1342543DE82EF95)
                bits = state  # SplitMix64: a good hash of a counter
                bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                bits ^= bits >> np.uint64(31)
                item = np.int64(((bits >> np.uint64(32)) * np.uint64(choice)) >> np.uint64(32))
                if choice < n_items:
                    item = _of_rank(seen, low, high, item)
                    break
                if not _has(seen, low, high, item):
                    break
            negatives[row, column] = item


@njit(cache=True, nogil=True)
def _has(seen, low, high, item):  # type: ignore[no-untyped-def]
    while low < high:
        middle = (low + high) >> 1
        if seen[middle] < item:
            low = middle + 1
        elif seen[middle] > item:
            high = middle
        else:
            return True
    return False


@njit(cache=True, nogil=True)
def _of_rank(seen, low, high, rank):  # type: ignore[no-untyped-def]
    """The item that so many unseen ones come before: seen[at] − at of them are before the seen item at a place."""
    first = low
    while low < high:
        middle = (low + high) >> 1
        if seen[middle] - (middle - first) <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + (low - first)
