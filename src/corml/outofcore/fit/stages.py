"""The stages of a fit on a store, and lists for all users: tasks, work, bytes and memory of each, before any of it.

Work is counted in the units of `estimate.RATES`. How often a stage multiplies is not known before: the numbers below
are what fits took (`benchmarks/plan.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from corml.linalg import svd
from corml.linalg.dense_normal import FEWEST, shares_of
from corml.linalg.svd import is_small_shape
from corml.models.corml.hold_out import USERS as HELD_OUT_USERS
from corml.models.corml.selection import RELATED
from corml.models.corml.sparse.pairs import COLUMNS
from corml.outofcore.fit import files
from corml.outofcore.fit.counts import Counts
from corml.outofcore.fit.pair_work import A_ROW_GATHER, A_USER_GATHER, A_VISIT
from corml.outofcore.fit.plan import ALWAYS

__all__ = ["LISTS", "SELECTION", "STORE", "Stage", "fit_stages", "list_stage", "store_stage"]

SWEEPS, ROUGH_SWEEPS = 3.6, 1.9  # fillings of a basis: columns multiplied until V has converged, and until it serves
PRODUCTS, ROUGH_PRODUCTS = 9, 7  # of a solve, and of that of filter selection
SAMPLED = 2400  # rows of the Gram matrix that are made to predict the pairs
TRIALS = 60  # filters that are compared
ROW_BYTES, LIST_BYTES = 29, 123  # of a row of Parquet, and of what is written for a user
SHARD = 50_000  # users of a shard of the lists
STORE, LISTS, SELECTION = "read and encode", "lists for all users", "filter selection"
OWN_THREADS = 0  # as many as the worker has


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage: `runs` rounds of `tasks` tasks, of which the driver waits for all before the next round.

    `work` is that of all tasks together, `driver` what the driver does itself. Bytes are read from the matrix, and
    written as results.
    """

    name: str
    kernel: str = ""
    runs: int = 1
    tasks: int = 1
    work: Mapping[str, float] = field(default_factory=dict)
    driver: Mapping[str, float] = field(default_factory=dict)
    read: float = 0.0
    written: float = 0.0
    worker_bytes: float = float(ALWAYS)  # and for each thread:
    thread_bytes: float = 0.0
    threads: int = OWN_THREADS  # that a task can use

    @property
    def all_tasks(self) -> int:
        """Tasks of all rounds."""
        return self.runs * self.tasks


def fit_stages(c: Counts, *, selects: bool) -> list[Stage]:
    """All stages of a fit, in their order."""
    stages = [_matrix(c), _plan(c)]
    if selects:
        of = f"{SELECTION}: "
        stages += [] if c.timed else [_vectors(c, RELATED, ROUGH_SWEEPS, f"{of}V to hold out")]
        stages += [_vectors(c, c.rank, ROUGH_SWEEPS, f"{of}V"), _candidates(c, f"{of}candidates"), *_cross_term(c, of)]
        stages += [_solve(c, ROUGH_PRODUCTS, f"{of}solve"), _trials(c, f"{of}trials")]
    stages += [_vectors(c, c.rank, SWEEPS, "V"), _candidates(c, "candidates"), *_cross_term(c, "")]
    stages += [] if c.alike else [_user_weights(c)]
    stages.append(_solve(c, PRODUCTS, "solve"))
    return [*stages, _pricing(c)] if c.candidates is not None and c.every > c.pairs else stages


def store_stage(c: Counts) -> Stage:
    """Making the store: one process, whatever there is."""
    size = 8.0 * c.interactions + 8 * (c.users + c.items)
    work = {"row_encoded": float(c.interactions)}
    return Stage(name=STORE, work=work, read=ROW_BYTES * c.interactions, written=size, worker_bytes=1 << 30, threads=1)


def list_stage(c: Counts) -> Stage:
    """Lists for all users: every item is scored, which is the most that it can take."""
    scores = float(c.users) * c.items
    return Stage(
        name=LISTS,
        tasks=max(1, -(-c.users // SHARD)),
        work={"flop": 2 * scores * c.rank, "score_gather": c.gathers / 2, "score_ranked": scores},
        read=4.0 * c.interactions,
        written=float(LIST_BYTES) * c.users,
        worker_bytes=ALWAYS + 8.0 * c.pairs + 8.0 * c.items * c.rank + SHARD * 1500,
        thread_bytes=1 << 26,
    )


# --- one at a time ---------------------------------------------------------------------------------------------------


def _matrix(c: Counts) -> Stage:
    start, pair = 4 if c.interactions < 2**31 else 8, 8 + 12 * c.weighted + 8 * c.timed
    size = float(pair) * c.interactions + start * (c.users + c.items + 2)
    return Stage(name="matrix", kernel="join_parts", work={"byte": 1.6 * size}, read=size, written=size, threads=1)


def _plan(c: Counts) -> Stage:
    rows = min(SAMPLED, 3 * c.items)
    made = {"visit": c.visits * rows / c.items + c.interactions, "addition": 20.0 * rows * c.items}
    return Stage(name="plan", runs=0, tasks=0, driver=made, worker_bytes=0.0)


def _vectors(c: Counts, rank: int, sweeps: float, name: str) -> Stage:
    rank, n = min(rank, c.users, c.items), min(c.users, c.items)
    basis = svd.basis_size(rank)
    if is_small_shape((c.users, c.items), rank):
        columns, flops = n, 10.0 * n**3
    else:
        columns = int(sweeps * basis)
        flops = 4.0 * n * columns * 0.7 * basis + 3 * 2.0 * n * basis * rank
    return _normal(c, name, max(1, round(columns / svd.BLOCK)), svd.BLOCK, n, flops)


def _normal(c: Counts, name: str, runs: int, width: int, size: int, flops: float = 0.0) -> Stage:
    """Products of NᵀN with blocks of vectors of so many numbers each."""
    tasks = c.user_ranges if size == c.items else files.count(c.interactions, files.PAIRS, c.items)
    numbers, shares = float(size * width), shares_of(c.interactions / tasks)
    added = runs * tasks * numbers
    return Stage(
        name=name,
        kernel="product",
        runs=runs,
        tasks=tasks,
        work={"normal": runs * width * float(c.interactions), "addition": added, "byte": 1.6 * added},
        driver={"thin": flops, "addition": added},
        read=runs * 4.0 * c.interactions,
        written=4 * added,
        worker_bytes=ALWAYS + 4 * (1 + shares) * numbers,
        threads=shares * max(1, width // FEWEST),
    )


def _of_blocks(
    c: Counts,
    name: str,
    kernel: str,
    work: dict[str, float],
    written: float,
    *,
    pairs: float = 0.0,
    joined: float = 0.0,
    thread_bytes: float = 0.0,
) -> Stage:
    """Tasks on blocks of items, of about so many visits and pairs; `joined` pairs are put in order by the driver."""
    tasks, visits = files.count(c.visits + pairs, files.VISITS, c.items), not {"visit", "visit_priced"}.isdisjoint(work)
    return Stage(
        name=name,
        kernel=kernel,
        tasks=tasks,
        work={**work, "byte": written},
        driver={"byte": 3 * written, "pair_joined": joined},
        read=4.0 * (c.interactions + c.visits) if visits else 0.0,
        written=written,
        worker_bytes=ALWAYS + 2 * written / tasks,
        thread_bytes=thread_bytes,
    )


def _candidates(c: Counts, name: str) -> Stage:
    work, written = {"visit": c.visits, "pair": c.every}, 8.0 * c.selected + 8 * c.items
    return _of_blocks(c, name, "strongest", work, written, joined=c.pairs, thread_bytes=25.0 * c.items)


def _cross_term(c: Counts, of: str) -> list[Stage]:
    runs, width = -(-c.rank // COLUMNS), min(COLUMNS, c.rank)
    factors, work = _normal(c, f"{of}cross term, factors", runs, width, c.items), {"dot": c.pairs * c.rank}
    return [factors, _of_blocks(c, f"{of}cross term, pairs", "dots", work, 4.0 * c.pairs, pairs=c.pairs)]


def _user_weights(c: Counts) -> Stage:
    work, written = {"visit": c.visits, "addition": float(c.items) * c.items}, 4.0 * c.pairs
    return _of_blocks(c, "weights of pairs", "gram", work, written, pairs=c.pairs, thread_bytes=4.0 * c.items)


def _solve(c: Counts, products: int, name: str) -> Stage:
    """By rows, or through users where items have few, as `TaskProduct` chooses."""
    units, values = A_VISIT * c.visits + A_ROW_GATHER * c.squares, 4.0 * c.pairs
    by_rows = units < A_USER_GATHER * c.gathers
    if by_rows:
        tasks, written, work = files.count(units, files.GATHERS, c.items), values, {"row_unit": products * units}
        read = 4.0 * c.visits + 4 * c.interactions
    else:
        tasks, work = files.count(c.gathers / 2, files.GATHERS, c.users), {"user_gather": products * c.gathers}
        written, read = tasks * values, 4.0 * c.interactions
    stepping = {"pair_stepped": products * c.pairs, "addition": products * written / 4}
    return Stage(
        name=name,
        kernel="product_by_rows" if by_rows else "product_by_users",
        runs=products,
        tasks=tasks,
        work={**work, "byte": 0.4 * products * written},
        driver=stepping | {"visit": c.pairs + c.interactions},
        read=products * read,
        written=products * written,
        worker_bytes=ALWAYS + (written / tasks if by_rows else 0),
        thread_bytes=4.0 * c.items + (0 if by_rows else values),
    )


def _pricing(c: Counts) -> Stage:
    excluded = max(c.every - c.pairs, 0.0) / 2
    work = {"visit_priced": c.visits, "price": 2 * c.rank * excluded}
    return _of_blocks(c, "pricing", "prices", work, 24.0 * c.items, thread_bytes=13.0 * c.items + 4.0 * c.users)


def _trials(c: Counts, name: str) -> Stage:
    """Filters compared on some users, by the driver."""
    users = min(HELD_OUT_USERS, c.users)
    scores = float(users) * c.items
    driver = {
        "flop": 2 * scores * c.rank + 2.0 * users * 160 * c.rank * TRIALS,
        "score_gather": c.gathers / 2 * users / c.users,
        "score_ranked": 2 * scores + 160.0 * users * 10 * TRIALS,
    }
    return Stage(name=name, runs=0, tasks=0, driver=driver, worker_bytes=0.0)
