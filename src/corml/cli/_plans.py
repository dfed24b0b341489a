"""The plan of a fit and the estimate of one, as tables and bars."""

import sys
from dataclasses import asdict
from typing import Any

from corml import memory
from corml.charts import Axis, Bars, Chart, bars
from corml.cli._console import QUIET, say, show_json, show_table, tell
from corml.fitted import Plan
from corml.method.out_of_core.estimate import Estimate, StorePlan, words
from corml.method.out_of_core.stages import Stage
from corml.recommender import Recommender
from corml.store import Store

__all__ = ["chart_of", "show_estimate", "show_plan", "tell_plan"]

WIDTH = 40  # characters of the longest bar
BYTES = ("predicted bytes", "worker bytes")


def show_plan(plan: Plan, as_json: bool) -> None:
    """The plan of a fit; of one on a store its stages too."""
    stages = plan.stages if isinstance(plan, StorePlan) else ()
    if as_json:
        show_json(plan.report() | ({"stages": [asdict(stage) for stage in stages]} if stages else {}))
        return
    for name, value in plan.report().items():
        say(f"{name:>20}  {memory.size(value) if name in BYTES else value}")
    if stages:
        say()
        show_table(*_table_of(stages))


def tell_plan(recommender: Recommender, store: Store | None) -> None:
    """Before a fit on a store: what it is about to do, stage by stage, as remarks."""
    if store is None or QUIET.get():
        return
    plan = recommender.plan(store)  # type: ignore[arg-type] # CoRML takes a store, and only it is fitted on one
    assert isinstance(plan, StorePlan)
    tell(f"plan: {plan.sentence()}")
    show_table(*_table_of(plan.stages), remark=True)


def _table_of(stages: tuple[Stage, ...]) -> tuple[list[str], list[list[Any]]]:
    columns = ["stage", "rounds", "tasks", "work", "read", "moved", "driver", "worker"]
    return columns, [
        [
            stage.name,
            stage.runs,
            stage.all_tasks,
            _work(stage),
            memory.size(stage.read),
            memory.size(stage.given + 2 * stage.results),
            memory.size(stage.driver_bytes),
            memory.size(stage.worker_bytes + stage.thread_bytes),
        ]
        for stage in stages
    ]


def _work(stage: Stage) -> str:
    """The largest part of the work, in its unit."""
    work = stage.work or stage.driver
    counted = {unit: amount for unit, amount in work.items() if not unit.startswith("byte")} or work
    if not counted:
        return ""
    unit = next(iter(counted))
    return f"{counted[unit]:.1e} {UNITS.get(unit, unit)}"


UNITS = {
    "row_encoded": "rows",
    "byte_hashed": "bytes",
    "visit_found": "visits",
    "visit_priced": "visits",
    "normal": "multiplications",
    "dot": "multiplications",
    "row_unit": "gathers by rows",
    "user_gather": "gathers through users",
    "flop": "flops",
    "thin": "flops",
    "number_added": "additions",
}


# --- an estimate -----------------------------------------------------------------------------------------------------


def show_estimate(found: Estimate) -> None:
    """The assumptions, a row for each stage, bars, and a sentence."""
    c, machines = found.counts, found.machines
    say(
        f"{c.interactions:,} interactions of {c.users:,} users with {c.items:,} items; rank {c.rank}, "
        f"{c.candidates or 'all'} candidates an item, {c.pairs / 2:,.0f} pairs"
    )
    uneven = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in asdict(c.skews()).items())
    say(f"{'counted' if c.assumed is None else 'assumed'}: {uneven}")
    say(
        f"nodes: {machines.nodes:,} with one worker of {machines.cores:,} threads each, network "
        f"{memory.size(machines.network)}/s; kernels timed here; making the store: documented "
        f"{1e6 * found.rates.row_encoded:.2f} µs a row\n"
    )
    columns = ["stage", "tasks", "work", "read", "moved", "driver needs", "worker needs"]
    columns += ["core time", "time", "driver alone", "network"] + (["cost"] if machines.price else [])
    rows = []
    for cost in found.stages:
        stage = cost.stage
        row = [stage.name, stage.all_tasks, _work(stage), memory.size(stage.read), memory.size(cost.moved)]
        row += [memory.size(cost.driver_bytes), memory.size(cost.worker_bytes)]
        row += [words(value) for value in (cost.core_seconds, cost.seconds, cost.driver_seconds, cost.network_seconds)]
        rows.append(row + ([f"{cost.money:,.2f}"] if machines.price else []))
    show_table(columns, rows)
    say(_bars(found))
    say(found.sentence())


def _bars(found: Estimate) -> str:
    """The time of each stage as a line of blocks."""
    block = "█" if "utf" in (getattr(sys.stdout, "encoding", None) or "").lower() else "#"
    longest = max(cost.seconds for cost in found.stages)
    lines = ["estimated time"]
    for cost in found.stages:
        length = round(WIDTH * cost.seconds / max(longest, 1e-9))
        bar = block * max(length, 1 if cost.seconds > 0 else 0)
        lines.append(f"{cost.stage.name:>26}  {bar} {words(cost.seconds)}")
    return "\n".join(lines) + "\n"


def chart_of(found: Estimate) -> Chart:
    """The time of each stage."""
    units = ((3600, "hours"), (60, "minutes"), (1, "seconds"))
    divisor, unit = next((size, name) for size, name in units if found.seconds > 2 * size or size == 1)
    times = Bars("time", [cost.seconds / divisor for cost in found.stages])
    groups = [cost.stage.name for cost in found.stages]
    return bars([times], groups, x=Axis(f"estimated {unit}"), title="Estimated time of each stage")
