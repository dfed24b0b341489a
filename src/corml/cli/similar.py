"""corml similar: the items most associated with an item."""

import typer

import corml
from corml.cli._console import show_json, show_table

__all__ = ["similar"]


def similar(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    items: list[str] = typer.Argument(..., metavar="ID", help="One or more item ids."),
    k: int = typer.Option(10, "-k", metavar="N", help="Number of items per list."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the items most associated with an item.

    \b
    Examples:
      corml similar movies.corml 318
      corml similar movies.corml 318 858 -k 5 --json
    """
    lists = corml.read_model(model).similar(items, k=k)
    rows = [{"to": row.pop("user"), **row} for row in lists.rows()]
    if as_json:
        show_json(rows)
        return
    columns = ["to", "rank", "item", "score", *(["title"] if lists.titles else [])]
    show_table(columns, ([row[column] for column in columns] for row in rows))
