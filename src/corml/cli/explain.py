"""corml explain: why an item scores as it does."""

import typer

import corml
from corml.cli._console import say, show_json, show_table, tell
from corml.cli._work import ids
from corml.errors import UsageError

__all__ = ["explain"]


def explain(
    model: str = typer.Argument(..., help="A model file."),
    item: str = typer.Argument(..., help="The item to explain."),
    user: str = typer.Option(None, "--user", "-u", help="A known user."),
    history: str = typer.Option(None, "--history", help="Items of anyone: id,id,… or @FILE."),
    top: int = typer.Option(20, help="How many history items to show."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show what each item of a history adds to the score of an item; the parts sum to the score.

    \b
    corml explain movies.corml 318 --user 15
    corml explain movies.corml 318 --history 50,858
    """
    if (user is None) == (history is None):
        raise UsageError("Say whose history: either --user or --history.")
    found = corml.read_model(model).explain(user if user is not None else ids(history) or [], item)
    rows = found.rows()
    if as_json:
        show_json({"item": found.item, "score": found.score, "unknown": list(found.unknown), "contributions": rows})
        return
    say(f"{found.titles.get(found.item, found.item)}: score {found.score:.4f}, from {len(rows)} items")
    columns = ["item", "contribution", *found.parts, *(["title"] if found.titles else [])]
    show_table(columns, ([row[column] for column in columns] for row in rows[:top]))
    for label in found.unknown:
        tell(f"note: the model does not know {label!r}")
