"""The plan of a fit and the estimate of one, as tables and a chart."""

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

BYTES = ("predicted bytes", "worker bytes")


def show_plan(plan: Plan, as_json: bool) -> None:
    """The plan of a fit, with its stages if it is on a store."""
    stages = plan.stages if isinstance(plan, StorePlan) else ()
    if as_json:
        show_json(plan.report() | ({"stages": [asdict(stage) for stage in stages]} if stages else {}))
        return
    for name, value in plan.report().items():
        say(f"{name:>20}  {_shown(name, value)}")
    if stages:
        say()
        show_table(*_table_of(stages))
    elif "predicted seconds" in plan.report():
        tell(
            "note: predicted seconds are those of one fit with its filter selection, on idle threads; loading is "
            "extra, and so are, with --split, a second fit (on all data) and the evaluation"
        )


def _shown(name: str, value: object) -> str:
    """Bytes in a unit, other numbers rounded and with separators of thousands, anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name in BYTES:
        return memory.size(value)
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.3g}"


def tell_plan(recommender: Recommender, store: Store | None) -> None:
    """Before a fit on a store: its stages, on standard error."""
    if store is None or QUIET.get():
        return
    plan = plan_store(recommender, store)
    assert isinstance(plan, StorePlan)
    tell(f"plan: {plan.sentence()}")
    show_table(*_table_of(plan.stages), remark=True)


def _table_of(stages: tuple[Stage, ...]) -> tuple[list[str], list[list[Any]]]:
    columns = ["stage", "rounds", "tasks", "work", "read", "written", "worker"]
    sizes = ((stage.read, stage.written, stage.worker_bytes + stage.thread_bytes) for stage in stages)
    return columns, [
        [stage.name, stage.runs, stage.all_tasks, _work(stage), *map(memory.size, bytes_of)]
        for stage, bytes_of in zip(stages, sizes, strict=True)
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


def show_estimate(estimated: Estimate) -> None:
    """The assumptions, a row for each stage, and a sentence."""
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
    rows = [
        [
            *(cost.stage.name, cost.stage.all_tasks, _work(cost.stage)),
            *(memory.size(count) for count in (cost.stage.read, cost.stage.written, cost.worker_bytes)),
            *(words(seconds) for seconds in (cost.core_seconds, cost.seconds, cost.driver_seconds)),
        ]
        for cost in estimated.stages
    ]
    show_table(columns, rows)
    say(estimated.sentence())


def chart_of(estimated: Estimate) -> Chart:
    """The time of each stage."""
    units = ((3600, "hours"), (60, "minutes"), (1, "seconds"))
    divisor, unit = next((size, name) for size, name in units if estimated.seconds > 2 * size or size == 1)
    times = Bars("time", [cost.seconds / divisor for cost in estimated.stages])
    groups = [cost.stage.name for cost in estimated.stages]
    return bars([times], groups, x=Axis(f"estimated {unit}"), title="Estimated time of each stage")
