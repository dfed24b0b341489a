"""Shares of a number of things, in whole things."""

import numpy as np
from numpy.typing import NDArray

from corml.splits._assign import Whole

__all__ = ["whole_counts"]

# Who gets the thing that shares cannot divide when remainders are equal: train, then test, then valid.
_PREFERENCE = np.array([0, 2, 1])


def whole_counts(totals: NDArray[np.int64], shares: tuple[float, float, float]) -> Whole:
    """Train, valid and test counts of each total (n × 3), by largest remainder; train gets at least one.

    Shares .6, .2, .2 of 1, 2, 3, 4, 5 things: 1·0·0, 1·0·1, 2·0·1, 2·1·1, 3·1·1. A share of 0 gets nothing.
    """
    # rounding first, because .6 · 5 is 3 for people and need not be for the machine
    quotas = np.round(np.outer(totals, np.divide(shares, sum(shares))), 9)
    counts = np.floor(quotas).astype(np.int64)
    remainders = (quotas - counts)[:, _PREFERENCE]
    rank = np.argsort(np.argsort(-remainders, axis=1, kind="stable"), axis=1, kind="stable")
    left = totals - counts.sum(axis=1)
    counts[:, _PREFERENCE] += rank < left[:, None]
    return _with_train(counts)


def _with_train(counts: Whole) -> Whole:
    """Where train got nothing although there is something, the larger of the other parts gives one."""
    poor = np.flatnonzero((counts[:, 0] == 0) & (counts.sum(axis=1) > 0))
    donor = np.where(counts[poor, 1] > counts[poor, 2], 1, 2)
    counts[poor, donor] -= 1
    counts[poor, 0] += 1
    return counts
