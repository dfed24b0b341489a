"""corml why-not: why an item is not in a list."""

from typing import Any

import typer

from corml.cli._console import say, show_json, show_table
from corml.cli._list_options import chosen, model_and_history, with_list_options
from corml.cli._work import tell_unknown
from corml.errors import printable
from corml.recommend.options import RequestOptions

__all__ = ["why_not"]


@with_list_options(RequestOptions)
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
    lifts: int = typer.Option(
        3, "--lifts", metavar="N", min=0, help="Number of items to name that would lift it, added to --history."
    ),
    top: int = typer.Option(5, metavar="N", min=1, help="Number of history items to show."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON (all history items)."),
    listing: dict[str, Any] = {},
) -> None:
    """Say why an item is not in a list.

    Give the options that the list was made with. The answer is exact: the item is known, excluded, kept out by a rule,
    or ranks lower; with its rank and score, and what in the history speaks for it.

    \b
    Examples:
      corml why-not movies.corml 296 --user 15
      corml why-not movies.corml 296 --history 318,858 --max-per genre=1
    """
    loaded, whose = model_and_history(model, user, history, history_items)
    found = loaded.why_not(whose, item, lifts=lifts, **chosen(listing, loaded))
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
