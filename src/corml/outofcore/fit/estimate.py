"""What a fit on a store will take, before it starts: tasks, bytes, memory and seconds of each stage.

Work is counted (`stages.py`), and multiplied by the seconds of a unit. A node is one worker with some threads. In each
round a node takes a task, then the next; the driver waits for all. Waiting for the network is not included.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory
from corml._runtime.parallel import blas, threads
from corml._runtime.settings import check, values_of
from corml._runtime.values import counted
from corml.data.store import Store
from corml.errors import UsageError, ascii_line
from corml.linalg.co_occurrence import Ranking, strongest_rows
from corml.linalg.dense_normal import normal_product
from corml.linalg.sparse import Sides
from corml.models.corml.cost import TOGETHER, PairCount, selects_filter
from corml.models.corml.plan import Plan
from corml.models.fitted import Settings
from corml.models.learned_from import told
from corml.models.recommender import Recommender
from corml.outofcore.fit import files
from corml.outofcore.fit.matrix import cap_of
from corml.outofcore.fit.plan import Profile, count_pairs, driver_bytes, plan_for, refuse_unsupported
from corml.outofcore.fit.stages import LISTS, STORE, Counts, Shape, Stage, fit_stages, list_stage, store_stage
from corml.outofcore.tasks import AT_ONCE

HANDED_OUT = 1.5e-3  # seconds of the driver to hand out a task: 1.3 to 1.6 ms were measured with Dask
HERE = 2.5e-3  # and of the process that runs one: files are written, named and read again

# --- rates -----------------------------------------------------------------------------------------------------------

RATES = {  # seconds of one thread for a unit of work, on the machine of results/speed/plan.json
    "normal": 2.0e-9,  # an interaction times a column, through the users and back
    "visit": 1.8e-9,  # an item of a user of an item, while candidates are found
    "pair": 45e-9,  # and a co-occurring pair
    "visit_priced": 6.9e-9,
    "price": 0.38e-9,  # a multiplication of the price of an excluded pair
    "dot": 0.14e-9,  # a multiplication of the cross term
    "row_unit": 1.5e-9,  # of a product by rows, in the units of `TaskProduct`
    "user_gather": 1.5e-9,  # of a product through users
    "addition": 0.22e-9,  # of numbers in arrays larger than caches
    "pair_joined": 24e-9,  # a candidate, put in order by the driver
    "pair_stepped": 10.6e-9,  # a candidate in a step of the solver, on the driver
    "flop": 0.012e-9,  # of a matrix product
    "thin": 0.04e-9,  # and of one of a tall matrix with a few columns, which waits for memory
    "score_gather": 5.6e-9,  # an entry of H that is added to the scores of a user
    "score_ranked": 0.65e-9,  # a score that is compared with the list so far
    "byte": 1e-9,  # hashed, written to a file, and read again
    "row_encoded": 1.25e-6,  # of a store: 1.0 to 1.5 µs with benchmarks/store.py
}
USERS, HISTORY, ITEMS, COLUMNS = 20_000, 20, 400, 16  # of the generated data on which two kernels are timed
FEWEST, WIDEST, MOST_ROWS = 1 << 11, 1 << 20, 200_000  # items and users of a product with NᵀN


def measure_rates(items: int) -> Mapping[str, float]:
    """The rates of this machine for a catalogue of about so many items: two kernels are timed, once in a process.

    One waits for memory: it reads a row of a block of vectors for each interaction, anywhere in the block, which takes
    250,000 items several times as long as 16,000. It is timed with a block of the real size. The other one only
    computes, and tells how much faster or slower this machine is in the rest.
    """
    return _measured(2 ** round(math.log2(min(max(items, FEWEST), WIDEST))))


@cache
def _measured(items: int) -> Mapping[str, float]:
    rng = np.random.default_rng(0)
    with blas(1):
        rows = _generated(rng, min(max(items, USERS // 4), MOST_ROWS), items).users
        block, scales = rng.random((items, COLUMNS), dtype=np.float32), (np.ones(len(rows)), np.ones(items))
        normal = _seconds(lambda: normal_product(rows, *scales, block, 0, len(rows), twice=True))
        few, loss = _generated(rng, USERS, ITEMS), np.ones(USERS, np.float32)
        ranking = Ranking(np.ones(ITEMS, np.float32), np.arange(ITEMS, dtype=np.int32))
        visits = _seconds(lambda: strongest_rows(few, loss, ranking, 100, 0, ITEMS))
    speed = visits / float((few.users.degrees**2).sum()) / RATES["visit"]
    measured = {"normal": normal / (len(rows.indices) * COLUMNS), "row_encoded": RATES["row_encoded"]}
    return {unit: seconds * speed for unit, seconds in RATES.items()} | measured


def _generated(rng: np.random.Generator, users: int, items: int) -> Sides:
    """Users with random items, nine in ten of them from a neighbourhood of the user: real histories have clusters."""
    home = items * rng.random((users, 1)) ** 2
    near = home.astype(np.int64) + (300 * rng.random((users, HISTORY)) ** 3).astype(np.int64)
    anywhere = (items * rng.random(near.shape) ** 2).astype(np.int64)
    columns = rng.permutation(items)[np.where(rng.random(near.shape) < 0.9, near, anywhere) % items].ravel()
    rows = np.repeat(np.arange(users), HISTORY)
    X = csr_array((np.ones(columns.size, np.float32), (rows, columns)), shape=(users, items))
    X.data[:] = 1
    return Sides.of(X)


def _seconds(work: Callable[[], object]) -> float:
    """CPU time: the faster of two calls after one that may compile."""
    work()
    took = []
    for _ in range(2):
        begun = time.process_time()
        work()
        took.append(time.process_time() - begun)
    return max(min(took), 1e-9)


# --- from work to time -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The seconds and the memory of one stage."""

    stage: Stage
    core_seconds: float  # of tasks, on one core
    task_seconds: float  # of tasks, on all nodes
    driver_seconds: float
    worker_bytes: float

    @classmethod
    def of(cls, stage: Stage, nodes: int, cores: int, rates: Mapping[str, float]) -> "Cost":
        """The cost of a stage on some nodes."""
        core = _work(stage.work, rates) + HERE * stage.all_tasks
        used = _threads(stage, nodes, cores)
        at_once = 1.0 if used == 1 else max(1.0, TOGETHER * used)
        share = -(-stage.tasks // nodes) / max(stage.tasks, 1)  # of the work, that a node has to do
        products = {unit: amount for unit, amount in stage.driver.items() if unit in ("flop", "thin")}
        alone = _work(stage.driver, rates) - _work(products, rates)
        driver = alone + _work(products, rates) / max(1.0, TOGETHER * cores)
        return cls(
            stage=stage,
            core_seconds=core,
            task_seconds=core * share / at_once if stage.tasks else 0.0,
            driver_seconds=driver + (HANDED_OUT * stage.all_tasks if nodes > 1 else 0.0),
            worker_bytes=stage.worker_bytes + used * stage.thread_bytes if stage.tasks else 0.0,
        )

    @property
    def seconds(self) -> float:
        """Wall time: tasks, then the driver alone."""
        return self.task_seconds + self.driver_seconds

    def report(self) -> dict[str, Any]:
        """Plain facts."""
        stage = {name: value for name, value in asdict(self.stage).items() if name not in ("thread_bytes", "threads")}
        own = {name: value for name, value in asdict(self).items() if name != "stage"}
        return {**stage, **own, "seconds": self.seconds, "label": "estimated"}


def _work(work: Mapping[str, float], rates: Mapping[str, float]) -> float:
    return float(sum(amount * rates[unit] for unit, amount in work.items()))


def _threads(stage: Stage, nodes: int, cores: int) -> int:
    """Threads that work at a time on a node; here, tasks with one thread run at the same time."""
    if stage.kernel in files.ONE_THREAD:
        return min(cores, max(stage.tasks, 1), AT_ONCE) if nodes == 1 else 1
    return min(cores, stage.threads or cores)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """All stages with what they take, on nodes with so many cores."""

    counts: Counts
    nodes: int
    cores: int
    rates: Mapping[str, float]
    stages: tuple[Cost, ...]
    driver_bytes: int

    @property
    def seconds(self) -> float:
        """Of all stages, one after the other."""
        return sum(cost.seconds for cost in self.stages)

    @property
    def fit(self) -> list[Cost]:
        """The stages of the fit alone, without the store and the lists."""
        return [cost for cost in self.stages if cost.stage.name not in (STORE, LISTS)]

    @property
    def fit_seconds(self) -> float:
        """CPU time of the fit."""
        return sum(cost.core_seconds + cost.driver_seconds for cost in self.fit)

    @property
    def worker_bytes(self) -> float:
        """Peak of anonymous memory of a worker of the fit."""
        return max(cost.worker_bytes for cost in self.fit)

    def sentence(self) -> str:
        """A summary in one sentence."""
        first = max(self.stages, key=lambda cost: cost.seconds)
        share, name = 100 * first.seconds / max(self.seconds, 1e-9), first.stage.name
        return (
            f"About {words(self.seconds)} on {counted(self.nodes, 'node')} of {counted(self.cores, 'core')} "
            f"(estimated); {name} {'are' if name == LISTS else 'is'} {share:.0f} % of it; the driver needs "
            f"{memory.size(self.driver_bytes)}."
        )

    def report(self) -> dict[str, Any]:
        """Plain facts, for JSON."""
        return {
            "label": "estimated",
            "counts": asdict(self.counts),
            "unevenness": self.counts.unevenness,
            "nodes": self.nodes,
            "cores": self.cores,
            "rates": dict(self.rates),
            "stages": [cost.report() for cost in self.stages],
            "seconds": self.seconds,
            "driver_bytes": self.driver_bytes,
            "worker_bytes": self.worker_bytes,
            "sentence": self.sentence(),
        }


def estimate(
    model: Recommender,
    data: Store | Shape,
    *,
    nodes: int = 1,
    cores: int | None = None,
    rates: Mapping[str, float] | None = None,
) -> Estimate:
    """What making a store, a fit on it and lists for all users will take, stage by stage.

    `model` is a CoRML that need not be fitted: its settings count. `data` is a store, of which degrees and a sample of
    pairs are read, or a `corml.outofcore.Shape` of interactions that do not exist yet. `rates` are the seconds of a
    unit of work; they are measured on this machine, for a moment, if not given.
    """
    check(model)
    settings, cores = Settings(values_of(model)), threads() if cores is None else cores
    refuse_unsupported(settings)
    for name, value in (("nodes", nodes), ("cores", cores)):
        if not 1 <= value <= 1_000_000:
            raise UsageError(f"{name} (--{name}) must be a whole number from 1 to 1,000,000; got {value:,}.")
    counts = Counts.of_shape(data, settings) if isinstance(data, Shape) else _counts_of_store(data, settings)[0]
    rates = measure_rates(counts.items) if rates is None else rates
    selects = selects_filter(settings)
    stages = [store_stage(counts), *fit_stages(counts, selects=selects), list_stage(counts)]
    costs = tuple(Cost.of(stage, nodes, cores, rates) for stage in stages)
    driver = driver_bytes((counts.users, counts.items), counts.pairs, counts.rank, selects=selects)
    return Estimate(counts=counts, nodes=nodes, cores=cores, rates=rates, stages=costs, driver_bytes=driver)


# --- the plan of a fit -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StorePlan(Plan):
    """The plan of a fit on a store, with its stages."""

    stages: tuple[Stage, ...] = ()
    worker_bytes: int = 0

    @property
    def tasks(self) -> int:
        """Tasks of all stages."""
        return sum(stage.all_tasks for stage in self.stages)

    def sentence(self) -> str:
        """A summary in one sentence."""
        return (
            f"{len(self.stages)} stages, about {self.tasks:,} tasks; the driver needs "
            f"{memory.size(self.predicted_bytes)}, a worker {memory.size(self.worker_bytes)} (estimated)"
        )

    def report(self) -> dict[str, Any]:
        """Plain facts for a table, without the stages."""
        return super().report() | {"worker bytes": self.worker_bytes, "tasks": self.tasks}


def plan_of_store(store: Store, settings: Settings, cores: int | None = None) -> StorePlan:
    """How a fit on a store would go, from its degrees and a sample of its pairs; `cores` are those of a worker."""
    counts, plan = _counts_of_store(store, settings)
    stages = tuple(fit_stages(counts, selects=selects_filter(settings)))
    worker = max(stage.worker_bytes + _threads(stage, 1, cores or threads()) * stage.thread_bytes for stage in stages)
    return StorePlan(**vars(plan), stages=stages, worker_bytes=int(worker))


def _counts_of_store(store: Store, settings: Settings) -> tuple[Counts, Plan]:
    """The work in a store, and the plan of its fit; refuses one that is too large for this machine."""
    if len(store) == 0:
        raise UsageError(f"{ascii_line(store.path, 200)} has no interactions: nothing can be learned from it.")
    profile, about = Profile.of_store(store, settings.longest_history), store.manifest
    count, candidates, every = pairs = count_pairs(profile, settings)
    plan = told(plan_for(profile, pairs, settings), profile.left_out, cap_of(store))
    count = replace(count, squares=max(count.squares, _squares(count, profile.item_degrees)))
    ranges, rank = len(files.ranges(profile.user_degrees, files.PAIRS)), max(plan.rank, plan.learn_rank)
    given = {"user_ranges": ranges, "weighted": about.weighted, "timed": about.timed}
    return Counts.of(profile.size, (count, candidates, every), rank, settings, **given), plan


def _squares(count: PairCount, degrees: NDArray[np.int64]) -> float:
    """Σ (candidates of i)², from how they go with degrees: popular items are selected by more than they select."""
    d, mean = np.maximum(degrees.astype(np.float64), 1.0), count.pairs / len(degrees)
    popular, skew = count.work / max(2 * d.sum() * mean, 1.0), float((d**2).mean() / d.mean() ** 2)
    return float(len(d) * mean**2 * (1 + (popular - 1) ** 2 / max(skew - 1, 1e-3)))


def words(seconds: float) -> str:
    """A length of time in words: «2 h 10 min»."""
    if seconds < 120:
        return f"{seconds:.{int(seconds < 1)}f} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours / 24:.0f} days"
    return " ".join(f"{number} {unit}" for number, unit in ((hours, "h"), (rest, "min")) if number)
