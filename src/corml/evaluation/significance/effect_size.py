"""How large a difference between two models is, whatever the number of users: p values do not say that."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corml.evaluation.significance.signed_rank import signed_ranks

__all__ = ["EffectSize", "effect_size"]


@dataclass(frozen=True)
class EffectSize:
    """Cohen's d_z, the rank-biserial correlation, and shares of users.

    `d_z` is the mean difference in standard deviations of the differences. `rank_biserial` goes from −1 (every
    differing user loses) to 1 (every one gains), large differences counting more. `wins`, `ties` and `losses` are
    shares of all users.
    """

    d_z: float
    rank_biserial: float
    wins: float
    ties: float
    losses: float


def effect_size(differences: NDArray[np.float64]) -> EffectSize:
    """Sizes of the effect behind users' differences; all are 0 where nobody differs."""
    gains, losses = signed_ranks(differences).sums
    return EffectSize(
        d_z=_d_z(differences),
        rank_biserial=(gains - losses) / (gains + losses) if gains + losses else 0.0,
        wins=float(np.mean(differences > 0)),
        ties=float(np.mean(differences == 0)),
        losses=float(np.mean(differences < 0)),
    )


def _d_z(differences: NDArray[np.float64]) -> float:
    mean = float(differences.mean())
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return mean / deviation if deviation else float(np.copysign(np.inf, mean)) if mean else 0.0
