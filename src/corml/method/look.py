"""Choose by looking: which filter suits these data, from held-out items of some of their users.

The best filter differs from data to data more than anything else of the model: how many directions, how its weight
falls with their singular values, how much it counts beside H, and beside how many directions H is learned. All but the
last change scores only. So some items of a sample of users are held out, H is learned once or twice on the rest, to a
low precision, and all combinations are compared. One must gain both where items were held out at random and where items
that belong together were (`hold_out.py`). Seeded: equal data give equal choices.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.fitted import Settings
from corml.linalg.lanczos import right_vectors
from corml.linalg.scaling import column_degrees, normalised
from corml.linalg.svd import is_small, right_singular_vectors
from corml.method.filter_trials import Combination, ndcg_of
from corml.method.hold_out import hold_out, related_first
from corml.method.plan.plan import Look, Plan, Trial
from corml.method.problem import UserWeights, Weights
from corml.method.sparse.candidates import co_occurring
from corml.method.sparse.column_generation import ColumnGeneration
from corml.method.sparse.reorder import Reordered
from corml.progress import Progress, silent

__all__ = ["look"]

CANDIDATES, TOLERANCE, LOOSE = 100, 5e-3, 0.1  # of H and of V here
RELATED = 64  # directions in which items are compared, to hold out those that belong together
POWERS, WEIGHTS = (0.0, 0.5, 1.0), (1.0, 0.25, 0.35, 0.5, 0.7, 1.4)  # the fixed defaults come first
ERRORS = 2  # standard errors that are taken off a gain: the best of many trials is partly the luckiest
LARGEST_RANK = 512

Matrix = NDArray[np.float32]
Vector = NDArray[np.float64]


def look(
    X: csr_array, times: Vector | None = None, *, given: Settings, plan: Plan, progress: Progress
) -> tuple[dict[str, Any], Look, csr_array] | None:
    """The settings chosen among those left to the data, all trials, and an H to begin from; None for too few users.

    `times` are the moments of the pairs of X, where they are known.
    """
    progress("look", 0, 2)
    norms = given.graph_user_norm, given.graph_item_norm
    held = hold_out(X, related_first(X, _vectors(X, RELATED, norms)[0]) if times is None else -times)
    if held is None:
        return None
    V, sigma = _vectors(held.train, max(_ranks(plan, given)), norms)
    ranks = sorted({min(rank, V.shape[1]) for rank in _ranks(plan, given)})
    learned = _learn_ranks(min(plan.rank, V.shape[1]), given)
    matrices = _learn(held.train, V, learned, given, plan)
    progress("look", 1, 2)
    default = min(plan.rank, V.shape[1])
    ranks.sort(key=lambda rank: rank != default)
    powers, weights = _left(given.filter_power, POWERS), _left(given.filter_weight, WEIGHTS)
    combinations = [Combination(r, n, p, w) for n, r, p, w in product(learned, ranks, powers, weights)]
    values = ndcg_of(held, V, sigma, matrices, combinations, Weights.of(plan.resolved(given)))
    progress("look", 2, 2)
    trials, best = _judge(combinations, values[~held.together], values[held.together])
    chosen = combinations[best]._asdict()
    facts = Look(users=len(held.users), chosen=best, by_time=times is not None, trials=trials)
    return chosen, facts, matrices[combinations[best].learn_rank]


def _ranks(plan: Plan, given: Mapping[str, Any]) -> tuple[int, ...]:
    return (plan.rank,) if given["rank"] is not None else (plan.rank, max(plan.rank, min(2 * plan.rank, LARGEST_RANK)))


def _learn_ranks(rank: int, given: Mapping[str, Any]) -> tuple[int, ...]:
    if given["learn_rank"] is not None:
        return (min(given["learn_rank"], rank),)
    return tuple(dict.fromkeys((rank, max(1, rank // 4))))


def _left(value: float | None, choices: tuple[float, ...]) -> tuple[float, ...]:
    return choices if value is None else (value,)


def _vectors(R: csr_array, rank: int, norms: tuple[float, float]) -> tuple[Matrix, Vector]:
    """V and its singular values, to a low precision where that is faster."""
    N, rank = normalised(R, *norms), min(rank, *R.shape)
    rough = None if is_small(N, rank) else right_vectors(N, rank, LOOSE)
    V, sigma = right_singular_vectors(N, rank) if rough is None else rough
    V[np.bincount(R.indices, minlength=R.shape[1]) == 0] = 0
    return V.astype(np.float32, copy=False), sigma


def _learn(R: csr_array, V: Matrix, ranks: tuple[int, ...], given: Settings, plan: Plan) -> dict[int, csr_array]:
    """H beside the filter of each rank, on the strongest pairs, to a low precision, each from the one before."""
    settings = Settings({**plan.resolved(given), "tol": TOLERANCE})
    order = Reordered.of(R, V[:, : max(ranks)])
    d, vectors = order.permute(column_degrees(R)), order.permute(V)
    users = UserWeights.of(order.X, user_balance=settings.user_balance, user_norm=settings.user_norm)
    pairs = co_occurring(order.X, users, max_per_item=min(plan.candidates or CANDIDATES, CANDIDATES))
    matrices: dict[int, csr_array] = {}
    start: csr_array | None = None
    for rank in ranks:
        generation = ColumnGeneration(
            X=order.X, d=d, V=vectors[:, :rank], settings=settings, plan=plan, progress=silent
        )
        start = generation.on(pairs, start).H
        matrices[rank] = order.unpermute_matrix(start)
    return matrices


def _judge(combinations: list[Combination], *groups: Vector) -> tuple[tuple[Trial, ...], int]:
    """Every trial, and the best: its gain, less two standard errors, in the group where that is smallest, is largest.

    Gains are relative to the first combination. One that may well lose in either group is never better than that one.
    """
    figures = []
    for values in groups:
        gains, base = values - values[:, :1], max(float(values[:, 0].mean()), np.finfo(float).tiny)
        error = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
        figures.append((values.mean(axis=0), gains.mean(axis=0) / base, error / base))
    means, relative, errors = (np.stack(part, axis=1) for part in zip(*figures, strict=True))
    trials = tuple(
        Trial(**one._asdict(), ndcg=tuple(mean.tolist()), gain=tuple(gain.tolist()), error=tuple(error.tolist()))
        for one, mean, gain, error in zip(combinations, means, relative, errors, strict=True)
    )
    return trials, int(np.argmax((relative - ERRORS * errors).min(axis=1)))
