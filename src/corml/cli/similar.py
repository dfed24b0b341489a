"""corml similar: what goes with an item."""

import typer

import corml
from corml.cli._console import show_json, show_table

__all__ = ["similar"]


def similar(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    items: list[str] = typer.Argument(..., metavar="ID", help="One or more item ids."),
    k: int = typer.Option(10, "-k", metavar="N", help="How many items."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the items that meeting one item speaks most for.

    \b
    Examples:
      corml similar movies.corml 318
      corml similar movies.corml 318 858 -k 5 --json
    """
    found = corml.read_model(model).similar(items, k=k)
    rows = [{"to": row.pop("user"), **row} for row in found.rows()]
    if as_json:
        show_json(rows)
        return
    columns = ["to", "rank", "item", "score", *(["title"] if found.titles else [])]
    show_table(columns, ([row[column] for column in columns] for row in rows))
