"""How many candidates there will be, predicted from a sample of items before any of them is made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows
from corml.linalg.co_occurrence import reached
from corml.linalg.scaling import power
from corml.linalg.sides import Sides
from corml.models.corml.sparse.candidates import POPULARITY_EXPONENT

__all__ = ["PairCount", "Rows", "add_users", "count_pairs"]

SAMPLE = 400  # items whose pairs are counted
PARTNERS = 4  # of each of these, checked whether the choice is mutual
MAX_WORK = 3e8  # additions that checking may take: about half a second
WINDOW = 20  # sampled items over which a share is averaged: single ones say little

Vector = NDArray[np.float64]
Items = NDArray[np.int64]
Row = NDArray[np.float32]
T = TypeVar("T")


@dataclass(frozen=True)
class PairCount:
    """How many pairs there will be (both ways), and how many multiplications a step of the solver over them takes."""

    pairs: int
    work: float  # of a step through the users
    squares: float  # of a step by rows of A: the sum of squares of the items' numbers of pairs


@dataclass(frozen=True)
class Rows:
    """Rows of the Gram matrix, written one at a time over an array with a number for each item.

    `degrees` are the users of items, one at least, and `cost` the additions that the rows of some items take.
    """

    degrees: Vector
    write: Callable[[int, Row], None]
    cost: Callable[[Items], Vector]

    @classmethod
    def of(cls, sides: Sides, loss: Vector | None = None) -> Self:
        """Rows of a matrix whose sides are at hand; `loss` is how much each user counts."""
        weights = np.ones(len(sides.users), np.float32) if loss is None else loss.astype(np.float32)
        ptr, users, values = sides.items
        cost = reached(sides).astype(np.float64)

        def write(item: int, row: Row) -> None:
            low, high = int(ptr[item]), int(ptr[item + 1])
            row[:] = 0
            add_users(users[low:high], None if values is None else values[low:high], *sides.users, weights, row)

        return cls(np.maximum(sides.items.degrees.astype(np.float64), 1.0), write, lambda items: cost[items])

    @property
    def strength(self) -> Row:
        """By what shared users are multiplied where candidates are ranked."""
        return power(self.degrees, -POPULARITY_EXPONENT).astype(np.float32)

    def each(self, items: Items, read: Callable[[Row], T]) -> list[T]:
        """What is read off the row of each item, without its own entry; the row is written over by the next."""
        answers: dict[int, T] = {}

        def work(a: int, b: int) -> None:
            row = np.zeros(len(self.degrees), dtype=np.float32)
            for number in range(a, b):
                self.write(int(items[number]), row)
                row[items[number]] = 0
                answers[number] = read(row)

        over_rows(work, len(items), smallest=16)
        return [answers[number] for number in range(len(items))]


def count_pairs(rows: Rows, max_per_item: int | None = None) -> PairCount:
    """Predict the number of candidates from items spread evenly over their degrees.

    With `max_per_item` a pair is a candidate if either item selects it. So each selection of an item counts twice, for
    both directions, less the pairs that both items select: that is checked for some partners.
    """
    degrees = rows.degrees
    order = np.argsort(degrees, kind="stable")
    edges = np.unique(np.linspace(0, len(order), SAMPLE + 1).astype(np.int64))
    items, stands_for = order[(edges[:-1] + edges[1:]) // 2], np.diff(edges)
    one_sided, degree_sum = np.zeros(len(items)), np.zeros(len(items))
    if max_per_item is None:
        own = np.array(rows.each(items, np.count_nonzero), dtype=np.float64)
    else:
        strength = rows.strength
        selected = rows.each(items, lambda row: _selected(row, strength, max_per_item))
        own = np.array([len(partners) for partners, _ in selected], dtype=np.float64)
        if own.max(initial=0) >= max_per_item:
            one_sided, degree_sum = _one_sided(rows, items, selected, max_per_item)
    total = np.concatenate([[0.0], np.cumsum(degrees[order])])
    interactions = total[edges[1:]] - total[edges[:-1]]
    partners = own * (1 + one_sided)
    work = 2.0 * float(np.dot(own, interactions) + np.dot(own * degree_sum, stands_for))
    return PairCount(int(np.dot(partners, stands_for)), work, float(np.dot(partners**2, stands_for)))


def _selected(row: Row, strength: Row, most: int) -> tuple[Items, Vector]:
    """The candidates of an item, and the users they share with it."""
    partners = np.nonzero(row)[0]
    if len(partners) > most:
        weak = len(partners) - most
        partners = partners[np.argpartition(row[partners] * strength[partners], weak)[weak:]]
    return partners, row[partners].astype(np.float64)


def _one_sided(
    rows: Rows, items: Items, selected: list[tuple[Items, Vector]], max_per_item: int
) -> tuple[Vector, Vector]:
    """Of the partners an item selects: the share that does not select it, and the mean of their degrees times that."""
    rng, strength = np.random.default_rng(0), rows.strength
    checked = [rng.choice(len(partners), min(PARTNERS, len(partners)), replace=False) for partners, _ in selected]
    item = np.repeat(np.arange(len(items)), [len(some) for some in checked])
    partner = np.concatenate([partners[some] for (partners, _), some in zip(selected, checked, strict=True)])
    shared = np.concatenate([values[some] for (_, values), some in zip(selected, checked, strict=True)])
    shuffled = rng.permutation(len(item))
    affordable = shuffled[np.cumsum(rows.cost(partner[shuffled])) <= MAX_WORK]
    affordable = affordable if len(affordable) else shuffled[:1]
    item, partner, shared = item[affordable], partner[affordable], shared[affordable]
    strengths = (shared * strength[items[item]]).astype(np.float32)
    limits = np.array(rows.each(partner, lambda row: _threshold(row, strength, max_per_item))).reshape(-1, 2)
    refused = np.where(strengths == limits[:, 0], 1 - limits[:, 1], (strengths < limits[:, 0]).astype(np.float64))
    return _smooth(item, refused, len(items)), _smooth(item, refused * rows.degrees[partner], len(items))


def _threshold(row: Row, strength: Row, most: int) -> tuple[float, float]:
    """The strength of the weakest partner that is selected, and the share of the ties at that strength."""
    strengths = (row * strength)[row > 0]
    weak = len(strengths) - most
    if weak <= 0:
        return 0.0, 0.0
    limit = np.partition(strengths, weak)[weak]
    stronger, equal = (strengths > limit).sum(), (strengths == limit).sum()
    return float(limit), float((most - stronger) / equal)


def _smooth(position: Items, values: Vector, size: int) -> Vector:
    """Mean of the values near each position."""
    sums = np.bincount(position, weights=values, minlength=size)
    counts = np.bincount(position, minlength=size).astype(np.float64)
    window = np.ones(min(WINDOW, size))
    near, overall = np.convolve(counts, window, "same"), values.mean() if len(values) else 0.0
    return np.asarray(np.where(near > 0, np.convolve(sums, window, "same") / np.maximum(near, 1), overall))


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
