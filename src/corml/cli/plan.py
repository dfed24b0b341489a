"""corml plan: an estimate of a fit on a store, before there is one."""

import math
from typing import Any

import typer

import corml
from corml import models
from corml.cli._console import show_json, tell, wrote
from corml.cli._files import target
from corml.cli._options import pairs
from corml.cli._plans import chart_of, show_estimate
from corml.errors import UsageError, ascii_line
from corml.outofcore import Shape

__all__ = ["plan"]

LARGEST = 1e15


def plan(
    store: str = typer.Argument(None, metavar="STORE", help="A store; without one, give the numbers below."),
    interactions: str = typer.Option(None, "--interactions", metavar="N", help="Number of interactions, e.g. 1e9."),
    items: str = typer.Option(None, "--items", metavar="N", help="Number of items."),
    users: str = typer.Option(None, "--users", metavar="N", help="Number of users."),
    nodes: int = typer.Option(1, "--nodes", metavar="N", help="Number of machines, with one worker each."),
    cores: int = typer.Option(None, "--cores", metavar="N", help="Cores per machine (default: those of this one)."),
    rank: str = typer.Option(None, "--rank", metavar="N", help="Number of singular vectors (default: from the size)."),
    candidates: str = typer.Option(None, "--candidates", metavar="N", help="Candidate pairs per item at the start."),
    values: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of CoRML, e.g. adapt=false; may be repeated."
    ),
    user_skew: float = typer.Option(
        None, "--user-skew", metavar="X", help="Skew of history lengths: mean square over squared mean."
    ),
    distinct: float = typer.Option(
        None, "--distinct", metavar="X", help="Share of distinct pairs among all co-occurrences, up to 1."
    ),
    chart: str = typer.Option(None, "--chart", metavar="FILE", help="Write the times as a chart, .svg."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Estimate tasks, bytes, memory and time of a fit on a store.

    For each stage of making a store, a fit on it and lists for all users. Two kernels are timed briefly on this
    machine; the work is counted in the store, or follows from the numbers given and from assumptions that are printed.
    Nothing is fitted. Network delays are not included.

    \b
    Examples:
      corml plan --interactions 1e9 --items 1e6 --users 1e8 --nodes 32 --cores 16
      corml plan shop.store --chart plan.svg
    """
    if chart:
        if not chart.lower().endswith(".svg"):
            raise UsageError(f"A chart is written as .svg; got {ascii_line(chart, 200)}.")
        target(chart, store)
    given = {"user_skew": user_skew, "distinct": distinct}
    assumed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    sizes = {"interactions": interactions, "items": items, "users": users}
    numbers = {name: _whole(text, name) for name, text in sizes.items() if text is not None}
    if store and (numbers or assumed):
        raise UsageError("A store has its own numbers: leave out --interactions, --items, --users and assumptions.")
    if not store and len(numbers) < len(sizes):
        raise UsageError("Give a store, or --interactions, --items and --users.")
    settings: dict[str, Any] = pairs(values)
    settings |= {name: text for name, text in (("rank", rank), ("candidates", candidates)) if text is not None}
    model = models.make("corml", settings)
    data: corml.Store | Shape = corml.Store(store) if store else Shape(**numbers, **assumed)
    tell("note: timing two kernels on this machine")
    estimated = corml.estimate(model, data, nodes=nodes, cores=cores)
    if chart:
        chart_of(estimated).save(chart)
    if as_json:
        show_json(estimated.report())
        return
    show_estimate(estimated)
    if chart:
        wrote(chart, "the estimated time of each stage")


def _whole(text: str, name: str) -> int:
    """Read 1e9, 1_000_000 or 1000 as a number."""
    try:
        value = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        value = math.nan
    if not (1 <= value <= LARGEST and value == int(value)):
        raise UsageError(f"--{name} takes a whole number such as 1e6, from 1 to 1e15; got {ascii_line(text)}.")
    return int(value)
