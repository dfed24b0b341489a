"""Wilcoxon's signed-rank test over users: whether large differences lean to one side.

Users without a difference are left out, equal sizes share their mean rank. With few users the distribution of the
statistic is counted out, ties included; with many it is as good as normal.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["SignedRanks", "signed_ranks", "wilcoxon"]

EXACT = 50  # differing users up to which the distribution is counted out

Values = NDArray[np.float64]


class SignedRanks(NamedTuple):
    """Ranks of the sizes of all differences that are not zero, from 1, and which of them are gains."""

    ranks: Values
    gains: NDArray[np.bool_]

    @property
    def sums(self) -> tuple[float, float]:
        """Sum of the ranks of the gains, and of the losses."""
        return float(self.ranks[self.gains].sum()), float(self.ranks[~self.gains].sum())


def signed_ranks(differences: Values) -> SignedRanks:
    """Rank the differences by size; equal ones share the mean of their ranks."""
    differing = differences[differences != 0]
    _, which, counts = np.unique(np.abs(differing), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return SignedRanks((last - (counts - 1) / 2)[which], differing > 0)


def wilcoxon(differences: Values) -> float:
    """Two-sided p of differences that are symmetric around zero; 1 where nobody differs."""
    signed = signed_ranks(differences)
    if not len(signed.ranks):
        return 1.0
    return _exact(signed) if len(signed.ranks) <= EXACT else _normal(signed)


def _exact(signed: SignedRanks) -> float:
    """Count the sign patterns by their sum of ranks; doubled, mean ranks are whole numbers."""
    doubled = np.rint(2 * signed.ranks).astype(np.int64)
    ways = np.zeros(int(doubled.sum()) + 1)  # below 2⁵³ in all, so that float64 counts exactly
    ways[0] = 1
    for rank in doubled:
        ways[rank:] = ways[rank:] + ways[:-rank]  # a new array first: each rank is used once
    observed = int(doubled[signed.gains].sum())
    tail = float(min(ways[: observed + 1].sum(), ways[observed:].sum()))
    return min(1.0, float(2 * tail / 2.0 ** len(doubled)))


def _normal(signed: SignedRanks) -> float:
    from scipy.special import ndtr

    users = len(signed.ranks)
    _, ties = np.unique(signed.ranks, return_counts=True)
    variance = users * (users + 1) * (2 * users + 1) / 24 - float((ties.astype(float) ** 3 - ties).sum()) / 48
    distance = abs(signed.sums[0] - users * (users + 1) / 4) / math.sqrt(variance)
    return float(2 * ndtr(-distance))
