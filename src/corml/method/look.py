"""Choose by looking: which filter suits these data, from held-out items of some of their users.

The best filter differs from data to data more than anything else of the model: how many directions, how its weight
falls with their singular values, and how much it counts beside H. None of that changes H, if H is learned beside the
directions it has by default. So some items of a sample of users are held out, H is learned once on the rest, to a low
precision, and all combinations are compared. Fewer directions than the default are tried, and weights that fall down to
the fourth power: small and noisy data want a smoother filter, and no data at hand surely wanted more directions. One
must gain both where items were held out at random and where items that belong together were (`hold_out.py`). Seeded:
equal data give equal choices.
"""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.fitted import Settings
from corml.linalg.lanczos import rough_right_vectors
from corml.linalg.scaling import column_degrees, normalised
from corml.linalg.svd import is_small, right_singular_vectors
from corml.method.filter_trials import Combination, ndcg_of
from corml.method.hold_out import HeldOut, hold_out, related_first
from corml.method.plan.look_cost import CANDIDATES
from corml.method.plan.plan import Look, Plan, Trial
from corml.method.problem import Weights
from corml.method.sparse.column_generation import ColumnGeneration
from corml.method.sparse.pair_work import InMemory
from corml.method.sparse.reorder import Reordered
from corml.progress import Progress, silent

__all__ = ["RELATED", "TOLERANCE", "choose", "look"]

TOLERANCE = 5e-3  # of H here
RELATED = 64  # directions in which items are compared, to hold out those that belong together
POWERS, WEIGHTS, PARTS = (0.0, 1.0, 2.0, 4.0), (1.0, 0.25, 0.35, 0.5, 0.7), (1, 2, 4)  # the fixed defaults come first
ERRORS = 2.5  # standard errors that are taken off a gain: about what the luckiest of so many trials gains by chance

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

    def related(at: NDArray[np.int64], users: NDArray[np.int64]) -> Vector:
        return related_first(X, _vectors(X, RELATED, norms)[0])(at, users)  # only where there are users enough

    held = hold_out(X, related if times is None else -times)
    if held is None:
        return None
    resolved = plan.resolved(given)
    V, sigma = _vectors(held.train, max(resolved.rank, resolved.learn_rank), norms)
    H = _learn(held.train, V[:, : resolved.learn_rank], given, plan)
    progress("look", 1, 2)
    chosen, facts = choose(
        held, V, sigma, H, column_degrees(held.train), given=given, plan=plan, by_time=times is not None
    )
    progress("look", 2, 2)
    return chosen, facts, H


def choose(
    held: HeldOut,
    V: Matrix,
    sigma: Vector,
    H: csr_array,
    d: Vector,
    *,
    given: Settings,
    plan: Plan,
    by_time: bool,
) -> tuple[dict[str, Any], Look]:
    """The settings chosen among those left to the data, and all trials; V and H are of what stayed.

    `d` are the degrees of items in what stayed.
    """
    resolved = plan.resolved(given)
    ranks = [resolved.rank] if given.rank is not None else [max(1, resolved.rank // part) for part in PARTS]
    powers, weights = _left(given.filter_power, POWERS), _left(given.filter_weight, WEIGHTS)
    combinations = [Combination(*one) for one in product(dict.fromkeys(ranks), powers, weights)]
    values = ndcg_of(held, V, sigma, H, combinations, Weights.of(resolved), d)
    trials, best = _judge(combinations, values[~held.together], values[held.together])
    facts = Look(users=len(held.users), chosen=best, by_time=by_time, trials=trials)
    return {**combinations[best]._asdict(), "learn_rank": resolved.learn_rank}, facts


def _left(value: float | None, choices: tuple[float, ...]) -> tuple[float, ...]:
    return choices if value is None else (value,)


def _vectors(R: csr_array, rank: int, norms: tuple[float, float]) -> tuple[Matrix, Vector]:
    """V and its singular values; where there are many, to a low precision."""
    N, rank = normalised(R, *norms), min(rank, *R.shape)
    V, sigma = right_singular_vectors(N, rank) if is_small(N, rank) else rough_right_vectors(N, rank)
    V[np.bincount(R.indices, minlength=R.shape[1]) == 0] = 0
    return V.astype(np.float32, copy=False), sigma


def _learn(R: csr_array, V: Matrix, given: Settings, plan: Plan) -> csr_array:
    """H beside the filter with these directions, on the candidates, to a low precision."""
    settings = Settings({**plan.resolved(given), "tol": TOLERANCE})
    order = Reordered.of(R, V)
    work = InMemory(order.X, order.permute(column_degrees(R)), order.permute(V), order.items)
    generation = ColumnGeneration(work=work, settings=settings, plan=plan, progress=silent)
    count = plan.candidates if plan.solver == "sparse" else CANDIDATES
    return order.unpermute_matrix(generation.on(work.co_occurring(generation.users, count)).H)


def _judge(combinations: list[Combination], *groups: Vector) -> tuple[tuple[Trial, ...], int]:
    """Every trial, and the best: its gain, less some standard errors, in the group where that is smallest, is largest.

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
