"""Random shares of each user's items: the split of the paper, independent of the order of rows."""

import numpy as np

from corml.data.interactions import Interactions
from corml.splits._draw import AnySplit, Data, Whole, assemble, by_counts, random_ranks, whole_counts
from corml.splits._options import SEED, Shares, option, record, three_shares

__all__ = ["ratio"]


def ratio(data: Data, *, shares: Shares = (0.6, 0.2, 0.2), seed: int = 2026) -> AnySplit:
    """Give each user's items at random to train, valid and test.

              items   a      b      c      d      e
        Ann (5)       train  test   train  valid  train
        Bob (2)       .      train  .      test   .

    Whole numbers by largest remainder; of equal remainders train comes first, then test. Every user keeps at least
    one train pair. A user's parts depend on the seed and the user's own labels only: neither the order of rows nor
    the other users matter.
    """
    fractions = three_shares("ratio", shares)
    number = int(option("ratio", "seed", seed, SEED))
    rank = random_ranks(data.items, number)

    def part(some: Interactions) -> Whole:
        counts = whole_counts(np.arange(some.user_degrees.max(initial=0) + 1), fractions)
        return by_counts(some, rank(some), counts)

    return assemble(data, part, record("ratio", data, shares=fractions, seed=number))
