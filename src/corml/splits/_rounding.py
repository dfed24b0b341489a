"""Shares of a number of things, in whole things."""

import numpy as np
from numpy.typing import NDArray

from corml.splits._assign import Whole

__all__ = ["whole_counts"]

# Who is first to get what the shares cannot divide, if remainders are equal: train, then test, then valid.
_PREFERENCE = np.array([0, 2, 1])


def whole_counts(totals: NDArray[np.int64], shares: tuple[float, float, float]) -> Whole:
    """Train, valid and test counts of each total (n × 3), by largest remainder; train gets at least one.

    Shares .6, .2, .2 of 1, 2, 3, 4, 5 things: 1·0·0, 1·0·1, 2·0·1, 2·1·1, 3·1·1. A share of 0 gets nothing.
    """
    # rounding first, because .6 · 5 is 3 for people and need not be for the machine
    quotas = np.round(np.outer(totals, np.divide(shares, sum(shares))), 9)
    counts = np.floor(quotas).astype(np.int64)
    remainders = np.round(quotas - counts, 9)[:, _PREFERENCE]
    remainders[counts[:, 0] == 0, 0] = 1.0  # there is something left to give, because train's share is above 0
    rank = np.argsort(np.argsort(-remainders, axis=1, kind="stable"), axis=1, kind="stable")
    left = totals - counts.sum(axis=1)
    counts[:, _PREFERENCE] += rank < left[:, None]
    return counts
