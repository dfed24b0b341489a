"""How much memory and time a fit takes, stage by stage: counts times measured constants.

Memory is that of arrays that exist at the same time, in addition to the data; the constants account for copies that
libraries make. Seconds were measured on data of very different shapes on one machine; another one
is faster or slower by some factor for all stages alike. So they distinguish minutes from hours, and the faster of two
solvers. The number of candidate pairs is predicted from a sample of items, before any of them is made.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows, threads
from corml.linalg import admm, svd
from corml.linalg.co_occurrence import reached
from corml.linalg.normal import RANGES, WORTH
from corml.linalg.products import CHUNK, entry_of
from corml.linalg.sparse import Sides, Values, Vector, power, row_degrees
from corml.models.corml.sparse.pairs import COLUMNS, POPULARITY_EXPONENT, band_width
from corml.models.fitted import Settings

SAMPLE = 400  # items whose pairs are counted
PARTNERS = 4  # of each of these, checked whether the choice is mutual
MAX_WORK = 3e8  # additions that checking may take: about half a second
WINDOW = 20  # sampled items over which a share is averaged: single ones say little

Items = NDArray[np.int64]
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
    write: Callable[[int, Values], None]
    cost: Callable[[Items], Vector]

    @classmethod
    def of(cls, sides: Sides, loss: Vector | None = None) -> Self:
        """Rows of a matrix whose sides are at hand; `loss` is how much each user counts."""
        weights = np.ones(len(sides.users), np.float32) if loss is None else loss.astype(np.float32)
        ptr, users, values = sides.items
        cost = reached(sides).astype(np.float64)

        def write(item: int, row: Values) -> None:
            low, high = int(ptr[item]), int(ptr[item + 1])
            row[:] = 0
            add_users(users[low:high], None if values is None else values[low:high], sides.users, weights, row)

        return cls(np.maximum(sides.items.degrees.astype(np.float64), 1.0), write, lambda items: cost[items])

    @property
    def strength(self) -> Values:
        """By what shared users are multiplied where candidates are ranked."""
        return power(self.degrees, -POPULARITY_EXPONENT).astype(np.float32)

    def each(self, items: Items, read: Callable[[Values], T]) -> list[T]:
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


def _selected(row: Values, strength: Values, most: int) -> tuple[Items, Vector]:
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


def _threshold(row: Values, strength: Values, most: int) -> tuple[float, float]:
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
def add_users(users, strengths, rows, loss, row):  # type: ignore[no-untyped-def]
    """Add the histories of some users to a row; `strengths` are what the item of the row is to each of them."""
    ptr, cols, data = rows
    for at in range(len(users)):
        user = users[at]
        weight = loss[user] * entry_of(strengths, at)
        for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + np.uint32(1)])):
            row[cols[entry]] += weight * entry_of(data, entry)


# --- memory: bytes ---------------------------------------------------------------------------------------------------

SPARE = 1.06  # of what was counted: the allocator's own
AN_INTERACTION = 16  # copies of the data with weights and by item
A_PAIR_FOUND = 36  # for each pair, both ways, while candidates are gathered
A_PAIR_SOLVED, OF_A_THREAD = 43.5, 8  # for each pair, both ways, in the solver; and for each thread
A_PAIR_PRICED = 16  # for each pair, both ways, while the excluded ones are priced
AN_ENTRY = 8  # for each entry of a chunk of rows of the Gram matrix
SMALL_ARRAY, GAPS = 1 << 25, 14  # and for each pair: small arrays are not given back to the system, and leave gaps
SCRATCH_COLUMNS = 4096  # of the dense solver: bands and tiles in addition to its n × n arrays


def dense_bytes(X: csr_array, block: int, rank: int, item_size: int) -> int:
    """Peak of the dense solver with blocks of `block` items."""
    square = item_size * block * (admm.ARRAYS_ALIVE * block + min(SCRATCH_COLUMNS, 2 * block))
    return int(SPARE * max(svd.peak_bytes(X, rank), _kept(X, rank) + square))


def sparse_bytes(X: csr_array, pairs: int, rank: int, *, clip: bool) -> int:
    """Peak of the sparse solver; `pairs` are counted both ways."""
    n = X.shape[1]
    bands = 6 * sum(X.shape) * band_width(X) if clip else 8 * n * rank + 4 * sum(X.shape) * COLUMNS
    entries = min(CHUNK, n * n, int((row_degrees(X) ** 2).sum()))
    finding = A_PAIR_FOUND * pairs + max(AN_ENTRY * entries, 8 * n * rank + bands)
    solving = A_PAIR_SOLVED + OF_A_THREAD * min(threads(), RANGES) + (GAPS if 4 * pairs < SMALL_ARRAY else 0)
    pricing = A_PAIR_PRICED * pairs + (0 if clip else 16 * n * rank)
    return int(SPARE * max(svd.peak_bytes(X, rank), _kept(X, rank) + max(finding, solving * pairs, pricing)))


def pairs_that_fit(X: csr_array, rank: int, limit: int, *, clip: bool) -> int:
    """The largest number of pairs, counted both ways, whose peak stays below a limit."""
    numbers = range(int(X.shape[1]) ** 2 + 1)
    return max(0, bisect_right(numbers, limit, key=lambda pairs: sparse_bytes(X, pairs, rank, clip=clip)) - 1)


def _kept(X: csr_array, rank: int) -> int:
    """What stays from the filter to the end: V, and the data as the solver reads them."""
    return (svd.ALWAYS if X.nnz > svd.MANY else 0) + 4 * int(X.shape[1]) * rank + AN_INTERACTION * int(X.nnz)


# --- time: seconds ---------------------------------------------------------------------------------------------------

NS = 1e-9
A_GEMM = 1 / 40 * NS  # one operation of a matrix product
A_ROW = 0.3 * NS  # a number of a dense row that an interaction adds
A_VISIT = 5 * NS  # two items of one user, met while rows of the Gram matrix are made
A_NEW_PAIR, A_KEPT_PAIR, A_DOT = 25 * NS, 60 * NS, 0.25 * NS  # and one multiplication of the cross term
A_GATHER, A_PAIR_PASSED = 1.1 * NS, 20 * NS  # in each step of the solver
A_PRICE = 350 * NS  # of an excluded pair
A_PAIR_AFTER, AN_INTERACTION_READ = 35 * NS, 700 * NS  # in one thread: H put back in order; planning and reordering
SWEEPS = 2.3  # fillings of a basis until V has converged
STEPS, DENSE_STEPS = 11, 40  # that solvers usually take
TOGETHER = 0.85  # of the threads' time is work


class Size(NamedTuple):
    """How large interactions are, where no matrix of them is at hand."""

    shape: tuple[int, int]
    nnz: int
    visits: float  # the sum of the squares of the users' numbers of items

    @classmethod
    def of(cls, X: csr_array) -> "Size":
        """Of a matrix."""
        return cls(X.shape, int(X.nnz), float((row_degrees(X) ** 2).sum()))


class Seconds(NamedTuple):
    """Seconds of one thread: of what is not shared out, of our kernels, and of matrix products."""

    alone: float
    kernels: float
    products: float = 0.0

    def with_threads(self, count: int | None = None) -> float:
        """Seconds with this number of threads (default: all)."""
        count = threads() if count is None else count
        return self.alone + self.kernels / max(1.0, TOGETHER * count) + self.products / count


def dense_seconds(size: Size, rank: int, block: int, partition_ratio: float) -> Seconds:
    """V, and the dense solver on blocks of `block` items."""
    return Seconds(0.0, _filter(size, rank), A_GEMM * DENSE_STEPS * 2.0 * block**3 / partition_ratio)


def sparse_seconds(
    size: Size, rank: int, count: PairCount, every: int, *, keep_gram: bool, excluding: bool, clip: bool
) -> Seconds:
    """V, pairs, solver and, where some of the `every` co-occurring pairs are excluded, pricing."""
    (users, items), interactions, visits = size
    finding = A_VISIT * visits + A_NEW_PAIR * every + A_KEPT_PAIR * count.pairs
    factored = A_ROW * 2 * interactions * rank + A_DOT * count.pairs * rank
    cross = A_ROW * interactions * items if clip else factored
    if keep_gram:
        step = A_GATHER * count.squares
    elif items * (users + items) <= WORTH * count.pairs:
        step = A_ROW * interactions * items
    else:
        step = A_GATHER * count.work
    pricing = A_VISIT * visits + A_PRICE * max(every - count.pairs, 0) / 2 if excluding else 0.0
    alone = A_PAIR_AFTER * count.pairs + AN_INTERACTION_READ * interactions
    kernels = _filter(size, rank) + finding + cross + STEPS * (step + A_PAIR_PASSED * count.pairs) + pricing
    return Seconds(alone, kernels)


def _filter(size: Size, rank: int) -> float:
    """V, by one thread."""
    small, large = sorted(float(side) for side in size.shape)
    if svd.is_small_shape(size.shape, rank):
        return A_GEMM * 20 * small**2 * large
    basis = svd.basis_size(rank)
    multiplied = SWEEPS * basis  # vectors
    orthogonal = multiplied * 4 * small * 0.7 * basis + 2 * SWEEPS * small * basis * (rank + basis) / 2
    return A_ROW * 2 * size.nnz * multiplied + A_GEMM * orthogonal


# --- automatic filter selection, before the fit ----------------------------------------------------------------------

CANDIDATES = 200  # pairs of an item meanwhile, where the dense solver would take all
SHARE = 0.8  # of the seconds of a fit: measured 0.5 to 1 on data of very different shapes
SPARE_OF_SELECTION = 1.15
A_BAND, A_LIST = 7 * (1 << 26), 64 * 160  # bytes of scores, with copies, and items of lists that are compared at a time
A_PAIR_LEARNED, A_PAIR_COMPARED, A_PAIR_KEPT = 76, 36, 52  # bytes for each of its pairs, both ways


def selects_filter(settings: Settings) -> bool:
    """Whether a filter is selected on held-out items, if there are users enough."""
    return bool(settings.adapt and settings.filter == "factored")


def with_selection_bytes(X: csr_array, needed: int, pairs: int, rank: int, settings: Settings) -> int:
    """The peak of a fit that needs so much, or of the filter selection before it where that is higher.

    What the selection leaves for the fit is an H to begin from, and directions with and without their shape.
    """
    if not selects_filter(settings):
        return needed
    small, n = int(min(X.shape)), int(X.shape[1])
    filtering = 4 * small * (svd.basis_size(rank) + rank) + 8 * n * rank + 36 * int(X.nnz)
    if svd.is_small_shape(X.shape, rank):
        filtering = svd.dense_bytes(X.shape)
    comparing = 16 * n * rank + A_PAIR_COMPARED * pairs + min(A_BAND, 7 * 4 * 64 * n) + 8 * A_LIST * rank
    most = 30 * int(X.nnz) + max(filtering, 8 * n * rank + A_PAIR_LEARNED * pairs, comparing)
    return max(needed + A_PAIR_KEPT * pairs + 8 * n * rank, int(SPARE_OF_SELECTION * most))


def with_selection_seconds(seconds: float, settings: Settings) -> float:
    """The seconds of a fit with its filter selection."""
    return (1 + SHARE) * seconds if selects_filter(settings) else seconds
