"""corml why-not: why an item is not in a list."""

from typing import Any

import typer

import corml
from corml.cli._candidates import candidates_of, with_candidates
from corml.cli._console import say, show_json, show_table
from corml.cli._rules import rules_of, with_rules
from corml.cli._work import ids, tell_unknown, turned
from corml.errors import UsageError, printable

__all__ = ["why_not"]


@with_candidates
@with_rules
def why_not(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    item: str = typer.Argument(..., metavar="ID", help="The item that is not in the list."),
    user: str = typer.Option(None, "--user", "-u", metavar="ID", help="A known user."),
    history: str = typer.Option(
        None, "--history", metavar="IDS", help="A history of items, of a known or new user: id,id,… or @FILE."
    ),
    history_items: list[str] = typer.Option(
        [], "--item", metavar="ID", help="An item of the history, as it is, commas and all; may be repeated."
    ),
    k: int = typer.Option(10, "-k", metavar="N", help="Number of items of the list."),
    lifts: int = typer.Option(
        3, "--lifts", metavar="N", min=0, help="Number of items to name that would lift it, added to --history."
    ),
    novelty: float = typer.Option(
        None, metavar="NUMBER", help="For a corml-dial model: from 0 (popular) to 1 (novel)."
    ),
    top: int = typer.Option(5, metavar="N", min=1, help="Number of history items to show."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON (all history items)."),
    candidates: dict[str, Any] = {},
    rules: dict[str, Any] = {},
) -> None:
    """Say why an item is not in a list.

    Give the options that the list was made with. The answer is exact: the item is known, excluded, kept out by a rule,
    or ranks lower; with its rank and score, and what in the history speaks for it.

    \b
    Examples:
      corml why-not movies.corml 296 --user 15
      corml why-not movies.corml 296 --history 318,858 --max-per genre=1
    """
    given = None if history is None and not history_items else [*(ids(history) or []), *history_items]
    if (user is None) == (given is None):
        raise UsageError("Say whose list: either --user, or --history or --item.")
    loaded = turned(corml.read_model(model), novelty)
    if user is not None and not len(loaded.users_):
        raise UsageError(f"'{model}' was saved without its users: give --history with item ids.")
    options = {**vars(candidates_of(candidates, loaded)), **vars(rules_of(rules, loaded))}
    found = loaded.why_not(user if user is not None else given or [], item, k=k, lifts=lifts, **options)
    if as_json:
        show_json(found.record())
    else:
        titles = found.titles
        say(f"{printable(titles.get(found.item, found.item))}: {printable(found.reason)}")
        rows = [] if found.explanation is None else found.explanation.rows()[:top]
        if rows:
            show_table(
                ["item", "contribution", *(["title"] if titles else [])],
                ([row["item"], round(row["contribution"], 4), *([row["title"]] if titles else [])] for row in rows),
            )
        for lift in found.lifts:
            say(f"with {printable(titles.get(lift.item, lift.item))} in the history: rank {lift.rank_then:,}")
    tell_unknown(found.unknown, "--history")
