"""From a decision per pair to a Split: seeded order, counts in whole pairs, and the parts they make.

The random number of a pair is a hash of seed, user label and item label. So neither the order of rows or ids, nor
which other users and items there are, changes the order in which a user's pairs are drawn.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.splits._parts import PARTS
from corml.splits._pieces import AnySplit, Data, Decide, Pieces
from corml.splits._split import Split

__all__ = ["Whole", "assemble", "by_counts", "label_numbers", "random_ranks", "ranks", "whole_counts"]

# Which part is first to get what the shares cannot divide, if remainders are equal: train, then test, then valid.
_PREFERENCE = np.array([0, 2, 1])

Whole = NDArray[np.int64]


def assemble(
    data: Data,
    part: NDArray[Any] | Decide,
    procedure: dict[str, Any],
    *,
    until: Callable[[Interactions, NDArray[Any]], NDArray[np.float64]] | NDArray[np.float64] | None = None,
) -> AnySplit:
    """Split by one number per pair: 0 train, 1 valid, 2 test, 3 history, 4 valid_history (there need be no 3 or 4).

    `part` are these numbers, or a function that gives those of some users: with a function a store can be split, too.
    Of what somebody said no to after the moment in `until`, one for each user, nobody knows in train yet.
    """
    if isinstance(data, Pieces):
        return data.written(part if callable(part) else data.refuse(), procedure)
    numbers = part(data) if callable(part) else part
    if until is not None and data.negative is not None and data.negative.times is not None:
        moments = until(data, numbers) if callable(until) else until
        no = data.negative.where(~(data.negative.times > moments[data.negative.user]))
        data = replace(data, negative=no if len(no) else None)
    present = [n for n in range(len(PARTS)) if n < 3 or (numbers == n).any()]
    parts: dict[str, Any] = {PARTS[n]: data.where(numbers == n) for n in present}
    return Split(**parts, procedure=procedure)


# --- order -----------------------------------------------------------------------------------------------------------


def random_ranks(items: Ids, seed: int) -> Callable[[Interactions], Whole]:
    """A function that gives the rank of each pair in a random order of its user's pairs.

    Hashing every pair would take seconds; labels are hashed once each and combined in whole arrays.
    """
    of_item = _scrambled(label_numbers(items, seed, "pair of item"))

    def drawn(some: Interactions) -> Whole:
        of_user = label_numbers(some.users, seed, "pair of user")
        return ranks(some.user, _scrambled(of_item[some.item] + of_user[some.user]))

    return drawn


def ranks(user: NDArray[np.integer[Any]], key: NDArray[Any]) -> Whole:
    """Rank of each pair among the pairs of its user, from 0, in the order of the keys (of equal keys, of the rows)."""
    order = np.lexsort((key, user))
    grouped = user[order]
    degrees = np.bincount(grouped)
    rank = np.empty(len(user), dtype=np.int64)
    rank[order] = np.arange(len(user)) - (np.cumsum(degrees) - degrees)[grouped]
    return rank


def label_numbers(ids: Ids, seed: int, purpose: str) -> NDArray[np.uint64]:
    """One random 64-bit number per label; other purposes get other numbers."""
    key, person = str(seed).encode(), purpose.encode()
    digests = (
        hashlib.blake2b(label.encode("utf-8", "surrogatepass"), digest_size=8, key=key, person=person).digest()
        for label in ids
    )
    return np.fromiter((int.from_bytes(one, "little") for one in digests), dtype=np.uint64, count=len(ids))


def _scrambled(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply SplitMix64's output function: one-to-one, so that distinct items of a user keep distinct numbers."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# --- counts ----------------------------------------------------------------------------------------------------------


def whole_counts(totals: Whole, shares: tuple[float, float, float]) -> Whole:
    """Train, valid and test counts of each total (n × 3), by largest remainder; train gets at least one.

    Shares .6, .2, .2 of 1, 2, 3, 4, 5 things: 1·0·0, 1·0·1, 2·0·1, 2·1·1, 3·1·1. A share of 0 gets nothing.
    """
    # rounding first, because .6 · 5 is 3 on paper and need not be for the machine
    quotas = np.round(np.outer(totals, np.divide(shares, sum(shares))), 9)
    counts = np.floor(quotas).astype(np.int64)
    remainders = np.round(quotas - counts, 9)[:, _PREFERENCE]
    remainders[counts[:, 0] == 0, 0] = 1.0  # there is something left to give, because train's share is above 0
    rank = np.argsort(np.argsort(-remainders, axis=1, kind="stable"), axis=1, kind="stable")
    left = totals - counts.sum(axis=1)
    counts[:, _PREFERENCE] += rank < left[:, None]
    return counts


def by_counts(data: Interactions, rank: Whole, counts: Whole) -> Whole:
    """Part of each pair: of a user with d pairs the first `counts[d]` ranks are train, valid and test in turn."""
    ends = np.cumsum(counts, axis=1)[data.user_degrees[data.user]]
    return (rank >= ends[:, 0]).astype(np.int64) + (rank >= ends[:, 1])
