"""corml explain: which history items a score comes from."""

from typing import Any

import typer

from corml._runtime.values import counted
from corml.cli._console import say, show_json, show_table
from corml.cli._list_options import model_and_history
from corml.cli._work import tell_unknown
from corml.errors import printable

__all__ = ["explain"]


def explain(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    item: str = typer.Argument(..., metavar="ID", help="The item to explain."),
    user: str = typer.Option(None, "--user", "-u", metavar="ID", help="A known user."),
    history: str = typer.Option(
        None, "--history", metavar="IDS", help="A history of items, of a known or new user: id,id,… or @FILE."
    ),
    history_items: list[str] = typer.Option(
        [], "--item", metavar="ID", help="An item of the history, as it is, commas and all; may be repeated."
    ),
    top: int = typer.Option(20, metavar="N", min=1, help="Number of history items to show; the others are added up."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON (all history items)."),
) -> None:
    """Show how much each history item contributes to a score.

    The contributions sum to the score: the decomposition is exact, not an approximation.

    \b
    Examples:
      corml explain movies.corml 318 --user 15
      corml explain movies.corml 318 --history 50,858
      corml explain shop.corml Pepper --item "Salt, coarse" --item Oil
    """
    loaded, whose = model_and_history(model, user, history, history_items)
    explanation = loaded.explain(whose, item)
    rows = explanation.rows()
    if as_json:
        show_json(
            {
                "item": explanation.item,
                "score": explanation.score,
                "unknown": list(explanation.unknown),
                "contributions": rows,
                **(
                    {"like": [{"item": one, "weight": weight} for one, weight in explanation.like]}
                    if explanation.like
                    else {}
                ),
            }
        )
    else:
        title = printable(explanation.titles.get(explanation.item, explanation.item))
        say(f"{title}: score {explanation.score:.4f}, from {counted(len(rows), 'item')}")
        if explanation.like:
            say(f"new; it is like {printable(explanation.shown_like())}")
        columns = explanation.columns
        show_table(
            [name.replace("_", " ") for name in columns], (_cells(row, columns) for row in explanation.largest(top))
        )
    tell_unknown(explanation.unknown, "--history")


def _cells(row: dict[str, Any], columns: list[str]) -> list[Any]:
    """What is known of an item: contributions with four digits, an age in whole days."""
    shown = {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}
    shown |= {"age_days": "" if row.get("age_days") is None else round(row["age_days"])}
    return [shown.get(column, "") for column in columns]
