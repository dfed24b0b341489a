"""What a fit on a store will take: time, memory, network and money of each stage, before it starts.

Work is counted (`stages.py`), kernels are timed on this machine for a moment (`rates.py`), and both are multiplied. A
node is one worker with so many threads. In each round a node takes a task, then the next; the driver waits for all.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from corml import memory
from corml.errors import UsageError, ascii_line
from corml.fitted import Settings
from corml.long_histories import told
from corml.method.out_of_core.counts import Assumptions, Counts
from corml.method.out_of_core.known import Known
from corml.method.out_of_core.plan import counted, plan_for, refuse_unknown
from corml.method.out_of_core.rates import Rates, measure_rates
from corml.method.out_of_core.stages import LISTS, STORE, Stage, fit_stages, list_stage, store_stage
from corml.method.plan.look_cost import looks
from corml.method.plan.plan import Plan
from corml.method.plan.seconds import TOGETHER
from corml.parallel import threads
from corml.recommender import Recommender
from corml.settings import check, values_of
from corml.store import Store
from corml.tasks import BESIDE

__all__ = ["Cost", "Estimate", "Machines", "StorePlan", "estimate", "plan_of_store", "words"]

HANDED_OUT = 1.5e-3  # seconds of the driver to hand out a task: 1.3 to 1.6 ms were measured with Dask
HERE = 2.5e-3  # and of whoever runs one: files are written, named and read again


@dataclass(frozen=True, kw_only=True)
class Machines:
    """What it is to run on: nodes with so many cores, bytes a second of a link, and the price of a core for an hour."""

    nodes: int = 1
    cores: int = 1
    network: float = 1e9
    price: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("nodes", self.nodes), ("cores", self.cores)):
            if not 1 <= value <= 1_000_000:
                raise UsageError(f"{name} (--{name}) must be a whole number from 1 to 1,000,000; got {value:,}.")
        if not (self.network > 0 and math.isfinite(self.network)):
            raise UsageError(f"network (--network) must be above 0 bytes a second; got {self.network:g}.")
        if not (self.price >= 0 and math.isfinite(self.price)):
            raise UsageError(f"price (--price) must be 0 or more; got {self.price:g}.")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one stage takes. `seconds` is all of it: tasks, the driver alone, and the network."""

    stage: Stage
    core_seconds: float  # of tasks, on one core
    task_seconds: float  # of tasks, on all nodes
    driver_seconds: float
    network_seconds: float
    moved: float  # bytes to and from the shared folder
    driver_bytes: float
    worker_bytes: float
    money: float

    @property
    def seconds(self) -> float:
        """From its begin to its end."""
        return self.task_seconds + self.driver_seconds + self.network_seconds

    def report(self) -> dict[str, Any]:
        """Plain facts."""
        stage = {name: value for name, value in asdict(self.stage).items() if name not in _OWN}
        own = {name: value for name, value in asdict(self).items() if name != "stage"}
        return {**stage, **own, "seconds": self.seconds, "label": "estimated"}


_OWN = ("driver_bytes", "worker_bytes", "thread_bytes", "threads")


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """All stages with what they take, and what that follows from."""

    counts: Counts
    machines: Machines
    rates: Rates
    stages: tuple[Cost, ...]

    @property
    def seconds(self) -> float:
        """Of all stages, one after the other."""
        return sum(cost.seconds for cost in self.stages)

    @property
    def fit_seconds(self) -> float:
        """Processor seconds of the fit alone, without the store and the lists."""
        return sum(cost.core_seconds + cost.driver_seconds for cost in self.stages if _of_fit(cost))

    @property
    def driver_bytes(self) -> float:
        """Peak of anonymous memory of the driver."""
        return max(cost.driver_bytes for cost in self.stages if _of_fit(cost))

    @property
    def worker_bytes(self) -> float:
        """Peak of anonymous memory of a worker of the fit."""
        return max(cost.worker_bytes for cost in self.stages if _of_fit(cost))

    @property
    def money(self) -> float:
        """Of all stages."""
        return sum(cost.money for cost in self.stages)

    def sentence(self) -> str:
        """All of it in one sentence."""
        first = max(self.stages, key=lambda cost: cost.seconds)
        share = 100 * first.seconds / max(self.seconds, 1e-9)
        name = first.stage.name
        verb = "are" if name.startswith("lists") else "is"
        where = f"{_counted(self.machines.nodes, 'node')} of {_counted(self.machines.cores, 'core')}"
        cost = f", at a cost of {self.money:,.2f}" if self.machines.price else ""
        return (
            f"About {words(self.seconds)} on {where}{cost} (estimated); {name} {verb} "
            f"{share:.0f} % of it; the driver needs {memory.size(self.driver_bytes)}."
        )

    def report(self) -> dict[str, Any]:
        """Plain facts, for JSON."""
        assumed = self.counts.assumed
        return {
            "label": "estimated",
            "counts": self.counts.report(),
            "assumptions": None if assumed is None else asdict(assumed),
            "skews": asdict(self.counts.skews()),
            "machines": asdict(self.machines),
            "rates": asdict(self.rates),
            "stages": [cost.report() for cost in self.stages],
            "seconds": self.seconds,
            "money": self.money,
            "driver_bytes": self.driver_bytes,
            "worker_bytes": self.worker_bytes,
            "sentence": self.sentence(),
        }


def estimate(
    model: Recommender,
    store: Store | None = None,
    *,
    interactions: int | None = None,
    users: int | None = None,
    items: int | None = None,
    nodes: int = 1,
    cores: int | None = None,
    network: float = 1e9,
    price: float = 0.0,
    assumed: Assumptions | None = None,
    rates: Rates | None = None,
) -> Estimate:
    """What making a store, a fit on it and lists for everybody will take, stage by stage.

    `model` is a CoRML that need not be fitted: its settings count. Give a store, of which degrees and a sample of pairs
    are read, or numbers of interactions, users and items, for which `assumed` says how uneven they are. `network` are
    bytes a second, `price` is what a core costs for an hour. `rates` are measured on this machine, for some seconds, if
    not given.
    """
    check(model)
    known = Settings(values_of(model))
    refuse_unknown(known)
    machines = Machines(nodes=nodes, cores=threads() if cores is None else cores, network=network, price=price)
    counts = _counts(store, (users, items, interactions), assumed, known)
    rates = measure_rates(counts.items) if rates is None else rates
    stages = [store_stage(counts), *fit_stages(counts, look=looks(known)), list_stage(counts)]
    costs = tuple(cost_of(stage, machines, rates, counts) for stage in stages)
    return Estimate(counts=counts, machines=machines, rates=rates, stages=costs)


def _counts(
    store: Store | None, shape: tuple[int | None, ...], assumed: Assumptions | None, settings: Settings
) -> Counts:
    if store is None:
        users, items, interactions = shape
        if users is None or items is None or interactions is None:
            raise UsageError("Give a store, or --interactions, --items and --users.")
        return Counts.of_shape(users, items, interactions, assumed or Assumptions(), settings)
    if any(one is not None for one in shape) or assumed is not None:
        raise UsageError("A store knows its own numbers: leave out interactions, items, users and what is assumed.")
    return counts_of_store(store, settings)[0]


def counts_of_store(store: Store, settings: Settings) -> tuple[Counts, Plan]:
    """The work in a store, and the plan of its fit; refuses one that is too large for this machine."""
    if len(store) == 0:
        raise UsageError(f"{ascii_line(store.path, 200)} has no interactions: nothing can be learned from it.")
    known = Known.of_store(store, settings.longest_history)
    found = counted(known, settings)
    plan, about = told(plan_for(known, found, settings), known.left_out), store.manifest
    return Counts.of_known(known, found, plan, settings, weighted=about.weighted, timed=about.timed), plan


def _of_fit(cost: Cost) -> bool:
    return cost.stage.name not in (STORE, LISTS)


# --- from work to time -----------------------------------------------------------------------------------------------


def cost_of(stage: Stage, machines: Machines, rates: Rates, counts: Counts) -> Cost:
    """What a stage takes on some machines."""
    core = _work(stage.work, rates) + HERE * stage.all_tasks
    used = _threads(stage, machines)
    at_once = 1.0 if used == 1 else max(1.0, TOGETHER * used)
    rounds = -(-stage.tasks // machines.nodes) / max(stage.tasks, 1)  # the share of the work that a node has to do
    tasks = core * rounds / at_once if stage.tasks else 0.0
    driver = _driver_seconds(stage, machines, rates)
    moved = stage.given * machines.nodes + 2 * stage.results
    network = _network_seconds(stage, machines, counts)
    seconds = tasks + driver + network
    worker = stage.worker_bytes + used * stage.thread_bytes if stage.tasks else 0.0
    money = seconds / 3600 * machines.nodes * machines.cores * machines.price
    return Cost(
        stage=stage, core_seconds=core, task_seconds=tasks, driver_seconds=driver, network_seconds=network, moved=moved,
        driver_bytes=stage.driver_bytes, worker_bytes=worker, money=money,
    )  # fmt: skip


def _threads(stage: Stage, machines: Machines) -> int:
    """Threads that work at a time on a node."""
    if stage.beside and machines.nodes == 1:
        return min(machines.cores, max(stage.tasks, 1), BESIDE)
    return min(machines.cores, stage.threads or machines.cores)


def _work(work: Mapping[str, float], rates: Rates) -> float:
    return float(sum(amount * getattr(rates, unit) for unit, amount in work.items()))


def _driver_seconds(stage: Stage, machines: Machines, rates: Rates) -> float:
    """One thread, but for matrix products."""
    products = {unit: amount for unit, amount in stage.driver.items() if unit in ("flop", "thin")}
    alone = {unit: amount for unit, amount in stage.driver.items() if unit not in products}
    handing = HANDED_OUT * stage.all_tasks if machines.nodes > 1 else 0.0
    return _work(alone, rates) + _work(products, rates) / max(1.0, TOGETHER * machines.cores) + handing


def _network_seconds(stage: Stage, machines: Machines, counts: Counts) -> float:
    """What is given reaches all nodes at once, results leave them at once, and the driver reads them through one link.

    A node reads the matrix once, and its system keeps it; one node alone has no network.
    """
    if machines.nodes == 1:
        return 0.0
    lists = stage.name == LISTS  # nobody collects them
    matrix = counts.matrix_bytes if stage.kernel == "join_parts" else 0.0
    through = stage.given + stage.results / machines.nodes + (0.0 if lists else stage.results) + matrix
    return through / machines.network


# --- the plan of a fit -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StorePlan(Plan):
    """The plan of a fit on a store, with its stages."""

    stages: tuple[Stage, ...] = ()
    worker_bytes: int = 0

    def sentence(self) -> str:
        """The sum of it, to be said before a fit."""
        tasks = sum(stage.all_tasks for stage in self.stages)
        return (
            f"{len(self.stages)} stages, about {tasks:,} tasks; the driver needs {memory.size(self.predicted_bytes)}, "
            f"a worker {memory.size(self.worker_bytes)} (estimated)"
        )

    def report(self) -> dict[str, Any]:
        """Plain facts for a table, without the stages."""
        facts = super().report()
        facts["worker bytes"] = self.worker_bytes
        return facts | {"tasks": sum(stage.all_tasks for stage in self.stages)}


def plan_of_store(store: Store, settings: Settings, cores: int | None = None) -> StorePlan:
    """How a fit on a store would go, from its degrees and a sample of its pairs; `cores` are those of a worker."""
    counts, plan = counts_of_store(store, settings)
    stages = tuple(fit_stages(counts, look=looks(settings)))
    machines = Machines(nodes=1, cores=cores or threads())
    worker = max(stage.worker_bytes + _threads(stage, machines) * stage.thread_bytes for stage in stages)
    return StorePlan(**vars(plan), stages=stages, worker_bytes=int(worker))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)


def words(seconds: float) -> str:
    """A length of time in words: «2 h 10 min»."""
    if seconds < 1:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours / 24:.0f} days"
