"""The plan of a fit and the estimate of one, as tables and bars."""

import sys
from dataclasses import asdict
from typing import Any

from corml._runtime import memory
from corml.cli._console import QUIET, say, show_json, show_table, tell
from corml.data.store import Store
from corml.evaluation.charts import Axis, Bars, Chart, bars
from corml.models.fitted import Plan
from corml.models.recommender import Recommender
from corml.outofcore import plan_store
from corml.outofcore.fit.estimate import Estimate, StorePlan, words
from corml.outofcore.fit.stages import Stage

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
    elif "predicted seconds" in plan.report():
        tell(
            "note: predicted are the seconds of one fit, with the choice of the filter, on threads that are free; "
            "loading comes on top, and with --split a second fit (on all data) and the evaluation"
        )


def tell_plan(recommender: Recommender, store: Store | None) -> None:
    """Before a fit on a store: what it is about to do, stage by stage, as remarks."""
    if store is None or QUIET.get():
        return
    plan = plan_store(recommender, store)
    assert isinstance(plan, StorePlan)
    tell(f"plan: {plan.sentence()}")
    show_table(*_table_of(plan.stages), remark=True)


def _table_of(stages: tuple[Stage, ...]) -> tuple[list[str], list[list[Any]]]:
    columns = ["stage", "rounds", "tasks", "work", "read", "written", "worker"]
    return columns, [
        [
            stage.name,
            stage.runs,
            stage.all_tasks,
            _work(stage),
            memory.size(stage.read),
            memory.size(stage.written),
            memory.size(stage.worker_bytes + stage.thread_bytes),
        ]
        for stage in stages
    ]


def _work(stage: Stage) -> str:
    """The largest part of the work, in its unit."""
    unit, amount = next(iter((stage.work or stage.driver).items()))
    return f"{amount:.1e} {UNITS.get(unit, unit)}"


UNITS = {
    "row_encoded": "rows",
    "byte": "bytes",
    "visit": "visits",
    "visit_priced": "visits",
    "normal": "multiplications",
    "dot": "multiplications",
    "row_unit": "gathers by rows",
    "user_gather": "gathers through users",
    "flop": "flops",
}


# --- an estimate -----------------------------------------------------------------------------------------------------


def show_estimate(estimated: Estimate) -> None:
    """The assumptions, a row for each stage, bars, and a sentence."""
    c = estimated.counts
    say(
        f"{c.interactions:,} interactions of {c.users:,} users with {c.items:,} items; rank {c.rank}, "
        f"{c.candidates or 'all'} candidates an item, {c.pairs / 2:,.0f} pairs"
    )
    uneven = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in c.unevenness.items())
    say(f"{'assumed' if c.assumed else 'counted'}: {uneven}")
    say(
        f"nodes: {estimated.nodes:,} with one worker of {estimated.cores:,} threads each; making the store: documented "
        f"{1e6 * estimated.rates['row_encoded']:.2f} µs a row\n"
    )
    columns = ["stage", "tasks", "work", "read", "written", "worker needs", "core time", "time", "driver alone"]
    rows = []
    for cost in estimated.stages:
        stage = cost.stage
        row = [stage.name, stage.all_tasks, _work(stage), memory.size(stage.read), memory.size(stage.written)]
        times = [words(value) for value in (cost.core_seconds, cost.seconds, cost.driver_seconds)]
        rows.append([*row, memory.size(cost.worker_bytes), *times])
    show_table(columns, rows)
    say(_bars(estimated))
    say(estimated.sentence())


def _bars(estimated: Estimate) -> str:
    """The time of each stage as a line of blocks."""
    block = "█" if "utf" in (getattr(sys.stdout, "encoding", None) or "").lower() else "#"
    longest = max(cost.seconds for cost in estimated.stages)
    lines = ["estimated time"]
    for cost in estimated.stages:
        length = round(WIDTH * cost.seconds / max(longest, 1e-9))
        bar = block * max(length, 1 if cost.seconds > 0 else 0)
        lines.append(f"{cost.stage.name:>26}  {bar} {words(cost.seconds)}")
    return "\n".join(lines) + "\n"


def chart_of(estimated: Estimate) -> Chart:
    """The time of each stage."""
    units = ((3600, "hours"), (60, "minutes"), (1, "seconds"))
    divisor, unit = next((size, name) for size, name in units if estimated.seconds > 2 * size or size == 1)
    times = Bars("time", [cost.seconds / divisor for cost in estimated.stages])
    groups = [cost.stage.name for cost in estimated.stages]
    return bars([times], groups, x=Axis(f"estimated {unit}"), title="Estimated time of each stage")
