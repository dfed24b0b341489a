"""corml metrics: what each metric means, and its formula."""

import typer

from corml.cli._console import VERBOSE, say, show_json

__all__ = ["metrics"]


def metrics(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List the metrics.

    Any of them works at any list length, as in ndcg@10. With -v each has its formula and which way is better.

    \b
    Examples:
      corml metrics
      corml metrics -v
    """
    from corml.evaluation.metrics import describe

    rows = [dict(zip(("name", "words", "formula", "better"), row, strict=True)) for row in describe()]
    if as_json:
        show_json(rows)
        return
    if not VERBOSE.get():
        width = max(len(row["name"]) for row in rows) + 2
        for row in rows:
            say(f"{row['name'] + '@K':{width}}   {row['words']}")
        return
    for row in rows:
        say(f"{row['name']}@K   {row['words']}")
        say(f"    {row['formula']}")
        say(f"    {row['better']}\n")
