"""corml explain: why an item scores as it does."""

import typer

import corml
from corml.cli._console import clean, say, show_json, show_table
from corml.cli._work import ids, tell_unknown
from corml.errors import UsageError

__all__ = ["explain"]


def explain(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    item: str = typer.Argument(..., metavar="ID", help="The item to explain."),
    user: str = typer.Option(None, "--user", "-u", metavar="ID", help="A known user."),
    history: str = typer.Option(None, "--history", metavar="IDS", help="Items of anyone: id,id,… or @FILE."),
    top: int = typer.Option(20, metavar="N", min=1, help="How many history items to show."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON (all history items)."),
) -> None:
    """Show what each item of a history adds to a score.

    The parts sum to the score: what the history speaks for an item is told exactly, not guessed afterwards.

    \b
    Examples:
      corml explain movies.corml 318 --user 15
      corml explain movies.corml 318 --history 50,858
    """
    if (user is None) == (history is None):
        raise UsageError("Say whose history: either --user or --history.")
    told = user if user is not None else ids(history) or []
    loaded = corml.read_model(model)
    if user is not None and not len(loaded.users_):
        raise UsageError(f"'{model}' was saved without its users: give --history with someone's items.")
    found = loaded.explain(told, item)
    rows = found.rows()
    if as_json:
        show_json({"item": found.item, "score": found.score, "unknown": list(found.unknown), "contributions": rows})
    else:
        say(f"{clean(found.titles.get(found.item, found.item))}: score {found.score:.4f}, from {len(rows)} items")
        columns = ["item", "contribution", *found.parts, *(["title"] if found.titles else [])]
        show_table(columns, ([row[column] for column in columns] for row in rows[:top]))
    tell_unknown(found.unknown, "--history")
