"""corml plan: what a fit on a store will take, before there is one."""

import math
from typing import Any

import typer

import corml
from corml import memory, models
from corml.cli._console import show_json, tell, wrote
from corml.cli._options import pairs
from corml.cli._plans import chart_of, show_estimate
from corml.cli._work import target
from corml.errors import UsageError, ascii_line
from corml.method.out_of_core.counts import Assumptions

__all__ = ["plan"]

LARGEST = 1e15


def plan(
    store: str = typer.Argument(None, metavar="STORE", help="A store; without one, the numbers below are given."),
    interactions: str = typer.Option(None, "--interactions", metavar="N", help="Pairs of user and item, e.g. 1e9."),
    items: str = typer.Option(None, "--items", metavar="N", help="Items of the catalogue."),
    users: str = typer.Option(None, "--users", metavar="N", help="Users."),
    nodes: int = typer.Option(1, "--nodes", metavar="N", help="Machines, with one worker each."),
    cores: int = typer.Option(None, "--cores", metavar="N", help="Cores of a machine (default: of this one)."),
    rank: str = typer.Option(None, "--rank", metavar="N", help="Singular vectors (default: from the size)."),
    candidates: str = typer.Option(None, "--candidates", metavar="N", help="Pairs of an item to begin with."),
    values: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of CoRML, e.g. adapt=false; may be repeated."
    ),
    price: float = typer.Option(0.0, "--price", metavar="MONEY", help="Of a core for an hour."),
    network: str = typer.Option("1GB/s", "--network", metavar="RATE", help="Of the link of a machine."),
    user_skew: float = typer.Option(
        None, "--user-skew", metavar="X", help="Mean square of users' numbers of items over the square of the mean."
    ),
    distinct: float = typer.Option(
        None, "--distinct", metavar="X", help="Co-occurring pairs over visits in which they are met, up to 1."
    ),
    mutual: float = typer.Option(
        None, "--mutual", metavar="X", help="Candidates of an item over those that it selected itself."
    ),
    partner_skew: float = typer.Option(
        None, "--partner-skew", metavar="X", help="Mean square of items' numbers of candidates over the square."
    ),
    popular: float = typer.Option(
        None, "--popular", metavar="X", help="Candidates of an item weighed by its users, over the mean."
    ),
    chart: str = typer.Option(None, "--chart", metavar="FILE", help="Write the times as a chart, .svg."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Estimate time, memory, network and cost of a fit on a store.

    For each stage of making a store, a fit on it and lists for everybody. Kernels are timed on this machine for some
    seconds; the work is counted in a store, or follows from numbers and from assumptions that are printed. Nothing is
    fitted.

    \b
    Examples:
      corml plan --interactions 1e9 --items 1e6 --users 1e8 --nodes 32 --cores 16
      corml plan shop.store --price 0.05 --chart plan.svg
    """
    if chart:
        if not chart.lower().endswith(".svg"):
            raise UsageError(f"A chart is written as .svg; got {ascii_line(chart, 200)}.")
        target(chart, store)
    given = {"user_skew": user_skew, "distinct": distinct, "mutual": mutual}
    given |= {"partner_skew": partner_skew, "popular": popular}
    assumed = {name: value for name, value in given.items() if value is not None}
    numbers = {"interactions": interactions, "items": items, "users": users}
    settings: dict[str, Any] = pairs(values)
    settings |= {name: text for name, text in (("rank", rank), ("candidates", candidates)) if text is not None}
    model = models.make("corml", settings)
    how: dict[str, Any] = {
        **{name: None if text is None else _whole(text, name) for name, text in numbers.items()},
        "nodes": nodes,
        "cores": cores,
        "network": _rate(network),
        "price": price,
        "assumed": Assumptions(**assumed) if assumed else None,
    }
    opened = corml.Store(store) if store else None
    tell("note: kernels are timed on this machine for some seconds")
    found = corml.estimate(model, opened, **how)
    if chart:
        chart_of(found).save(chart)
    if as_json:
        show_json(found.report())
        return
    show_estimate(found)
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


def _rate(text: str) -> float:
    try:
        return float(memory.read_size(text.strip().removesuffix("/s")))
    except UsageError:
        raise UsageError(f"--network takes bytes a second such as 1GB/s; got {ascii_line(text)}.") from None
