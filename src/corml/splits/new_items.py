"""Whole items are held out: how well items without interactions are recommended."""

import numpy as np

from corml._runtime.settings import Rule
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.splits._draw import AnySplit, Data, Whole, assemble, label_numbers, random_ranks, whole_counts
from corml.splits._options import SEED, Shares, option, record, three_shares

__all__ = ["new_items"]

TRAIN, VALID, TEST = range(3)


def new_items(data: Data, *, shares: Shares = (0.6, 0.2, 0.2), known: float = 0.0, seed: int = 2026) -> AnySplit:
    """Train on some items; all pairs of the others are held out, half of them for valid.

              items   a        b        c        d        e
        Ann           train    train    valid    .        test      c is new in valid, e in test
        Bob           .        train    .        train    test
        Cem           train    .        valid    train    .

    `shares` are of the items. No pair of a new item is in train; they stay in the catalogue, so that a model can give
    them rows, see `Recommender.with_new_items`. With `known` = .2 also 20 % of each user's pairs of the other items are
    in valid and as many in test, at random: then lists that mix old and new items can be judged.
    """
    fractions = three_shares("new-items", shares)
    share = float(option("new-items", "known", known, _KNOWN))
    number = int(option("new-items", "seed", seed, SEED))
    roles, rank = _roles(data.items, fractions, number), random_ranks(data.items, number)

    def part(some: Interactions) -> Whole:
        parts = roles[some.item]
        if share:
            old = some.where(parts == TRAIN)
            counts = whole_counts(old.user_degrees, (1 - 2 * share, share, share))
            ends, place = np.cumsum(counts, axis=1)[old.user], rank(old)
            parts[parts == TRAIN] = (place >= ends[:, 0]).astype(np.int64) + (place >= ends[:, 1])
        return parts

    return assemble(data, part, record("new-items", data, shares=fractions, known=share, seed=number))


def _roles(items: Ids, shares: tuple[float, float, float], seed: int) -> Whole:
    """For each item: 0 to learn from, 1 new in valid, 2 new in test."""
    drawn = np.argsort(label_numbers(items, seed, "new items"), kind="stable")
    roles = np.zeros(len(items), dtype=np.int64)
    roles[drawn] = np.repeat([TRAIN, VALID, TEST], whole_counts(np.array([len(drawn)]), shares)[0])
    return roles


_KNOWN = Rule("a number from 0 to 0.4", lambda value: isinstance(value, int | float) and 0 <= value <= 0.4)
