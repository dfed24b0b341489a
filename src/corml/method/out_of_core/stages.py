"""The stages of a fit on a store, and lists for everybody: tasks, work, bytes and memory of each, before any of it.

Work is counted in the units whose rates `rates.py` measures. How often a stage multiplies is not known before: the
counts below are what fits took (`benchmarks/plan.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from corml.linalg import lanczos
from corml.linalg.dense_normal import FEWEST, shares_of
from corml.linalg.svd import is_small_shape
from corml.method.hold_out import USERS as LOOKED_AT
from corml.method.look import RELATED
from corml.method.out_of_core import cuts
from corml.method.out_of_core.counts import Counts
from corml.method.out_of_core.pair_work import A_ROW_GATHER, A_USER_GATHER, A_VISIT
from corml.method.out_of_core.plan import A_PAIR_FOUND, A_PAIR_SOLVED, A_USER, ALWAYS, AN_ITEM
from corml.method.plan.look_cost import A_PAIR_COMPARED
from corml.method.sparse.cross_term import COLUMNS

__all__ = ["LISTS", "STORE", "Stage", "fit_stages", "list_stage", "store_stage"]

SWEEPS, ROUGH_SWEEPS = 3.6, 1.9  # fillings of a basis: columns multiplied until V has converged, and until it serves
PRODUCTS, LOOK_PRODUCTS = 9, 7  # of a solve
SAMPLED = 2400  # rows of the Gram matrix that are made to predict the pairs
TRIALS = 60  # filters that are compared in a look
ROW_BYTES, LIST_BYTES = 29, 123  # of a row of Parquet, and of what is written for a user
A_PART = 50_000  # users of a part of the lists
STORE, LISTS = "read and encode", "lists for everybody"
OWN_THREADS = 0  # as many as the worker has


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage: `runs` rounds of `tasks` tasks, of which the driver waits for all before it goes on.

    `work` is that of all tasks together, `driver` what the driver does itself, in units of `Rates`. Bytes are read from
    the matrix, given to each node, and written as results.
    """

    name: str
    kernel: str = ""
    runs: int = 1
    tasks: int = 1
    work: Mapping[str, float] = field(default_factory=dict)
    driver: Mapping[str, float] = field(default_factory=dict)
    read: float = 0.0
    given: float = 0.0
    results: float = 0.0
    driver_bytes: float = 0.0
    worker_bytes: float = 0.0  # and for each thread:
    thread_bytes: float = 0.0
    threads: int = OWN_THREADS  # that a task can use
    beside: bool = False  # on one machine, tasks run beside each other

    @property
    def all_tasks(self) -> int:
        """Tasks of all rounds."""
        return self.runs * self.tasks


def fit_stages(c: Counts, *, look: bool) -> list[Stage]:
    """All stages of a fit, in their order."""
    stages = [_matrix(c), _plan(c)]
    if look:
        stages += [] if c.timed else [_vectors(c, RELATED, ROUGH_SWEEPS, "look: V to hold out")]
        stages += [
            _vectors(c, c.rank, ROUGH_SWEEPS, "look: V"),
            _candidates(c, "look: candidates"),
            *_cross_term(c, "look: "),
            _solve(c, LOOK_PRODUCTS, "look: solve"),
            _trials(c),
        ]
    stages += [_vectors(c, c.rank, SWEEPS, "V"), _candidates(c, "candidates"), *_cross_term(c, "")]
    if not c.alike:
        stages.append(_weights(c))
    stages.append(_solve(c, PRODUCTS, "solve"))
    return [*stages, _pricing(c)] if c.candidates is not None and c.every > c.pairs else stages


def store_stage(c: Counts) -> Stage:
    """Making the store: one process, whatever there is."""
    work = {"row_encoded": float(c.interactions)}
    size = 8.0 * c.interactions + 8 * (c.users + c.items)
    return Stage(name=STORE, work=work, read=ROW_BYTES * c.interactions, results=size, worker_bytes=1 << 30, threads=1)


def list_stage(c: Counts) -> Stage:
    """Lists for everybody: every item is scored, which is the most that it can take."""
    scores = float(c.users) * c.items
    work = {"flop": 2 * scores * c.rank, "score_gather": c.gathers / 2, "score_ranked": scores}
    model = 8.0 * c.pairs + 8.0 * c.items * c.rank
    return Stage(
        name=LISTS,
        tasks=max(1, -(-c.users // A_PART)),
        work=work,
        read=4.0 * c.interactions,
        given=model,
        results=float(LIST_BYTES) * c.users,
        driver_bytes=ALWAYS,
        worker_bytes=ALWAYS + model + A_PART * 1500,
        thread_bytes=1 << 26,
    )


# --- one at a time ---------------------------------------------------------------------------------------------------


def _held(c: Counts) -> float:
    """What the driver holds in every stage."""
    return float(ALWAYS + A_USER * c.users + AN_ITEM * c.items)


def _matrix(c: Counts) -> Stage:
    size = c.matrix_bytes
    work = {"byte_hashed": 2 * size, "byte_moved": size}
    return Stage(
        name="matrix", kernel="join_parts", work=work, read=size, results=size, driver_bytes=ALWAYS,
        worker_bytes=ALWAYS, threads=1,
    )  # fmt: skip


def _plan(c: Counts) -> Stage:
    rows = min(SAMPLED, 3 * c.items)
    made = {"visit_found": c.visits * rows / c.items + c.interactions, "number_added": 20.0 * rows * c.items}
    return Stage(name="plan", runs=0, tasks=0, driver=made, driver_bytes=_held(c) + 40 * c.items)


def _vectors(c: Counts, rank: int, sweeps: float, name: str) -> Stage:
    rank = min(rank, c.users, c.items)
    basis, n = lanczos.basis_size(rank), min(c.users, c.items)
    if is_small_shape((c.users, c.items), rank):
        columns, flops, held = n, 10.0 * n**3, 16.0 * n * n
    else:
        columns = int(sweeps * basis)
        flops, held = 4.0 * n * columns * 0.7 * basis + 3 * 2.0 * n * basis * rank, 4.0 * n * (2 * basis + rank)
    runs = max(1, round(columns / lanczos.BLOCK))
    return _normal(c, name, runs, lanczos.BLOCK, size=n, flops=flops, held=held)


def _normal(c: Counts, name: str, runs: int, width: int, *, size: int, flops: float = 0.0, held: float = 0.0) -> Stage:
    """Products of NᵀN with blocks of vectors of so many numbers each."""
    tasks = c.user_ranges if size == c.items else cuts.count(c.interactions, cuts.PAIRS, c.items)
    numbers, shares = float(size * width), shares_of(c.interactions / tasks)
    summed = runs * tasks * numbers
    return Stage(
        name=name,
        kernel="product",
        runs=runs,
        tasks=tasks,
        work={
            "normal": runs * width * float(c.interactions),
            "number_added": summed,
            "byte_moved": 4 * summed,
        },
        driver={"thin": flops, "number_added": summed, "byte_moved": 4 * runs * numbers},
        read=runs * 4.0 * c.interactions,
        given=runs * 4 * numbers,
        results=4 * summed,
        driver_bytes=_held(c) + max(held, 12 * numbers),
        worker_bytes=ALWAYS + 4 * (1 + shares) * numbers,
        threads=shares * max(1, width // FEWEST),
    )


def _candidates(c: Counts, name: str) -> Stage:
    tasks, results = cuts.count(c.visits, cuts.VISITS, c.items), 8.0 * c.selected + 8 * c.items
    support = 4.0 * c.pairs
    return Stage(
        name=name,
        kernel="strongest",
        tasks=tasks,
        work={"visit_found": c.visits, "pair_found": c.every, "byte_hashed": results, "byte_moved": results},
        driver={"pair_joined": c.pairs, "byte_hashed": 3 * support, "byte_moved": support},
        read=4.0 * c.interactions + 4 * c.visits,
        given=4.0 * (c.users + c.items),
        results=results,
        driver_bytes=_held(c) + A_PAIR_FOUND * c.pairs,
        worker_bytes=ALWAYS + 2 * results / tasks,
        thread_bytes=25.0 * c.items,
    )


def _cross_term(c: Counts, look: str) -> list[Stage]:
    runs = -(-c.rank // COLUMNS)
    left = _normal(
        c, f"{look}cross term, factors", runs, min(COLUMNS, c.rank), size=c.items, held=12.0 * c.items * c.rank
    )
    return [left, _dots(c, f"{look}cross term, pairs")]


def _dots(c: Counts, name: str) -> Stage:
    tasks, values, factors = cuts.count(c.visits + c.pairs, cuts.VISITS, c.items), 4.0 * c.pairs, 8.0 * c.items * c.rank
    return Stage(
        name=name,
        kernel="dots",
        tasks=tasks,
        work={"dot": c.pairs * c.rank, "byte_hashed": values, "byte_moved": values},
        driver={"number_added": 20 * c.pairs, "byte_hashed": values + 2 * factors, "byte_moved": values + factors},
        read=0.0,
        given=values + factors,
        results=values,
        driver_bytes=_held(c) + A_PAIR_SOLVED * c.pairs + 16.0 * c.items * c.rank,
        worker_bytes=ALWAYS + values / tasks,
    )


def _weights(c: Counts) -> Stage:
    tasks, values = cuts.count(c.visits + c.pairs, cuts.VISITS, c.items), 4.0 * c.pairs
    return Stage(
        name="weights of pairs",
        kernel="gram",
        tasks=tasks,
        work={"visit_found": c.visits, "number_added": float(c.items) * c.items, "byte_moved": values},
        read=4.0 * c.interactions + 4 * c.visits,
        given=values,
        results=values,
        driver_bytes=_held(c) + A_PAIR_FOUND * c.pairs,
        worker_bytes=ALWAYS + values / tasks,
        thread_bytes=4.0 * c.items,
    )


def _solve(c: Counts, products: int, name: str) -> Stage:
    """By rows, or through users where items have few, as `TaskProduct` chooses."""
    units, values = A_VISIT * c.visits + A_ROW_GATHER * c.squares, 4.0 * c.pairs
    by_rows = units < A_USER_GATHER * c.gathers
    if by_rows:
        tasks, results = cuts.count(units, cuts.GATHERS, c.items), values
        work, read = {"row_unit": products * units}, 4.0 * c.visits + 4 * c.interactions
    else:
        tasks = cuts.count(c.gathers / 2, cuts.GATHERS, c.users)
        results, work, read = tasks * values, {"user_gather": products * c.gathers}, 4.0 * c.interactions
    return Stage(
        name=name,
        kernel="product_by_rows" if by_rows else "product_by_users",
        runs=products,
        tasks=tasks,
        work={**work, "byte_moved": products * results},
        driver={
            "pair_stepped": products * c.pairs,
            "number_added": products * results / 4,
            "byte_moved": products * values,
            "visit_found": c.pairs + c.interactions,
        },
        read=products * read,
        given=products * values + values,
        results=products * results,
        driver_bytes=_held(c) + A_PAIR_SOLVED * c.pairs + 16.0 * c.items * c.rank,
        worker_bytes=ALWAYS + (results / tasks if by_rows else 0),
        thread_bytes=4.0 * c.items + (0 if by_rows else values),
        threads=OWN_THREADS if by_rows else 1,
        beside=not by_rows,
    )


def _pricing(c: Counts) -> Stage:
    tasks, excluded = cuts.count(c.visits, cuts.VISITS, c.items), max(c.every - c.pairs, 0.0) / 2
    factors, H = 8.0 * c.items * c.rank + 64 * c.items, 8.0 * c.pairs
    return Stage(
        name="pricing",
        kernel="prices",
        tasks=tasks,
        work={"visit_priced": c.visits, "price": 2 * c.rank * excluded},
        driver={"byte_hashed": 2 * (factors + H), "byte_moved": factors + H},
        read=4.0 * c.interactions + 4 * c.visits,
        given=factors + H + 12.0 * c.users,
        results=24.0 * c.items,
        driver_bytes=_held(c) + A_PAIR_SOLVED * c.pairs + 16.0 * c.items * c.rank,
        worker_bytes=ALWAYS + 48.0 * c.items / tasks,
        thread_bytes=13.0 * c.items + 4.0 * c.users,
    )


def _trials(c: Counts) -> Stage:
    """Filters compared on some users, by the driver."""
    users = min(LOOKED_AT, c.users)
    scores = float(users) * c.items
    driver = {
        "flop": 2 * scores * c.rank + 2.0 * users * 160 * c.rank * TRIALS,
        "score_gather": c.gathers / 2 * users / c.users,
        "score_ranked": 2 * scores + 160.0 * users * 10 * TRIALS,
    }
    held = A_PAIR_COMPARED * c.pairs + 16.0 * c.items * c.rank + (1 << 26)
    return Stage(name="look: trials", runs=0, tasks=0, driver=driver, driver_bytes=_held(c) + held)
