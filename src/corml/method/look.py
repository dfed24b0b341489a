"""Choose by looking: which filter suits these data, from held-out items of some of their users.

The best filter differs from data to data more than anything else of the model: how many directions, how its weight
falls with their singular values, how much it counts beside H, and beside how many directions H is learned. All but the
last change scores only. So some items of a sample of users are held out, H is learned once or twice on the rest, to a
low precision, and all combinations are compared on each user's best items. Seeded: equal data give equal choices.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.fitted import Settings
from corml.linalg.lanczos import right_vectors
from corml.linalg.products import add_sparse_product
from corml.linalg.scaling import column_degrees, normalised, power, row_degrees, rows_of
from corml.linalg.svd import is_small, right_singular_vectors
from corml.method.plan.plan import Look, Plan, Trial
from corml.method.problem import UserWeights, Weights
from corml.method.scoring import Scoring
from corml.method.sparse.candidates import co_occurring
from corml.method.sparse.column_generation import ColumnGeneration
from corml.method.sparse.reorder import Reordered
from corml.progress import Progress, silent
from corml.topn import Lists, top_k

__all__ = ["HeldOut", "hold_out", "look"]

SEED = 0
USERS = 4000  # looked at, at most
FEWEST = 200  # users with enough items, below which chance would choose
LEAST_ITEMS = 3  # of a user
SHARE = 0.2  # of the items of such a user are held out
DEPTH = 20  # NDCG@20 compares
PILOT, PILOT_WEIGHTS = 80, (0.7, 0.5)  # best items of a user in one ranking for each H: what combinations reorder
CANDIDATES, TOLERANCE, LOOSE = 100, 5e-3, 0.1  # of H and of V here
POWERS, WEIGHTS = (0.0, 0.5, 1.0), (1.0, 0.25, 0.35, 0.5, 0.7, 1.4)  # the fixed defaults come first
LARGEST_RANK = 512
BAND = 64  # users at a time

Matrix = NDArray[np.float32]


class HeldOut(NamedTuple):
    """The data without the held-out pairs, the users looked at, and their held-out items, one row each."""

    train: csr_array
    users: NDArray[np.int64]
    targets: csr_array


class Combination(NamedTuple):
    """One filter to compare."""

    rank: int
    learn_rank: int
    filter_power: float
    filter_weight: float


def look(
    X: csr_array, *, given: Settings, plan: Plan, progress: Progress
) -> tuple[dict[str, Any], Look, csr_array] | None:
    """The settings chosen among those left to the data, all trials, and an H to begin from; None for too few users."""
    held = hold_out(X)
    if held is None:
        return None
    progress("look", 0, 2)
    V, sigma = _vectors(held.train, max(_ranks(plan, given)), (given.graph_user_norm, given.graph_item_norm))
    ranks = sorted({min(rank, V.shape[1]) for rank in _ranks(plan, given)})
    learned = _learn_ranks(min(plan.rank, V.shape[1]), given)
    matrices = _learn(held.train, V, learned, given, plan)
    progress("look", 1, 2)
    default = min(plan.rank, V.shape[1])
    ranks.sort(key=lambda rank: rank != default)
    powers, weights = _left(given.filter_power, POWERS), _left(given.filter_weight, WEIGHTS)
    combinations = [Combination(r, n, p, w) for n, r, p, w in product(learned, ranks, powers, weights)]
    values = _compare(held, V, sigma, matrices, combinations, plan.resolved(given))
    progress("look", 2, 2)
    trials, best = _judge(combinations, values)
    chosen = combinations[best]._asdict()
    return chosen, Look(users=len(held.users), chosen=best, trials=trials), matrices[combinations[best].learn_rank]


def hold_out(X: csr_array) -> HeldOut | None:
    """Hold out a fifth of the items, at least one, of a sample of the users that have three; None if they are few."""
    rng, degrees = np.random.default_rng(SEED), np.diff(X.indptr)
    eligible = np.flatnonzero(degrees >= LEAST_ITEMS)
    if len(eligible) < FEWEST:
        return None
    users = np.sort(rng.choice(eligible, min(USERS, len(eligible)), replace=False))
    count = np.zeros(X.shape[0], dtype=np.int64)
    count[users] = np.maximum(1, np.rint(SHARE * degrees[users]))
    order = np.lexsort((rng.random(X.nnz), rows_of(X)))  # the items of each user in a random order
    position = np.empty(X.nnz, dtype=np.int64)
    position[order] = np.arange(X.nnz) - np.repeat(X.indptr[:-1], degrees)
    out = position < count[rows_of(X)]
    return HeldOut(_only(X, ~out), users, _only(X, out)[users])


def _only(X: csr_array, kept: NDArray[np.bool_]) -> csr_array:
    sizes = np.bincount(rows_of(X)[kept], minlength=X.shape[0])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(X.indptr.dtype)
    part = csr_array((X.data[kept], X.indices[kept], indptr), shape=X.shape)
    part.has_sorted_indices = X.has_sorted_indices
    return part


def _ranks(plan: Plan, given: Mapping[str, Any]) -> tuple[int, ...]:
    return (plan.rank,) if given["rank"] is not None else (plan.rank, max(plan.rank, min(2 * plan.rank, LARGEST_RANK)))


def _learn_ranks(rank: int, given: Mapping[str, Any]) -> tuple[int, ...]:
    if given["learn_rank"] is not None:
        return (min(given["learn_rank"], rank),)
    return tuple(dict.fromkeys((rank, max(1, rank // 4))))


def _left(value: float | None, choices: tuple[float, ...]) -> tuple[float, ...]:
    return choices if value is None else (value,)


def _vectors(R: csr_array, rank: int, norms: tuple[float, float]) -> tuple[Matrix, NDArray[np.float64]]:
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


# --- comparing -------------------------------------------------------------------------------------------------------


class _Pilot(NamedTuple):
    """A ranking in which the best items of each user are found."""

    scoring: Scoring

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        return self.scoring.block_shape(X)

    def represent(self, X: csr_array, users: NDArray[np.int64] | None) -> csr_array:
        return X

    def best(self, users: csr_array, k: int, seen: csr_array | None, allowed: csr_array | None) -> Lists | None:
        return self.scoring.best(users, k, seen, allowed)

    def score_block(self, users: csr_array, columns: slice) -> Matrix:
        return self.scoring.block(users, columns)


def _compare(
    held: HeldOut,
    V: Matrix,
    sigma: NDArray[np.float64],
    matrices: Mapping[int, csr_array],
    combinations: list[Combination],
    settings: Settings,
) -> NDArray[np.float64]:
    """NDCG@20 of each user (rows) with each combination (columns)."""
    X, d, weights = held.train[held.users], column_degrees(held.train), Weights.of(settings)
    X.sort_indices()
    filtered = V[:, : combinations[0].rank]
    scorings = {
        n: Scoring.of(H, filtered, d, replace(weights, filter_weight=weight), "factored")
        for (n, H), weight in zip(matrices.items(), PILOT_WEIGHTS, strict=False)
    }
    lists = [top_k(_Pilot(one), X, min(PILOT, X.shape[1]), seen=X)[0] for one in scorings.values()]
    shapes = list(dict.fromkeys((one.rank, one.filter_power) for one in combinations))
    filters = np.stack([_shape(sigma, *shape) for shape in shapes], axis=1).astype(np.float32)
    values = np.zeros((len(held.users), len(combinations)))
    for rows in _bands(len(held.users)):
        items = np.sort(np.concatenate([part[rows] for part in lists], axis=1), axis=1)
        valid = (items >= 0) & (np.diff(items, axis=1, prepend=-1) > 0)  # each once
        items = np.where(valid, items, 0)
        users, relevant = X[rows], held.targets[rows].toarray() > 0
        hits = np.take_along_axis(relevant, items, axis=1) & valid
        ideal = _ideal(row_degrees(held.targets[rows]))
        P = users @ (V * power(d, -weights.filter_norm)[:, None].astype(np.float32))
        g = np.matmul(V[items], P[:, :, None] * filters) * (weights.filter_factor * power(d, weights.filter_norm))[
            items
        ][:, :, None].astype(np.float32)
        for learn_rank, scoring in scorings.items():
            h = np.zeros((len(items), X.shape[1]), dtype=np.float32)
            add_sparse_product(users, scoring.H_scaled, h)
            h = np.take_along_axis(h, items, axis=1)
            for at, one in enumerate(combinations):
                if one.learn_rank == learn_rank:
                    y = h + np.float32(one.filter_weight) * g[:, :, shapes.index((one.rank, one.filter_power))]
                    values[rows, at] = _ndcg(np.where(valid, y, -np.inf), hits, ideal)
    return values


def _bands(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + BAND, rows)) for start in range(0, rows, BAND))


def _shape(sigma: NDArray[np.float64], rank: int, filter_power: float) -> NDArray[np.float64]:
    """The weight of each direction; none beyond the rank."""
    weights = (sigma / sigma[0]) ** filter_power
    weights[rank:] = 0
    return np.asarray(weights / weights[:rank].mean())


def _ndcg(scores: Matrix, hits: NDArray[np.bool_], ideal: NDArray[np.float64]) -> NDArray[np.float64]:
    best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    gains = np.take_along_axis(hits, best, axis=1) / np.log2(np.arange(2, best.shape[1] + 2))
    return np.asarray(gains.sum(axis=1) / ideal)


def _ideal(targets: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, DEPTH + 2)))])
    return np.asarray(sums[np.minimum(targets.astype(np.int64), DEPTH)])


def _judge(combinations: list[Combination], values: NDArray[np.float64]) -> tuple[tuple[Trial, ...], int]:
    """Every trial, and the one whose gain over the first, less its standard error, is largest."""
    gains = values - values[:, :1]
    mean, error = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    trials = tuple(
        Trial(**one._asdict(), ndcg=float(value), gain=float(gain), error=float(e))
        for one, value, gain, e in zip(combinations, values.mean(axis=0), mean, error, strict=True)
    )
    return trials, int(np.argmax(mean - error))
