"""How fast the kernels of a fit on a store are on this machine: each is run for a moment on made-up data.

Processor seconds for a unit of work, by one thread, with kernels that are compiled already. It takes some seconds, and
is done once in a process. The rate of making a store is not measured here: it is that of `benchmarks/store.py`.
"""

import hashlib
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg import lanczos
from corml.linalg.by_rows import product_rows
from corml.linalg.co_occurrence import reached, strongest_rows
from corml.linalg.conjugate import Conjugate
from corml.linalg.dense_normal import normal_product
from corml.linalg.normal import through_users
from corml.linalg.products import add_sparse_product
from corml.linalg.sides import Rows, Sides
from corml.linalg.support import Support
from corml.linalg.topk import TopK
from corml.method.out_of_core.pair_work import A_ROW_GATHER, A_VISIT
from corml.method.sparse.candidates import both_ways
from corml.method.sparse.cross_term import Factors, dot_rows
from corml.method.sparse.pricing import Prices, heads_of
from corml.method.sparse.problem import PairProblem, Values
from corml.method.sparse.solver import advance
from corml.parallel import blas
from corml.storage import unfinished

__all__ = ["ENCODED", "Rates", "measure_rates"]

ENCODED = 1.25e-6  # seconds a row: documented, 1.0 to 1.5 µs with benchmarks/store.py, not measured here
USERS, HISTORY, FEW_ITEMS = 20_000, 20, 400
FEWEST_ITEMS, MOST_ITEMS = 1 << 11, 1 << 14
WIDEST, MOST_ROWS = 1 << 20, 200_000  # items and users of a product with NᵀN
TALL, BASIS = 1 << 16, 384  # rows and columns of a basis of vectors
TOWN, LOYAL = 300, 0.9  # items of a neighbourhood, and the share of a history from it
PARTNERS, RANK, COLUMNS, LISTED = 200, 128, 16, 256
REPEATS = 2  # the fastest counts: others had to wait for the machine
BYTES = 1 << 23


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Seconds of one thread for a unit of work; the names are those of the work that stages count."""

    normal: float  # an interaction times a column, through the users and back
    visit_found: float  # an item of a user of an item, while candidates are found
    pair_found: float  # and a co-occurring pair
    visit_priced: float
    price: float  # a multiplication of the price of an excluded pair
    dot: float  # a multiplication of the cross term
    row_unit: float  # of a product by rows, in the units of `TaskProduct`
    user_gather: float  # of a product through users
    number_added: float  # to another, in arrays larger than caches
    pair_joined: float  # a candidate, put in order by the driver
    pair_stepped: float  # a candidate in a step of the solver, on the driver
    flop: float  # of a matrix product
    thin: float  # and of one of a tall matrix with a few columns, which waits for memory
    score_gather: float  # an entry of H that is added to the scores of a user
    score_ranked: float  # a score that is compared with the list so far
    byte_hashed: float
    byte_moved: float  # written to a file, and read again
    row_encoded: float = ENCODED


def measure_rates(items: int = MOST_ITEMS) -> Rates:
    """Measure them for a catalogue of about so many items: what a larger one is slower for is the memory it reads.

    That counts most where a row of a block of vectors is read for each interaction, anywhere in the block: 250,000
    items take several times as much as 16,000. So this kernel is timed on a block of the real size; the others, which
    take longer to prepare, on a smaller catalogue. The second call in a process gives what the first found.
    """
    sizes = (min(max(items, FEWEST_ITEMS), most) for most in (MOST_ITEMS, WIDEST))
    return _measured(*(2 ** round(math.log2(size)) for size in sizes))


@cache
def _measured(items: int, wide: int) -> Rates:
    rng = np.random.default_rng(0)
    with blas(1):
        sides = _sides(rng, items, items, loyal=LOYAL)
        support = _support(sides)
        return Rates(
            **_of_blocks(rng, wide),
            **_of_pairs(rng, items),
            **_of_products(rng, sides, support),
            **_of_driver(rng, support),
            **_of_lists(rng, support),
            **_of_files(),
        )


def _seconds(work: Callable[[], object]) -> float:
    """Processor seconds; the first call, which may compile, does not count."""
    work()
    took = []
    for _ in range(REPEATS):
        begun = time.process_time()
        work()
        took.append(time.process_time() - begun)
    return max(min(took), 1e-9)


def _sides(rng: np.random.Generator, items: int, users: int, *, loyal: float = 0.0) -> Sides:
    """A matrix of both sides."""
    return Sides.of(_interactions(rng, items, users, loyal=loyal))


def _interactions(rng: np.random.Generator, items: int, users: int, *, loyal: float = 0.0) -> csr_array:
    """Users with random items, a share `loyal` of them from a neighbourhood of the user: co-occurrence has clusters."""
    home = (items * rng.random((users, 1)) ** (2 if loyal else 1)).astype(np.int64)
    near = home + (TOWN * rng.random((users, HISTORY)) ** 3).astype(np.int64)
    anywhere = (items * rng.random(near.shape) ** (2 if loyal else 1)).astype(np.int64)
    columns = rng.permutation(items)[np.where(rng.random(near.shape) < loyal, near, anywhere) % items]
    starts = np.arange(0, columns.size + 1, HISTORY, dtype=np.int32)
    X = csr_array((np.ones(columns.size, np.float32), columns.ravel().astype(np.int32), starts), shape=(users, items))
    X.sum_duplicates()
    X.data[:] = 1
    return X


def _of_blocks(rng: np.random.Generator, items: int) -> dict[str, float]:
    """A product with as many interactions as it takes to come to most rows of a block."""
    rows = Rows.of(_interactions(rng, items, min(max(items, USERS // 4), MOST_ROWS), loyal=LOYAL))
    block, scales = rng.random((items, COLUMNS), dtype=np.float32), (np.ones(len(rows)), np.ones(items))
    took = _seconds(lambda: normal_product(rows, *scales, block, 0, len(rows), twice=True))
    basis = np.asfortranarray(rng.random((min(items, TALL), BASIS), dtype=np.float32))
    part = np.ascontiguousarray(block[: len(basis)])
    taken_off = _seconds(lambda: lanczos.taken_off(part.copy(), basis))
    return {"normal": took / (len(rows.indices) * COLUMNS), "thin": taken_off / (4 * part.size * BASIS)}


def _support(sides: Sides) -> Support:
    """The pairs that co-occur most."""
    n, ones = len(sides.items), np.ones(len(sides.users), np.float32)
    ranking = np.ones(n, np.float32), np.arange(n, dtype=np.int32)
    kept, values, sizes, _ = strongest_rows(sides, ones, ranking, PARTNERS, 0, n)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    gram = csr_array((values, kept, starts), shape=(n, n))
    gram.has_sorted_indices = True
    return Support.of(both_ways(gram))


def _of_pairs(rng: np.random.Generator, items: int) -> dict[str, float]:
    """Few items, whose pairs are met again and again, tell what a visit takes; many tell what a new pair takes."""
    again, visits, few = _found(_sides(rng, FEW_ITEMS, USERS))
    first, once, many = _found(_sides(rng, items, USERS // 2))
    visit = again / visits
    pair = max(first - visit * once, 0.1 * first) / max(many - few * once / visits, 1.0)
    return {"visit_found": visit, "pair_found": pair, **_priced(_sides(rng, items, USERS // 4), rng)}


def _found(sides: Sides) -> tuple[float, float, float]:
    """Seconds of finding candidates, visits, and pairs that co-occur."""
    n, ones = len(sides.items), np.ones(len(sides.users), np.float32)
    ranking = np.ones(n, np.float32), np.arange(n, dtype=np.int32)
    took = _seconds(lambda: strongest_rows(sides, ones, ranking, 100, 0, n))
    return took, _visits(sides), float(strongest_rows(sides, ones, ranking, n, 0, n).sizes.sum())


def _priced(sides: Sides, rng: np.random.Generator) -> dict[str, float]:
    """Pricing without a filter, and with one where every excluded pair takes its whole product."""
    n = len(sides.items)
    without, with_filter = (_prices(sides, rng, rank) for rank in (0, RANK))
    bare, whole = (_seconds(lambda prices=prices: prices.rows(0, n)) for prices in (without, with_filter))  # type: ignore[misc]
    pairs = float(without.rows(0, n).sums[:, 0].sum())
    return {"visit_priced": bare / _visits(sides), "price": max(whole - bare, 0.1 * bare) / (2 * RANK * pairs)}


def _visits(sides: Sides) -> float:
    return float((sides.users.degrees**2).sum())


def _prices(sides: Sides, rng: np.random.Generator, rank: int) -> Prices:
    users, n = sides.shape
    ones, d = np.ones(users, np.float32), np.maximum(sides.items.degrees, 1).astype(np.float32)
    left, right = (rng.random((n, rank), dtype=np.float32) for _ in range(2))
    factors = Factors(left, right, np.zeros(n, np.float32))
    parts = np.hstack([factors.left, factors.right]), factors.own, heads_of(factors)
    constants = np.array([0.0, 0.8, 0.3, 1.0], dtype=np.float32)
    nothing = csr_array((n, n), dtype=np.float32)
    return Prices(sides, nothing, (np.ones(n, np.float32), ones, ones, d), True, parts, constants, 0)


def _of_products(rng: np.random.Generator, sides: Sides, support: Support) -> dict[str, float]:
    users, n, ones = sides.users, len(sides.items), np.ones(len(sides.users), np.float32)
    p, factor = np.ones(n, np.float32), rng.random((n, RANK), dtype=np.float32)
    few = n // 8  # rows that are multiplied by rows
    x = rng.random(len(support), dtype=np.float32)
    partners = np.diff(support.indptr).astype(np.float64)
    squares = sum(float(partners[support.indices[a:b]].sum()) for a, b in [support.indptr[[0, few]]])
    row_units = A_VISIT * float(reached(sides)[:few].sum()) + A_ROW_GATHER * squares
    gathers = 2 * float(np.dot(partners, sides.items.degrees))
    out, last = np.zeros_like(x), min(len(users), USERS // 4)
    share = float(users.degrees[:last].sum()) / sides.nnz
    return {
        "dot": _seconds(lambda: dot_rows(support, factor, factor, out, 0, n)) / (RANK * len(support)),
        "row_unit": _seconds(lambda: product_rows(sides, p, ones, support, x, out, 0, few)) / row_units,
        "user_gather": _seconds(lambda: through_users(users, p, ones, support, x, out, 0, last)) / (share * gathers),
    }


class _Nothing:
    """A product that takes no time: what is left of a step is the driver's."""

    def __init__(self, support: Support) -> None:
        self.zeros, self.items = np.zeros((1, len(support)), dtype=np.float32), support.items

    def one_way(self, _: Values) -> Values:
        return self.zeros

    def diagonal(self) -> NDArray[np.float64]:
        return np.ones(self.items)


def _of_driver(rng: np.random.Generator, support: Support) -> dict[str, float]:
    values = rng.random(len(support), dtype=np.float32)
    linear = values + values[support.twin]
    problem = PairProblem(
        support=support, normal=_Nothing(support), scale=1.0, ridge=np.ones(support.items), linear=linear
    )
    at = Conjugate(support, problem.item_curvature(), np.zeros_like(linear), -linear)
    gram = support.matrix(values, zeros=True)
    return {
        "number_added": _seconds(lambda: np.add(values, linear, out=values)) / len(support),
        "pair_joined": _seconds(lambda: Support.of(both_ways(gram))) / len(support),
        "pair_stepped": _seconds(lambda: advance(problem, at)) / len(support),
    }


def _of_lists(rng: np.random.Generator, support: Support) -> dict[str, float]:
    histories = _sides(rng, support.items, LISTED, loyal=LOYAL).users
    X = csr_array(
        (np.ones(len(histories.indices), np.float32), histories.indices.view(np.int32), histories.indptr),
        shape=(LISTED, support.items),
    )
    H = support.matrix(np.ones(len(support), np.float32), zeros=True)
    left, right = (rng.random((rows, 2 * RANK), dtype=np.float32) for rows in X.shape)
    scores = left @ right.T
    gathers = float(np.diff(H.indptr)[X.indices].sum())
    return {
        "flop": _seconds(lambda: left @ right.T) / (2 * scores.size * left.shape[1]),
        "score_gather": _seconds(lambda: add_sparse_product(X, H, scores)) / gathers,
        "score_ranked": _seconds(lambda: TopK(LISTED, 20, X).add(scores, 0)) / scores.size,
    }


def _of_files() -> dict[str, float]:
    data = np.ones(BYTES // 4, dtype=np.float32)

    def there_and_back(path: Path) -> Any:
        np.save(path, data)
        return np.load(path, mmap_mode="c").sum()

    with tempfile.TemporaryDirectory() as folder, unfinished.listed(Path(folder)):
        moved = _seconds(lambda: there_and_back(Path(folder) / "moved.npy")) / BYTES
    return {"byte_hashed": _seconds(lambda: hashlib.sha256(data.data).digest()) / BYTES, "byte_moved": moved}
