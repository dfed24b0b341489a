"""How many candidates there will be, predicted from a sample of items, before any of them is kept."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import column_degrees, power, row_degrees
from corml.linalg.support import unsigned
from corml.method.sparse.candidates import TASTE
from corml.parallel import over_rows

__all__ = ["PairCount", "count_pairs"]

SAMPLE = 400  # items whose pairs are counted
PARTNERS = 4  # of each of these, asked whether the choice is mutual
MOST_WORK = 3e8  # additions that asking may take: about half a second

Vector = NDArray[np.float64]
Items = NDArray[np.int64]


@dataclass(frozen=True)
class PairCount:
    """How many pairs there will be (both ways), and how many multiplications a step of the solver over them takes."""

    pairs: int
    work: float  # of a step through the users
    squares: float  # of a step with A kept whole: the sum of squares of the items' numbers of pairs


def count_pairs(R: csr_array, *, loss: Vector | None = None, most: int | None = None) -> PairCount:
    """Predict the number of candidates from items spread evenly over their degrees.

    With `most` a pair is kept if it is among the strongest of either item. So each item brings its own choice twice,
    there and back, less those pairs of which the other item thinks alike: some partners are asked.
    """
    degrees = column_degrees(R)
    order = np.argsort(degrees, kind="stable")
    edges = np.unique(np.linspace(0, len(order), SAMPLE + 1).astype(np.int64))
    items = order[(edges[:-1] + edges[1:]) // 2]
    stands_for = np.diff(edges)
    rows = Rows.of(R, np.ones(R.shape[0]) if loss is None else loss)
    chosen = [rows.strongest(int(item), R.shape[1] if most is None else most) for item in items]
    own = np.array([len(others) for others, _ in chosen], dtype=np.float64)
    back, burden = np.zeros(len(items)), np.zeros(len(items))  # what comes back, and the degrees it comes back to
    if most is not None and own.max(initial=0) >= most:
        back, burden = _one_sided(rows, items, chosen, most, degrees)
    total = np.concatenate([[0.0], np.cumsum(degrees[order])])
    met = total[edges[1:]] - total[edges[:-1]]
    pairs = float(np.dot(own * (1 + back), stands_for))
    squares = float(np.dot((own * (1 + back)) ** 2, stands_for))
    return PairCount(int(pairs), 2.0 * float(np.dot(own, met) + np.dot(own * burden, stands_for)), squares)


def _one_sided(
    rows: "Rows", items: Items, chosen: list[tuple[Items, Vector]], most: int, degrees: Vector
) -> tuple[Vector, Vector]:
    """Of the partners each item chose: the share that did not choose it, and the mean of their degrees times that."""
    rng = np.random.default_rng(0)
    asked = [rng.choice(len(others), min(PARTNERS, len(others)), replace=False) for others, _ in chosen]
    place = np.repeat(np.arange(len(items)), [len(some) for some in asked])
    partner = np.concatenate([others[some] for (others, _), some in zip(chosen, asked, strict=True)])
    together = np.concatenate([values[some] for (_, values), some in zip(chosen, asked, strict=True)])
    shuffled = rng.permutation(len(place))
    affordable = shuffled[np.cumsum(rows.cost[partner[shuffled]]) <= MOST_WORK]
    affordable = affordable if len(affordable) else shuffled[:1]
    place, partner, together = place[affordable], partner[affordable], together[affordable]
    strengths, (bar, ties) = (together * rows.strength[items[place]]).astype(np.float32), rows.thresholds(partner, most)
    refused = np.where(strengths == bar, 1 - ties, (strengths < bar).astype(np.float64))
    return _smooth(place, refused, len(items)), _smooth(place, refused * degrees[partner], len(items))


def _smooth(place: Items, values: Vector, size: int, width: int = 20) -> Vector:
    """Mean of the values near each place: single ones say little."""
    sums = np.bincount(place, weights=values, minlength=size)
    counts = np.bincount(place, minlength=size).astype(np.float64)
    window = np.ones(min(width, size))
    known = np.convolve(counts, window, "same")
    overall = values.mean() if len(values) else 0.0
    near: Vector = np.where(known > 0, np.convolve(sums, window, "same") / np.maximum(known, 1), overall)
    return near


@dataclass(frozen=True)
class Rows:
    """Rows of the Gram matrix, made one at a time."""

    R: csr_array
    by_item: csr_array
    loss: NDArray[np.float32]
    strength: NDArray[np.float32]
    cost: Vector  # additions that make a row

    @classmethod
    def of(cls, R: csr_array, loss: Vector) -> "Rows":
        """Rows for these weights of users."""
        by_item = R.T.tocsr()
        cost = np.asarray(by_item @ row_degrees(R))
        return cls(R, by_item, loss.astype(np.float32), power(column_degrees(R), -TASTE).astype(np.float32), cost)

    def strongest(self, item: int, most: int) -> tuple[Items, Vector]:
        """The strongest others of an item, and what they have together."""
        row = np.zeros(self.R.shape[1], dtype=np.float32)
        self._add(np.array([item]), np.zeros((1, 2)), row, 0, 1)
        row[item] = 0
        others = np.nonzero(row)[0]
        if len(others) > most:
            weak = len(others) - most
            others = others[np.argpartition(row[others] * self.strength[others], weak)[weak:]]
        return others, row[others].astype(np.float64)

    def thresholds(self, items: Items, most: int) -> tuple[Vector, Vector]:
        """For each item the strength of the weakest it keeps, and which share of just that strength."""
        found = np.zeros((len(items), 2))

        def work(a: int, b: int) -> None:
            self._add(items, found, np.zeros(self.R.shape[1], dtype=np.float32), a, b, most)

        over_rows(work, len(items), smallest=8)
        return found[:, 0], found[:, 1]

    def _add(self, items: Items, found: Vector, row: NDArray[np.float32], a: int, b: int, most: int = 0) -> None:
        users, columns = (
            (self.by_item.indptr, unsigned(self.by_item.indices)),
            (self.R.indptr, unsigned(self.R.indices)),
        )
        _rows(*users, *columns, self.loss, self.strength, items, most, found, row, a, b)


@njit(cache=True, nogil=True)
def _rows(i_ptr, i_users, ptr, cols, loss, strength, items, most, found, row, start, stop):  # type: ignore[no-untyped-def]
    """Make rows one after the other; `row` holds the last."""
    for number in range(start, stop):
        item = items[number]
        row[:] = 0
        for at in range(i_ptr[item], i_ptr[item + 1]):
            user = i_users[at]
            weight = loss[user]
            for place in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
                row[cols[place]] += weight
        if most > 0:
            row[item] = 0
            strengths = (row * strength)[row > 0]
            if len(strengths) > most:
                bar = np.partition(strengths, len(strengths) - most)[len(strengths) - most]
                found[number, 0] = bar
                found[number, 1] = (most - (strengths > bar).sum()) / (strengths == bar).sum()
