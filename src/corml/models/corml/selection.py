"""Automatic filter selection: which filter suits these data, by NDCG@20 on held-out items of some users.

The best filter differs from data to data more than anything else of the model: how many directions, how its weight
falls with their singular values, and its weight relative to H. None of that changes H, if H is learned given the
directions it has by default. So some items of a sample of users are held out, H is learned once on the rest, to a low
precision, and all combinations are compared. Fewer directions than the default are tried, and weights that fall down to
the fourth power: small and noisy data want a smoother filter, and no data at hand reliably wanted more directions. A
combination must gain both where items were held out at random and where items that belong together were
(`hold_out.py`). Seeded: equal data give equal choices.

A combination only reorders the best items of a user. So these are computed twice, with a weak and a strong filter, and
every combination is computed on them alone. With weights, a hit gains the weight of the held-out pair.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.parallel import blas
from corml._runtime.progress import Progress, silent
from corml.linalg.products import add_sparse_product
from corml.linalg.sparse import (
    Array,
    Values,
    Vector,
    column_degrees,
    normalised,
    power,
    rows_of,
    scaled,
    values_unless_ones,
)
from corml.linalg.svd import is_small, right_singular_vectors, rough_right_vectors
from corml.linalg.topk import TopK
from corml.models.corml.cost import CANDIDATES
from corml.models.corml.hold_out import HeldOut, Picked, held_out, pick, related_first
from corml.models.corml.plan import Plan, Selection, Trial
from corml.models.corml.problem import Weights
from corml.models.corml.sparse.column_generation import ColumnGeneration, InMemory
from corml.models.corml.sparse.reuse import Reordered
from corml.models.fitted import Settings

TOLERANCE = 5e-3  # of H here
RELATED = 64  # directions in which items are compared, to hold out those that belong together
POWERS, WEIGHTS, SHARES = (0.0, 1.0, 2.0, 4.0), (1.0, 0.25, 0.35, 0.5, 0.7), (1, 2, 4)  # the fixed defaults come first
ERRORS = 2.5  # standard errors that are taken off a gain: about the largest gain by chance of this many trials
STAGE = "filter selection"


class Learned(NamedTuple):
    """What was learned from the data without the held-out pairs: degrees of items, V with singular values, and H."""

    d: Vector
    V: Values
    sigma: Vector
    H: csr_array


class Combination(NamedTuple):
    """One filter to compare."""

    rank: int
    filter_power: float
    filter_weight: float


Chosen = tuple[dict[str, Any], Selection, csr_array]


def select_filter(
    X: csr_array, times: Vector | None = None, *, given: Settings, plan: Plan, progress: Progress
) -> Chosen | None:
    """The settings chosen among those left to the data, all trials, and an H to begin from; None for too few users.

    `times` are the moments of the pairs of X, if there are any.
    """
    norms = given.graph_user_norm, given.graph_item_norm

    def learn(picked: Picked, settings: Settings) -> tuple[HeldOut, Learned]:
        held, rank = held_out(X, picked), max(settings.rank, settings.learn_rank)
        V, sigma = _vectors(held.train, rank, norms)
        H = _learn(held.train, V[:, : settings.learn_rank], settings, plan)
        return held, Learned(column_degrees(held.train), V, sigma, H)

    return select_filter_on(
        X, times, lambda: _vectors(X, RELATED, norms)[0], learn, given=given, plan=plan, progress=progress
    )


def select_filter_on(
    X: csr_array,
    times: Vector | None,
    directions: Callable[[], Values],
    learn: Callable[[Picked, Settings], tuple[HeldOut, Learned]],
    *,
    given: Settings,
    plan: Plan,
    progress: Progress,
) -> Chosen | None:
    """The same with functions: `directions()` returns V, and `learn` holds out pairs and learns from the rest."""
    progress(STAGE, 0, 2)

    def order(at: NDArray[np.int64], users: NDArray[np.int64]) -> Vector:  # only called if there are users enough
        return related_first(X, directions())(at, users) if times is None else -times[at]

    picked = pick(X.indptr, order)
    if picked is None:
        return None
    resolved = plan.resolved(given)
    held, learned = learn(picked, Settings({**resolved, "tol": TOLERANCE}))
    progress(STAGE, 1, 2)
    ranks = [resolved.rank] if given.rank is not None else [max(1, resolved.rank // part) for part in SHARES]
    powers = POWERS if given.filter_power is None else (given.filter_power,)
    weights = WEIGHTS if given.filter_weight is None else (given.filter_weight,)
    combinations = [Combination(*one) for one in product(dict.fromkeys(ranks), powers, weights)]
    values = ndcg_of(held, learned, combinations, Weights.of(resolved))
    trials, best = _judge(combinations, values[~held.together], values[held.together])
    progress(STAGE, 2, 2)
    facts = Selection(users=len(held.users), chosen=best, by_time=times is not None, trials=trials)
    return {**combinations[best]._asdict(), "learn_rank": resolved.learn_rank}, facts, learned.H


def _vectors(R: csr_array, rank: int, norms: tuple[float, float]) -> tuple[Values, Vector]:
    """V and its singular values; where there are many, to a low precision."""
    N, rank = normalised(R, *norms), min(rank, *R.shape)
    V, sigma = right_singular_vectors(N, rank) if is_small(N, rank) else rough_right_vectors(N, rank)
    V[np.bincount(R.indices, minlength=R.shape[1]) == 0] = 0
    return V.astype(np.float32, copy=False), sigma


def _learn(R: csr_array, V: Values, settings: Settings, plan: Plan) -> csr_array:
    """H given the filter with these directions, on the candidates, to a low precision."""
    order = Reordered.of(R, V)
    work = InMemory.of(order.X, order.permute(V), settings, order.items)
    generation = ColumnGeneration(work=work, settings=settings, plan=plan, progress=silent)
    count = plan.candidates if plan.solver == "sparse" else CANDIDATES
    return order.unpermute_matrix(generation.on(work.co_occurring(count)).H)


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


# --- NDCG@20 of many filters at once ---------------------------------------------------------------------------------

DEPTH = 20  # NDCG@20 compares
PILOT, PILOT_WEIGHTS = 80, (0.4, 1.2)  # best items of a user with a weak and a strong filter: what is reordered
BAND, BAND_BYTES = 64, 1 << 26  # users at a time, and bytes of their scores


def ndcg_of(held: HeldOut, learned: Learned, combinations: list[Combination], weights: Weights) -> Vector:
    """NDCG@20 of each user (rows) with each combination (columns)."""
    X, trials = held.train[held.users], _Trials(learned, combinations, weights)
    X.sort_indices()
    height = int(max(1, min(BAND, BAND_BYTES // 4 // X.shape[1])))
    values = np.zeros((X.shape[0], len(combinations)))
    for start in range(0, X.shape[0], height):
        rows = slice(start, min(start + height, X.shape[0]))
        values[rows] = trials.of(X[rows], held.targets[rows])
    return values


class _Trials:
    """What the combinations share: H and the factors of the filter with the degrees folded in."""

    def __init__(self, learned: Learned, combinations: list[Combination], weights: Weights) -> None:
        (d, V, sigma, H), t, s = learned, weights.item_norm, weights.filter_norm
        self.H = scaled(H, rows=power(d, -t), columns=power(d, t)).astype(np.float32)
        self.left = (V * power(d, -s)[:, None]).astype(np.float32)
        self.right = (V * (weights.filter_factor * power(d, s))[:, None]).astype(np.float32)
        self.combinations, self.rank = combinations, combinations[0].rank
        self.shapes = list(dict.fromkeys((one.rank, one.filter_power) for one in combinations))
        self.filters = np.stack([_shape(sigma, *shape) for shape in self.shapes], axis=1).astype(np.float32)

    def of(self, X: csr_array, targets: csr_array) -> Vector:
        """NDCG@20 of some histories (rows) with each combination (columns)."""
        with blas(size=min(self.left.shape)):
            of_users = X @ self.left
            flat = of_users[:, : self.rank] @ self.right[:, : self.rank].T
        h = np.zeros(flat.shape, dtype=np.float32)
        add_sparse_product(X, self.H, h)
        items = np.sort(np.concatenate([_best(flat, h, weight, X) for weight in PILOT_WEIGHTS], axis=1), axis=1)
        valid = (items >= 0) & (np.diff(items, axis=1, prepend=-1) > 0)  # each once
        items = np.where(valid, items, 0)
        g = np.matmul(self.right[items], of_users[:, :, None] * self.filters)
        h = np.where(valid, np.take_along_axis(h, items, axis=1), np.float32(-np.inf))
        gain = np.where(valid, np.take_along_axis(targets.toarray(), items, axis=1), 0)
        hits, ideal = np.nonzero(gain), _ideal(targets)
        values = np.zeros((X.shape[0], len(self.combinations)))
        for column, one in enumerate(self.combinations):
            shape = self.shapes.index((one.rank, one.filter_power))
            scores = h + np.float32(one.filter_weight) * g[:, :, shape]
            np.add.at(values[:, column], hits[0], _gains(scores, hits) * gain[hits])
        return values / ideal[:, None]


def _best(flat: Values, h: Values, weight: float, seen: csr_array) -> NDArray[np.int64]:
    """The best items that a user does not have, with this weight of the flat filter."""
    best = TopK(h.shape[0], min(PILOT, h.shape[1]), seen)
    best.add(h + np.float32(weight) * flat, 0)
    return best.columns


def _shape(sigma: Vector, rank: int, filter_power: float) -> Vector:
    """The weight of each direction; none beyond the rank."""
    weights = (sigma / sigma[0]) ** filter_power
    weights[rank:] = 0
    return np.asarray(weights / weights[:rank].mean())


def _gains(scores: Values, hits: tuple[Array, ...]) -> Vector:
    """What each hit adds to the DCG@20 of its user; only hits need a rank, so nothing is sorted."""
    row, column = hits
    rank = (scores[row] > scores[row, column][:, None]).sum(axis=1)
    return np.where(rank < DEPTH, 1 / np.log2(rank + 2), 0)


def _ideal(targets: csr_array) -> Vector:
    """The DCG@20 of lists that begin with the targets, those that weigh most first."""
    counts, discounts = np.diff(targets.indptr), 1 / np.log2(np.arange(2, DEPTH + 2))
    if values_unless_ones(targets) is None:
        return np.asarray(np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(counts, DEPTH)])
    order = np.lexsort((-targets.data, rows_of(targets)))
    position = np.arange(targets.nnz) - np.repeat(targets.indptr[:-1], counts)
    gains = np.where(position < DEPTH, targets.data[order] * discounts[np.minimum(position, DEPTH - 1)], 0)
    return np.asarray(np.bincount(rows_of(targets), weights=gains, minlength=targets.shape[0]), dtype=np.float64)
