"""corml export: a model as tables for a database or a warehouse, with a query that recommends, or as a page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from corml import models
from corml._runtime import memory
from corml._runtime.values import whole_number
from corml.cli._console import STDOUT, VERBOSE, progress, say, show_json, tell, wrote
from corml.cli._work import turned
from corml.errors import UsageError, ascii_line
from corml.persistence import container
from corml.service.export import KEEP, check_place, export_model, target

__all__ = ["export"]

ALL = "all"
SLOW_PAGE = 32 << 20  # bytes


def export(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    to: str = typer.Option(..., "--to", metavar="NAME", help="What to write: sqlite, duckdb, parquet or html."),
    out: str = typer.Option(
        None, "--out", "-o", metavar="FILE", help="The file or, for parquet, folder (default: named as the model)."
    ),
    lists: bool = typer.Option(False, "--lists", help="The lists of all users, instead of pairs of items."),
    pairs: str = typer.Option(
        str(KEEP), "--pairs", metavar="N", help="Pairs kept for each item, the largest in size; all keeps all."
    ),
    k: int = typer.Option(10, "-k", metavar="N", help="Length of lists, also of those the loss is measured by."),
    hide_events: str = typer.Option(
        None,
        "--hide-events",
        metavar="TYPES",
        help="With --lists: exclude only items with such an event, purchase,cart.",
    ),
    exclude_recent: str = typer.Option(
        None,
        "--exclude-recent",
        metavar="TIME",
        help="With --lists: exclude items seen since: 30d, or purchase=90d,view=1h.",
    ),
    novelty: float = typer.Option(
        None, metavar="NUMBER", help="For a corml-dial model: from 0 (popular) to 1 (novel)."
    ),
    force: bool = typer.Option(False, "--force", help="Replace an export that is there."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Export a model as tables for a JOIN, or as one page.

    Pairs: what each item of a history adds to the score of another item, and a query that takes a history and returns
    the best items. Negative weights are kept as well. How much of the model's lists is kept is measured and written
    into the export. Models whose scores are not sums over the history have lists only.

    Html: one page with the whole model inside and the studio to play with it. It opens from a file, without a server
    or a network, and has no users in it. For catalogues of up to 5,000 items.

    \b
    Examples:
      corml export shop.corml --to sqlite
      corml export shop.corml --to duckdb --pairs 1000 --out shop.duckdb --force
      corml export shop.corml --to parquet --lists -k 20 --out lists
      corml export shop.corml --to html --out shop.html
    """
    place = out or Path(model).stem + target(to).ending
    if place == STDOUT:
        raise UsageError("An export is a file or a folder, not text for standard output: give it a name.")
    keep = _number_or_all(pairs)
    check_place(to, place, force=force)
    contents = container.read(model)
    loaded = turned(models.from_contents(contents), novelty)
    how: dict[str, Any] = {"lists": lists, "pairs": keep, "k": k, "digest": contents.digest, "force": force}
    how |= {"name": Path(model).stem, "hide_events": hide_events, "exclude_recent": exclude_recent}
    with progress() as show:
        done = export_model(loaded, to, place, **how, progress=show)
    size = sum(file.stat().st_size for file in [done.path, *done.path.rglob("*")] if file.is_file())
    if as_json:
        show_json({"file": place, "bytes": size, **done.facts})
        return
    wrote(place, f"{_counted(done.facts)}, {memory.size(size)}")
    for line in _remarks(done.facts, size):
        tell(line)
    if done.query and VERBOSE.get():
        say(done.query)
    elif done.query:
        where = f"in {place}/query.sql" if done.path.is_dir() else "in the table metadata, under the name query"
        tell(f"note: the query that recommends is {where}; with -v it is printed here")


def _number_or_all(text: str) -> int | None:
    if text.strip().lower() == ALL:
        return None
    number = whole_number(text)
    if not number:
        raise UsageError(f"--pairs must be a whole number from 1, or all; got {ascii_line(text)}.")
    return number


def _counted(facts: dict[str, Any]) -> str:
    if facts["contents"] == "model":
        return f"{facts['items']:,} items, the whole model"
    if facts["contents"] == "lists":
        return f"{facts['lists']:,} lists of {facts['k']}"
    return f"{facts['items']:,} items, {facts['pairs']:,} pairs"


def _remarks(facts: dict[str, Any], size: int) -> Iterator[str]:
    """What was dropped, and how much that changes the lists; what to do with a page."""
    if facts["contents"] == "model":
        yield "note: open it in a browser; it needs no server and no network, and has no users in it"
        if size > SLOW_PAGE:
            yield "note: a page of this size takes seconds to open; the weights of corml are sparse, its pages smaller"
    if facts.get("lists_shorter_than_k"):
        yield f"note: {facts['lists_shorter_than_k']:,} lists are shorter than {facts['k']}"
    if facts.get("pairs_dropped"):
        kept = f"{facts['weight_kept']:.0%} of the weight is kept"
        yield f"note: {facts['pairs_dropped']:,} smaller pairs were dropped; {kept}"
        if "overlap" in facts:
            yield (
                f"note: lists of {facts['overlap_k']} share {facts['overlap']:.1%} of their items with the model's "
                f"({facts['overlap_users']:,} users)"
            )
        else:
            yield "note: what that does to lists was not measured: the model file has no histories"
