"""What each change to the lists gains or loses, alone (run: python benchmarks/ablation.py [DATA …]).

A fifth of the items of up to 6,000 users is held out of the train part (seed 1): of half of them at random, of the
others items that belong together, as filter selection (adapt=True) does it with other users. The rest is fitted with
the fixed defaults, with each change, and with adapt=True. Compared by NDCG@20 and Recall@20 of each half, with the
standard error of the difference. No test part is opened. Writes results/corml/ablation-DATA.json and docs/ablation.md.

Changes that the library does not offer are made here from its parts: what they lose or gain is the reason.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from _machine import load_split, measured
from _public import movie_tweetings, train_part
from _record import begin, write
from numpy.typing import NDArray
from pages import write_tables
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

import corml
from corml._runtime.progress import silent
from corml._runtime.settings import values_of
from corml.linalg.products import add_sparse_product
from corml.linalg.sparse import column_degrees, filled, normalised, power, row_degrees, scaled
from corml.linalg.svd import right_singular_vectors, rough_right_vectors
from corml.linalg.topk import TopK
from corml.models.corml.hold_out import HeldOut, pick, related_first
from corml.models.corml.hold_out import held_out as split_off
from corml.models.corml.plan import make_plan
from corml.models.corml.sparse.column_generation import ColumnGeneration, InMemory
from corml.models.corml.sparse.pairs import Candidates
from corml.models.corml.sparse.solver import PairProblem
from corml.models.fitted import Settings

DATA: dict[str, Callable[[], corml.Interactions]] = {
    "movielens-small": lambda: load_split("movielens-small").train,
    "movietweetings": movie_tweetings,
    "pinterest": lambda: load_split("pinterest").train,
    "amazon-book": lambda: train_part("amazon-book"),
    "gowalla": lambda: train_part("gowalla"),
    "yelp2018": lambda: train_part("yelp2018"),
}
SEED, DEPTH, BAND, RANK, RELATED = 1, 20, 256, 512, 64
PARTS_TOL = 5e-4

Matrix = NDArray[Any]


def held_out(data: corml.Interactions) -> tuple[corml.Interactions, HeldOut]:
    """What stays, and what is held out of it."""
    X, times = data.matrix, data.times_by_row
    V = rough_right_vectors(normalised(X, 0.4, 0.4), min(RELATED, *X.shape))[0]
    picked = pick(X.indptr, related_first(X, V) if times is None else -times, seed=SEED)
    assert picked is not None
    held = split_off(X, picked)
    kept = data.where(filled(held.train, data.user, data.item))
    return kept, held


# --- the parts of a score --------------------------------------------------------------------------------------------


@dataclass
class Parts:
    """V, H and degrees of the data without the held-out pairs; H for any change of the settings or of its problem."""

    train: corml.Interactions

    def __post_init__(self) -> None:
        self.R, self.settings = self.train.matrix, Settings(values_of(corml.CoRML(tol=PARTS_TOL, adapt=False)))
        self.plan, self.d = make_plan(self.R, self.settings), column_degrees(self.R)
        self.rank = self.plan.rank
        self.V, self.sigma = right_singular_vectors(normalised(self.R, 0.4, 0.4), min(RANK, 2 * self.rank))
        self.V = self.V.astype(np.float32)
        self.solved: dict[str, csr_array] = {}

    def problem(self, rank: int | None = None, **changed: Any) -> tuple[PairProblem, ColumnGeneration]:
        """Problem H on the candidates."""
        settings = Settings({**self.plan.resolved(self.settings), **changed})
        work = InMemory.of(self.R, self.V[:, : rank or self.rank], settings)
        generation = ColumnGeneration(work=work, settings=settings, plan=self.plan, progress=silent)
        return work.problem(self.pairs, generation._cross_on(self.pairs)), generation

    @cached_property
    def pairs(self) -> Candidates:
        """The candidates, the same for every change."""
        work = InMemory.of(self.R, self.V[:, :0], Settings(self.plan.resolved(self.settings)))
        return work.co_occurring(self.plan.candidates)

    def learn(self, rank: int | None = None, **changed: Any) -> csr_array:
        """H on the candidates, beside the filter of a rank."""
        key = repr((rank, changed))
        if key not in self.solved:
            self.solved[key] = self.problem(rank, **changed)[1].on(self.pairs, self.solved.get(repr((None, {})))).H
        return self.solved[key]

    def signed(self) -> csr_array:
        """H with negative weights: the minimum without the bound, by conjugate gradients."""
        problem, _ = self.problem()
        size, root = len(problem.support), np.sqrt(problem.curvature())
        operator = LinearOperator((size, size), matvec=lambda x: problem.product((x / root).astype(np.float32)) / root)
        x, _ = cg(operator, problem.linear / root, rtol=1e-3, maxiter=60)
        return problem.support.matrix((x / root).astype(np.float32))

    def relaxed(self, xi: float) -> csr_array:
        """H beside a diagonal of ξ that is there while H is learned: its part of MH + HM goes to the linear term."""
        problem, generation = self.problem()
        weights = generation.weights
        A = self.pairs.weighted * problem.support.product_of(power(self.d, -weights.item_norm))
        own = 2 * weights.scale * xi * A
        object.__setattr__(problem, "linear", problem.linear - own.astype(np.float32))
        return generation._solve(problem, None, complete=self.pairs.complete).H

    def weights(self, H: csr_array, item_norm: float = 0.1) -> csr_array:
        """D^-t H D^t."""
        return scaled(H, rows=power(self.d, -item_norm), columns=power(self.d, item_norm)).astype(np.float32)

    def flat(self, rank: int) -> Matrix:
        """All directions alike."""
        return np.ones(rank, dtype=np.float32)

    def power(self, rank: int, exponent: float) -> Matrix:
        """Directions by a power of their singular values."""
        weights = (self.sigma[:rank] / self.sigma[0]) ** exponent
        return np.asarray(weights / weights.mean(), dtype=np.float32)

    def plateau(self, rank: int) -> Matrix:
        """min(1, (σ/σ_p)²) with p at five sixteenths of the rank."""
        weights = np.minimum(1, (self.sigma[:rank] / self.sigma[5 * rank // 16]) ** 2)
        return np.asarray(weights / weights.mean(), dtype=np.float32)


@dataclass(frozen=True)
class Variant:
    """Scores of histories: item weights and a filter with weights of its directions, and what is done to them then."""

    parts: Parts
    item_weights: csr_array
    directions: Matrix
    weight: float = 1.0
    mix: float = 0.75
    sharpening: float = 0.0
    two_steps: float = 0.0  # factor of the square of the item weights
    linear: float = 0.0  # factor of GF-CF's linear part
    item_weight: float = 0.0  # exponent of the item degree in the weight of G
    V: Matrix | None = None

    @cached_property
    def factors(self) -> tuple[Matrix, Matrix]:
        """The two factors of the filter's part."""
        d, V = self.parts.d, self.parts.V[:, : len(self.directions)] if self.V is None else self.V
        of_items = power(d, 0.4) * power(d / d.mean(), self.item_weight) * self.weight * (1 / self.mix - 1)
        return (V * power(d, -0.4)[:, None]).astype(np.float32), (V * self.directions * of_items[:, None]).astype(
            np.float32
        )

    @cached_property
    def smoothing(self) -> csr_array:
        """Ñ, whose ÑᵀÑ smooths scores."""
        return normalised(self.parts.R, 0.5, 0.5).astype(np.float32)

    def scores(self, X: csr_array) -> Matrix:
        """Of histories, for all items."""
        left, right = self.factors
        Y = np.zeros(X.shape, dtype=np.float32)
        add_sparse_product(X, self.item_weights, Y)
        if self.two_steps:
            Y += np.float32(self.two_steps) * np.asarray((self.item_weights.T @ Y.T).T)
        Y += (X @ left) @ right.T
        N = self.smoothing if self.sharpening or self.linear else None
        if self.linear:
            Y += np.float32(self.linear) * ((X.astype(np.float32) @ N.T) @ N).toarray()
        if self.sharpening:
            smooth = (N.T @ (N @ Y.T)).T
            Y += np.float32(self.sharpening) * (Y - np.asarray(smooth, dtype=np.float32))
        return Y


def variants(parts: Parts) -> Iterator[tuple[str, Variant]]:
    """Every change, alone; the first is none."""
    k, twice = parts.rank, min(RANK, 2 * parts.rank, parts.V.shape[1])
    W, flat, ridge = parts.weights(parts.learn()), parts.flat(min(k, parts.V.shape[1])), parts.plan.ridge

    def learned(*, item_norm: float = 0.1, rank: int | None = None, **changed: Any) -> csr_array:
        return parts.weights(parts.learn(rank, item_norm=item_norm, **changed), item_norm)

    yield "fixed defaults", Variant(parts, W, flat)
    yield "rank × 2", Variant(parts, W, parts.flat(twice))
    yield "rank ÷ 2", Variant(parts, W, parts.flat(max(1, k // 2)))
    for exponent in (0.5, 1.0):
        yield f"filter_power {exponent:g}", Variant(parts, W, parts.power(len(flat), exponent))
        yield f"rank × 2, filter_power {exponent:g}", Variant(parts, W, parts.power(twice, exponent))
    yield "rank × 2, plateau min(1, (σ/σ_p)²)", Variant(parts, W, parts.plateau(twice))
    for weight in (0.35, 0.5, 0.7, 1.4):
        yield f"filter_weight {weight:g}", Variant(parts, W, flat, weight=weight)
    yield "rank × 2, filter_weight 0.5", Variant(parts, W, parts.flat(twice), weight=0.5)
    yield "learn_rank = rank ÷ 4", Variant(parts, learned(rank=max(1, k // 4)), flat)
    yield "graph with (d + 10)^−0.4", Variant(parts, W, flat, V=_offset_vectors(parts, len(flat), 10.0))
    for c in (0.2, 0.5):
        yield f"sharpening, c = {c:g}", Variant(parts, W, flat, sharpening=c)
    for c in (0.1, 0.4):
        yield f"+ {c:g} × the linear part of GF-CF", Variant(parts, W, flat, linear=c)
    for c in (0.1, 0.3):
        yield f"H + {c:g} H²", Variant(parts, W, flat, two_steps=c)
    for exponent in (0.85, 1.2):
        yield f"entries of H to the power {exponent:g}", Variant(parts, _to_the_power(W, exponent), flat)
    for exponent in (-0.1, 0.1):
        yield f"weight of G × d^{exponent:g}", Variant(parts, W, flat, item_weight=exponent)
    yield "relaxed diagonal, ξ = 0.2", Variant(parts, parts.weights(parts.relaxed(0.2)), flat)
    yield "negative weights in H", Variant(parts, parts.weights(parts.signed()), flat)
    for mix in (0.6, 0.85):
        yield f"mix {mix:g}", Variant(parts, learned(mix=mix), flat, mix=mix)
    popular, novel = learned(item_norm=0.2), learned(item_norm=0.0)
    yield "item_norm 0", Variant(parts, novel, flat)
    yield "item_norm 0.2", Variant(parts, popular, flat)
    yield "item_norm 0.2, filter_weight 0.7", Variant(parts, popular, flat, weight=0.7)
    yield "mean of item_norm 0 and 0.2", Variant(parts, (popular + novel) / np.float32(2), flat)
    for l2 in (0.1, 1.0):
        yield f"l2 {l2:g}", Variant(parts, learned(l2=l2), flat)
    yield "l2 1, filter_weight 1.4", Variant(parts, learned(l2=1.0), flat, weight=1.4)
    yield "l2 1, mix 0.6", Variant(parts, learned(l2=1.0, mix=0.6), flat, mix=0.6)
    for scale in (0.4, 1.6):
        yield f"scale {scale:g}", Variant(parts, learned(scale=scale), flat)
    more, less = learned(ridge=2 * ridge), learned(ridge=ridge / 2)
    yield "ridge × 2", Variant(parts, more, flat)
    yield "ridge ÷ 2", Variant(parts, less, flat)
    yield "mean of ridge × 2 and ÷ 2", Variant(parts, (more + less) / np.float32(2), flat)


def _to_the_power(W: csr_array, exponent: float) -> csr_array:
    """Entries to a power, with the same sum."""
    raised = W.copy()
    raised.data = W.data**exponent
    raised.data *= W.data.sum() / raised.data.sum()
    return raised


def _offset_vectors(parts: Parts, rank: int, alpha: float) -> Matrix:
    """V of the graph whose item degrees have α added."""
    R = parts.R
    N = scaled(R, rows=power(row_degrees(R), -0.4), columns=power(parts.d + alpha, -0.4))
    return right_singular_vectors(N, rank)[0].astype(np.float32)


# --- figures ---------------------------------------------------------------------------------------------------------


def figures(scores: Callable[[csr_array], Matrix], X: csr_array, targets: csr_array) -> Matrix:
    """NDCG@20 and Recall@20 of each user."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    ideal, values = np.concatenate([[0.0], np.cumsum(discounts)]), np.zeros((X.shape[0], 2))
    for start in range(0, X.shape[0], BAND):
        rows = slice(start, min(start + BAND, X.shape[0]))
        best = TopK(rows.stop - start, min(DEPTH, X.shape[1]), X[rows])
        best.add(np.ascontiguousarray(scores(X[rows]), dtype=np.float32), 0)
        relevant, counts = targets[rows].toarray() > 0, np.diff(targets[rows].indptr)
        hits = np.take_along_axis(relevant, np.maximum(best.columns, 0), axis=1) & (best.columns >= 0)
        values[rows, 0] = hits @ discounts[: hits.shape[1]] / ideal[np.minimum(counts, DEPTH)]
        values[rows, 1] = hits.sum(axis=1) / counts
    return values


def compared(name: str, values: Matrix, base: Matrix, together: NDArray[np.bool_]) -> dict[str, Any]:
    """Means of either half, and the relative difference with its standard error."""
    record: dict[str, Any] = {"change": name}
    for half, rows in (("", ~together), ("related ", together)):
        for column, metric in enumerate(("ndcg@20", "recall@20")):
            difference, mean = values[rows, column] - base[rows, column], base[rows, column].mean()
            record[half + metric] = {
                "mean": round(float(values[rows, column].mean()), 5),
                "gain %": round(100 * float(difference.mean() / mean), 2),
                "standard error %": round(100 * float(difference.std(ddof=1) / np.sqrt(len(difference)) / mean), 2),
            }
    return record


def run(name: str) -> None:
    train, held = held_out(DATA[name]())
    begun = begin((f"{name}, pairs held out", corml.Split(train=train, test=train)), seed=SEED)
    X, parts, rows = train.matrix[held.users], Parts(train), []
    X.sort_indices()
    base: Matrix | None = None
    record: dict[str, Any] = {"data": name, "users": len(held.users), "rank": parts.rank, "changes": rows}
    for change, variant in variants(parts):
        values = figures(variant.scores, X, held.targets)
        base = values if base is None else base
        rows.append(compared(change, values, base, held.together))
        print(name, rows[-1], flush=True)
    assert base is not None
    fits: dict[str, Any] = {}
    for label, adapt in (("fixed", False), ("adapt", True)):
        fits[label] = {}
        with measured(fits[label]):
            model = corml.CoRML(adapt=adapt).fit(train)
        scores = lambda part, model=model: model.score_block(part, slice(0, X.shape[1]))  # noqa: E731
        fits[label]["values"] = figures(scores, X, held.targets)
    values = [fits[label].pop("values") for label in ("fixed", "adapt")]
    rows.append(compared("adapt=True, chosen by looking", values[1], values[0], held.together))
    record |= {"fits": fits, "chosen": model.fitted_.plan.report()}
    print(name, rows[-1], record["chosen"], flush=True)
    write(f"corml/ablation-{name}", begun, record)


if __name__ == "__main__":
    for data in sys.argv[1:] or DATA:
        run(data)
    write_tables()
