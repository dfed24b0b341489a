"""Paired t-test over users: whether the mean difference is larger than its standard error explains."""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["paired_t_test"]


def paired_t_test(differences: NDArray[np.float64]) -> float:
    """Two-sided p of a mean difference of zero; 1 for fewer than two users or no difference at all."""
    from scipy.special import stdtr  # Student's distribution, without the import time of scipy.stats

    if len(differences) < 2 or not differences.any():
        return 1.0
    standard_error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    if standard_error == 0:
        return 0.0
    return float(2 * stdtr(len(differences) - 1, -abs(float(differences.mean())) / standard_error))
