"""corml metrics: what each metric means, by its formula."""

import typer

from corml.cli._console import say, show_json

__all__ = ["metrics"]


def metrics(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Print every metric with its formula.

    Any of them works at any list length, as in ndcg@10.

    \b
    Examples:
      corml metrics
      corml metrics --json
    """
    from corml.metrics import describe

    rows = [dict(zip(("name", "words", "formula", "better"), row, strict=True)) for row in describe()]
    if as_json:
        show_json(rows)
        return
    for row in rows:
        say(f"{row['name']}@K   {row['words']}")
        say(f"    {row['formula']}")
        say(f"    {row['better']}\n")
