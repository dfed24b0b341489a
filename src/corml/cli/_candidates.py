"""Which items a list may have, as a command line says it: --exclude, --only-where "price<=20", --seen allow, …"""

from collections.abc import Callable
from typing import Any

import typer

from corml.cli._options import with_options
from corml.cli._where import excluded, only_these
from corml.cli._work import ids
from corml.models.recommender import Recommender
from corml.recommend.candidates import Candidates

CANDIDATES: dict[str, Any] = {
    "exclude": (
        str | None,
        typer.Option(None, "--exclude", metavar="IDS", help="Items never to recommend: id,id,… or @FILE."),
    ),
    "only": (
        str | None,
        typer.Option(None, "--only", metavar="IDS", help="Candidates: recommend only these items: id,id,… or @FILE."),
    ),
    "only_where": (
        list[str] | None,
        typer.Option(
            None,
            "--only-where",
            metavar="CONDITION",
            help="Recommend only items with this attribute: genre=Comedy,Drama or price<=20 or price=5..20; may be "
            "repeated, all must hold.",
        ),
    ),
    "exclude_where": (
        list[str] | None,
        typer.Option(
            None,
            "--exclude-where",
            metavar="CONDITION",
            help="Never recommend items with this attribute; may be repeated.",
        ),
    ),
    "now": (
        str | None,
        typer.Option(
            None,
            "--now",
            metavar="TIME",
            help="Leave out what is not available then, by the columns available_from and available_until: 2024-01-31, "
            "or now.",
        ),
    ),
    "seen": (
        str,
        typer.Option(
            "exclude",
            "--seen",
            metavar="RULE",
            help="Items a user is known to have: exclude; allow, they may come back; only, nothing else; learned, "
            "exclude those of the fit alone, to judge lists by held-out items.",
        ),
    ),
    "hide_events": (
        str | None,
        typer.Option(
            None,
            "--hide-events",
            metavar="TYPES",
            help="Exclude only items with such an event, purchase,cart: what a user merely viewed may come back.",
        ),
    ),
    "exclude_recent": (
        str | None,
        typer.Option(
            None,
            "--exclude-recent",
            metavar="TIME",
            help="Exclude items seen in the last 30d, or by event type: purchase=90d,view=1h. Others may come back.",
        ),
    ),
}


def with_candidates(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options; it receives them as `candidates`, for `candidates_of`."""

    def gather(values: dict[str, Any]) -> dict[str, Any]:
        values |= {name: ids(values[name]) for name in ("exclude", "only")}
        Candidates(**_about_users(values))  # mistakes are named before a model is read
        return values

    return with_options(command, "candidates", CANDIDATES, gather)


def candidates_of(given: dict[str, Any], model: Recommender) -> Candidates:
    """What is meant for the items and attributes of a model."""
    return Candidates(
        exclude=excluded(given["exclude_where"] or (), given["exclude"], model.attributes_),
        only=only_these(given["only_where"] or (), given["only"], model.attributes_),
        now=given["now"],
        **_about_users(given),
    )


def _about_users(given: dict[str, Any]) -> dict[str, Any]:
    """The options that are about what is known of users."""
    about_items = ("exclude", "only", "only_where", "exclude_where", "now")
    return {name: value for name, value in given.items() if name not in about_items}
