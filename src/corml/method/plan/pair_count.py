"""How many candidates there will be, predicted from a sample of items before any of them is made."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.linalg.co_occurrence import reached
from corml.linalg.scaling import power
from corml.linalg.sides import Sides
from corml.method.sparse.candidates import POPULARITY_EXPONENT
from corml.parallel import over_rows

__all__ = ["PairCount", "Rows", "add_users", "count_pairs", "count_pairs_of"]

SAMPLE = 400  # items whose pairs are counted
PARTNERS = 4  # of each of these, checked whether the choice is mutual
MAX_WORK = 3e8  # additions that checking may take: about half a second

Vector = NDArray[np.float64]
Items = NDArray[np.int64]


@dataclass(frozen=True)
class PairCount:
    """How many pairs there will be (both ways), and how many multiplications a step of the solver over them takes."""

    pairs: int
    work: float  # of a step through the users
    squares: float  # of a step with A kept whole: the sum of squares of the items' numbers of pairs


def count_pairs(R: csr_array | Sides, *, loss: Vector | None = None, max_per_item: int | None = None) -> PairCount:
    """Predict the number of candidates from items spread evenly over their degrees.

    With `max_per_item` a pair is a candidate if either item selects it. So each selection of an item counts twice, for
    both directions, less the pairs that both items select: that is checked for some partners.
    """
    sides = R if isinstance(R, Sides) else Sides.of(R)
    degrees = np.maximum(sides.items.degrees.astype(np.float64), 1.0)
    rows = Rows.of(sides, degrees, np.ones(len(sides.users)) if loss is None else loss)
    return count_pairs_of(rows, degrees, max_per_item)


def count_pairs_of(rows: "Rows", degrees: Vector, max_per_item: int | None = None) -> PairCount:
    """The same for rows that are had in another way; `degrees` are those of items, one at least."""
    order = np.argsort(degrees, kind="stable")
    edges = np.unique(np.linspace(0, len(order), SAMPLE + 1).astype(np.int64))
    items = order[(edges[:-1] + edges[1:]) // 2]
    stands_for = np.diff(edges)
    one_sided, degree_sum = np.zeros(len(items)), np.zeros(len(items))
    if max_per_item is None:
        own = rows.count_each(items)
    else:
        selected = rows.select_each(items, max_per_item)
        own = np.array([len(partners) for partners, _ in selected], dtype=np.float64)
        if own.max(initial=0) >= max_per_item:
            one_sided, degree_sum = _one_sided(rows, items, selected, max_per_item, degrees)
    total = np.concatenate([[0.0], np.cumsum(degrees[order])])
    interactions = total[edges[1:]] - total[edges[:-1]]
    pairs = float(np.dot(own * (1 + one_sided), stands_for))
    squares = float(np.dot((own * (1 + one_sided)) ** 2, stands_for))
    return PairCount(int(pairs), 2.0 * float(np.dot(own, interactions) + np.dot(own * degree_sum, stands_for)), squares)


def _one_sided(
    rows: "Rows", items: Items, selected: list[tuple[Items, Vector]], max_per_item: int, degrees: Vector
) -> tuple[Vector, Vector]:
    """Of the partners an item selects: the share that does not select it, and the mean of their degrees times that."""
    rng = np.random.default_rng(0)
    checked = [rng.choice(len(partners), min(PARTNERS, len(partners)), replace=False) for partners, _ in selected]
    item = np.repeat(np.arange(len(items)), [len(some) for some in checked])
    partner = np.concatenate([partners[some] for (partners, _), some in zip(selected, checked, strict=True)])
    shared = np.concatenate([values[some] for (_, values), some in zip(selected, checked, strict=True)])
    shuffled = rng.permutation(len(item))
    affordable = shuffled[np.cumsum(rows.cost_of(partner[shuffled])) <= MAX_WORK]
    affordable = affordable if len(affordable) else shuffled[:1]
    item, partner, shared = item[affordable], partner[affordable], shared[affordable]
    strengths = (shared * rows.strength[items[item]]).astype(np.float32)
    threshold, ties = rows.thresholds(partner, max_per_item)
    refused = np.where(strengths == threshold, 1 - ties, (strengths < threshold).astype(np.float64))
    return _smooth(item, refused, len(items)), _smooth(item, refused * degrees[partner], len(items))


def _smooth(position: Items, values: Vector, size: int, width: int = 20) -> Vector:
    """Mean of the values near each position: single ones say little."""
    sums = np.bincount(position, weights=values, minlength=size)
    counts = np.bincount(position, minlength=size).astype(np.float64)
    window = np.ones(min(width, size))
    known = np.convolve(counts, window, "same")
    overall = values.mean() if len(values) else 0.0
    near: Vector = np.where(known > 0, np.convolve(sums, window, "same") / np.maximum(known, 1), overall)
    return near


class Rows(ABC):
    """Rows of the Gram matrix, made one at a time, for weights of users."""

    def __init__(self, degrees: Vector, loss: Vector) -> None:
        self.loss = loss.astype(np.float32)
        self.strength = power(degrees, -POPULARITY_EXPONENT).astype(np.float32)

    @staticmethod
    def of(sides: Sides, degrees: Vector, loss: Vector) -> "Rows":
        """Rows of a matrix whose sides are at hand."""
        return _RowsOfSides(sides, degrees, loss)

    @abstractmethod
    def cost_of(self, items: Items) -> Vector:
        """Additions that make the rows of these items."""

    @abstractmethod
    def make(self, item: int, row: NDArray[np.float32]) -> None:
        """Write one row over an array with a number for each item."""

    def count_each(self, items: Items) -> Vector:
        """How many items co-occur with each of these; who they are is not kept, as one may co-occur with all."""
        counts = np.zeros(len(items))

        def work(a: int, b: int) -> None:
            row = np.zeros(len(self.strength), dtype=np.float32)
            for number in range(a, b):
                self.make(int(items[number]), row)
                row[items[number]] = 0
                counts[number] = np.count_nonzero(row)

        over_rows(work, len(items), smallest=50)
        return counts

    def select_each(self, items: Items, max_per_item: int) -> list[tuple[Items, Vector]]:
        """The candidates of each of these items, in threads where that pays."""
        ranges: dict[int, list[tuple[Items, Vector]]] = {}

        def work(a: int, b: int) -> None:
            ranges[a] = [self.select(int(item), max_per_item) for item in items[a:b]]

        over_rows(work, len(items), smallest=50)
        return [one for start in sorted(ranges) for one in ranges[start]]

    def select(self, item: int, max_per_item: int) -> tuple[Items, Vector]:
        """The candidates of an item, and the users they share with it."""
        row = np.zeros(len(self.strength), dtype=np.float32)
        self.make(item, row)
        row[item] = 0
        partners = np.nonzero(row)[0]
        if len(partners) > max_per_item:
            weak = len(partners) - max_per_item
            partners = partners[np.argpartition(row[partners] * self.strength[partners], weak)[weak:]]
        return partners, row[partners].astype(np.float64)

    def thresholds(self, items: Items, max_per_item: int) -> tuple[Vector, Vector]:
        """The strength of the weakest partner each item selects, and which share of the ties at that strength."""
        limits = np.zeros((len(items), 2))

        def work(a: int, b: int) -> None:
            row = np.zeros(len(self.strength), dtype=np.float32)
            for number in range(a, b):
                self.make(items[number], row)
                row[items[number]] = 0
                strengths = (row * self.strength)[row > 0]
                weak = len(strengths) - max_per_item
                if weak > 0:
                    limit = np.partition(strengths, weak)[weak]
                    stronger, equal = (strengths > limit).sum(), (strengths == limit).sum()
                    limits[number] = limit, (max_per_item - stronger) / equal

        over_rows(work, len(items), smallest=8)
        return limits[:, 0], limits[:, 1]


class _RowsOfSides(Rows):
    def __init__(self, sides: Sides, degrees: Vector, loss: Vector) -> None:
        super().__init__(degrees, loss)
        self.sides, self.cost = sides, reached(sides).astype(np.float64)

    def cost_of(self, items: Items) -> Vector:
        return np.asarray(self.cost[items])

    def make(self, item: int, row: NDArray[np.float32]) -> None:
        (ptr, cols, data), (i_ptr, i_users, i_data) = self.sides
        low, high = int(i_ptr[item]), int(i_ptr[item + 1])
        row[:] = 0
        add_users(i_users[low:high], None if i_data is None else i_data[low:high], ptr, cols, data, self.loss, row)


@njit(cache=True, nogil=True)
def add_users(users, strengths, ptr, cols, data, loss, row) -> Any:  # type: ignore[no-untyped-def]
    """Add the histories of some users to a row; `strengths` are what the item of the row is to each of them."""
    for at in range(len(users)):
        user = users[at]
        weight = loss[user]
        if strengths is not None:
            weight *= strengths[at]
        for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + np.uint32(1)])):
            if data is None:
                row[cols[entry]] += weight
            else:
                row[cols[entry]] += weight * data[entry]
