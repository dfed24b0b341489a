"""The work of a fit on a store, and of lists for all users: counted, or assumed for a shape, stage by stage.

Tasks, work, bytes and memory of each stage follow from the counts. Work is in the units of `estimate.RATES`. How often
a stage multiplies is not known in advance: the constants below are what fits took (`benchmarks/plan.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from corml.errors import UsageError
from corml.linalg import svd
from corml.linalg.dense_normal import FEWEST, shares_of
from corml.linalg.svd import is_small_shape
from corml.models.corml.cost import PairCount, Size
from corml.models.corml.hold_out import USERS as HELD_OUT_USERS
from corml.models.corml.plan import MAX_PAIRS, MAX_PER_ITEM, suggested_rank
from corml.models.corml.selection import RELATED
from corml.models.corml.sparse.pairs import COLUMNS
from corml.models.fitted import Settings
from corml.outofcore.fit import files
from corml.outofcore.fit.pair_work import A_ROW_GATHER, A_USER_GATHER, A_VISIT
from corml.outofcore.fit.plan import ALWAYS, Pairs

SWEEPS, ROUGH_SWEEPS = (
    3.6,
    1.9,
)  # fillings of a basis until V converges, and until it is roughly right
PRODUCTS, ROUGH_PRODUCTS = 9, 7  # of a solve, and of that of filter selection
SAMPLED = 2400  # rows of the Gram matrix that are computed to predict the pairs
TRIALS = 60  # filters that are compared
ROW_BYTES, LIST_BYTES = 29, 123  # of a row of Parquet, and of the lists of a user
SHARD = 50_000  # users of a shard of the lists
STORE, LISTS, SELECTION = "read and encode", "lists for all users", "filter selection"
MUTUAL = 1.15  # candidates of an item, with those that others selected, over those it selected; of generated data
PARTNER_SKEW, POPULAR = 1.1, 1.4  # mean square of their number over the square of the mean; weighted by users, over it


# --- counts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large interactions will be that do not exist yet, and how uneven; the defaults are near generated data."""

    users: int
    items: int
    interactions: int
    user_skew: float = 2.0  # mean square of the users' numbers of items over the square of the mean: 1 if all are alike
    distinct: float = 0.5  # co-occurring pairs, over the visits in which they are met: 1 if no two share two users

    def __post_init__(self) -> None:
        for name in ("users", "items", "interactions"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} (--{name}) must be 1 or more; got {getattr(self, name):,}.")
        if self.interactions > self.users * self.items:
            raise UsageError(
                f"{self.users:,} users have at most {self.users * self.items:,} pairs with {self.items:,} items; got "
                f"{self.interactions:,} interactions."
            )
        if not 1 <= self.user_skew <= 1e6:
            raise UsageError(f"user_skew (--user-skew) must be 1 or more; got {self.user_skew:g}.")
        if not 0 < self.distinct <= 1:
            raise UsageError(f"distinct (--distinct) must be above 0, up to 1; got {self.distinct:g}.")


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Users, items and interactions, and the work that follows from them; pairs are counted both ways."""

    users: int
    items: int
    interactions: int
    rank: int
    candidates: int | None  # of an item; None: all co-occurring pairs
    visits: float  # items of users of items: Σ d_u²
    every: float  # co-occurring pairs
    selected: float  # candidates, before those that others selected
    pairs: float  # candidates
    gathers: float  # of a product through users: 2 Σ d_i · candidates of i
    squares: float  # of a product by rows: Σ (candidates of i)²
    user_ranges: int  # tasks of a product with NᵀN
    weighted: bool = False
    timed: bool = False
    alike: bool = True  # whether Φ is one for all users
    assumed: bool = False  # not counted

    @classmethod
    def of(cls, size: Size, pairs: Pairs, rank: int, settings: Settings, **more: Any) -> "Counts":
        """The work of interactions whose pairs were predicted."""
        count, candidates, every = pairs
        return cls(
            users=size.shape[0],
            items=size.shape[1],
            interactions=size.nnz,
            rank=rank,
            candidates=candidates,
            visits=size.visits,
            every=float(every),
            selected=float(count.pairs if candidates is None else min(count.pairs, candidates * size.shape[1])),
            pairs=float(count.pairs),
            gathers=count.work,
            squares=count.squares,
            alike=settings.user_norm == 0,
            **more,
        )

    @classmethod
    def of_shape(cls, shape: Shape, settings: Settings) -> "Counts":
        """The work of interactions of a shape."""
        users, items, interactions = shape.users, shape.items, shape.interactions
        visits = min(shape.user_skew * interactions**2 / users, float(interactions) * items)
        every = min(max(visits - interactions, 0.0) * shape.distinct, float(items) * (items - 1))
        candidates = settings.candidates or (MAX_PER_ITEM if every > MAX_PAIRS else None)
        pairs = every if candidates is None else min(every, MUTUAL * candidates * items)
        count = PairCount(int(pairs), 2 * POPULAR * interactions * pairs / items, PARTNER_SKEW * pairs**2 / items)
        rank = int(min(settings.rank or suggested_rank((users, items), interactions), users, items))
        size, ranges = Size((users, items), interactions, visits), files.count(interactions, files.PAIRS, users)
        return cls.of(size, (count, candidates, int(every)), rank, settings, user_ranges=ranges, assumed=True)

    @property
    def unevenness(self) -> dict[str, float]:
        """The assumptions of a shape that lead to these counts."""
        distinct = self.every / max(self.visits - self.interactions, 1.0)
        skew = self.visits * self.users / self.interactions**2
        return {"user_skew": max(1.0, skew), "distinct": min(1.0, max(1e-6, distinct))}


# --- stages ----------------------------------------------------------------------------------------------------------


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
    threads: int = 0  # that a task can use; 0: as many as the worker has

    @property
    def all_tasks(self) -> int:
        """Tasks of all rounds."""
        return self.runs * self.tasks


def store_stage(c: Counts) -> Stage:
    """Making the store: one process."""
    return Stage(
        name=STORE,
        work={"row_encoded": float(c.interactions)},
        read=ROW_BYTES * c.interactions,
        written=8.0 * c.interactions + 8 * (c.users + c.items),
        worker_bytes=1 << 30,
        threads=1,
    )


def list_stage(c: Counts) -> Stage:
    """Lists for all users, where every item is scored: an upper bound."""
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


def fit_stages(c: Counts, *, selects: bool) -> list[Stage]:
    """All stages of a fit, in their order."""
    pair = 8 + 12 * c.weighted + 8 * c.timed
    matrix = float(pair) * c.interactions + (4 if c.interactions < 2**31 else 8) * (c.users + c.items + 2)
    weighting = {"visit": c.visits, "addition": float(c.items) * c.items}
    pricing = {"visit_priced": c.visits, "price": 2 * c.rank * max(c.every - c.pairs, 0.0) / 2}
    values, row, rows_and_users = 4.0 * c.pairs, 4.0 * c.items, 13.0 * c.items + 4.0 * c.users
    weights = _of_blocks(c, "weights of pairs", "gram", weighting, values, pairs=c.pairs, thread_bytes=row)
    prices = _of_blocks(c, "pricing", "prices", pricing, 24.0 * c.items, thread_bytes=rows_and_users)
    rows = min(SAMPLED, 3 * c.items)
    sampling = {"visit": c.visits * rows / c.items + c.interactions, "addition": 20.0 * rows * c.items}
    return [
        Stage(name="matrix", kernel="join_parts", work={"byte": 1.6 * matrix}, read=matrix, written=matrix, threads=1),
        Stage(name="plan", runs=0, tasks=0, driver=sampling, worker_bytes=0.0),
        *(_selection(c, f"{SELECTION}: ") if selects else []),
        _vectors(c, c.rank, SWEEPS, "V"),
        *_learning(c, ""),
        *([] if c.alike else [weights]),
        _solve(c, PRODUCTS, "solve"),
        *([prices] if c.candidates is not None and c.every > c.pairs else []),
    ]


def _selection(c: Counts, of: str) -> list[Stage]:
    """Filter selection: a second, rough fit, and the driver compares filters on some users."""
    users = min(HELD_OUT_USERS, c.users)
    scores = float(users) * c.items
    comparing = {
        "flop": 2 * scores * c.rank + 2.0 * users * 160 * c.rank * TRIALS,
        "score_gather": c.gathers / 2 * users / c.users,
        "score_ranked": 2 * scores + 160.0 * users * 10 * TRIALS,
    }
    return [
        *([] if c.timed else [_vectors(c, RELATED, ROUGH_SWEEPS, f"{of}V to hold out")]),
        _vectors(c, c.rank, ROUGH_SWEEPS, f"{of}V"),
        *_learning(c, of),
        _solve(c, ROUGH_PRODUCTS, f"{of}solve"),
        Stage(name=f"{of}trials", runs=0, tasks=0, driver=comparing, worker_bytes=0.0),
    ]


def _learning(c: Counts, of: str) -> list[Stage]:
    """Candidates and cross term."""
    written, runs = 8.0 * c.selected + 8 * c.items, -(-c.rank // COLUMNS)
    finding = {"visit": c.visits, "pair": c.every}
    dots = {"dot": c.pairs * c.rank}
    return [
        _of_blocks(c, f"{of}candidates", "strongest", finding, written, joined=c.pairs, thread_bytes=25.0 * c.items),
        _normal(c, f"{of}cross term, factors", runs, min(COLUMNS, c.rank), c.items),
        _of_blocks(c, f"{of}cross term, pairs", "dots", dots, 4.0 * c.pairs, pairs=c.pairs),
    ]


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
    """Products of NᵀN with blocks of `width` vectors of `size` numbers each."""
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
    """Tasks on blocks of items, of about as many visits and pairs; the driver puts `joined` pairs in order."""
    tasks = files.count(c.visits + pairs, files.VISITS, c.items)
    return Stage(
        name=name,
        kernel=kernel,
        tasks=tasks,
        work={**work, "byte": written},
        driver={"byte": 3 * written, "pair_joined": joined},
        read=0.0 if "dot" in work else 4.0 * (c.interactions + c.visits),
        written=written,
        worker_bytes=ALWAYS + 2 * written / tasks,
        thread_bytes=thread_bytes,
    )


def _solve(c: Counts, products: int, name: str) -> Stage:
    """By rows, or through users where items have few, as `TaskProduct` chooses."""
    units, values = A_VISIT * c.visits + A_ROW_GATHER * c.squares, 4.0 * c.pairs
    by_rows = units < A_USER_GATHER * c.gathers
    if by_rows:
        tasks, written, work = files.count(units, files.GATHERS, c.items), values, {"row_unit": products * units}
    else:
        tasks, work = files.count(c.gathers / 2, files.GATHERS, c.users), {"user_gather": products * c.gathers}
        written = tasks * values
    return Stage(
        name=name,
        kernel="product_by_rows" if by_rows else "product_by_users",
        runs=products,
        tasks=tasks,
        work={**work, "byte": 0.4 * products * written},
        driver={
            "pair_stepped": products * c.pairs,
            "addition": products * written / 4,
            "visit": c.pairs + c.interactions,
        },
        read=products * 4.0 * (c.interactions + c.visits * by_rows),
        written=products * written,
        worker_bytes=ALWAYS + (written / tasks if by_rows else 0),
        thread_bytes=4.0 * c.items + (0 if by_rows else values),
    )
