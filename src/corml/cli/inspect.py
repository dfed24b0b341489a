"""corml inspect: the contents of a model file, without fitting or evaluating anything."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from corml import memory
from corml.cli._console import say, show_json, show_table
from corml.errors import ModelFileError, printable
from corml.evaluation.table import lay_out
from corml.storage import container
from corml.storage.recorded import check_recorded

__all__ = ["inspect"]

LABEL = re.compile(r"[a-z][a-z0-9_]*@[0-9]{1,6}")  # of a metric
MANY = 12  # facts of a kind, such as the trials of a look, that would fill screens


def inspect(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show the contents of a model file, after an integrity check.

    Settings, training data, split, metrics, and the software versions it was made with.

    \b
    Examples:
      corml inspect shop.corml
      corml inspect shop.corml --json
    """
    contents = container.read(model)
    try:
        check_recorded(contents.meta)
    except ModelFileError as fault:
        raise ModelFileError(f"{contents.name} cannot be trusted: {fault}. Fit again.") from None
    meta, arrays = contents.meta, contents.arrays
    if as_json:
        shapes = {name: [str(array.dtype), *array.shape] for name, array in arrays.items()}
        show_json({**meta, "digest": contents.digest, "bytes": contents.bytes, "arrays": shapes})
        return
    size, users = memory.size(contents.bytes), "with" if "users.bytes" in arrays else "without"
    say(f"{printable(meta['model'])} model, format {meta['format']}, {size}, {users} the histories of its users")
    sizes = (f"{number:,} {what}" for number, what in zip(meta["shape"], ("users", "items"), strict=False))
    say(f"fitted on {' x '.join(sizes)}")
    updates = meta.get("now", {}).get("updates", [])
    if updates:
        pairs, users = (sum(one.get(name, 0) for one in updates) for name in ("interactions", "new_users"))
        last = printable(updates[-1].get("when"))
        say(f"added since, not learned from: interactions {pairs:,}, new users {users:,}, last on {last}")
    say(f"digest {contents.digest}\n")
    _section("setting", {name: "none" if value is None else value for name, value in meta["settings"].items()})
    _section("data", meta["data"])
    _section("attribute of items", _kinds(meta.get("attributes")))
    _section("known now", meta.get("now", {}))
    _section("fit", meta["notes"])
    evaluation = meta["evaluation"]
    _section("evaluation", {name: value for name, value in evaluation.items() if name not in ("metrics", "intervals")})
    metrics, others = _known_metrics(evaluation.get("metrics"))
    if metrics:
        intervals = {name: tuple(ends) for name, ends in evaluation.get("intervals", {}).items()}
        say(lay_out(metrics, intervals) + "\n")
    _section("metric", others)
    _section("versions", meta.get("made_with", {}))


def _known_metrics(metrics: Any) -> tuple[dict[str, float], dict[str, Any]]:
    """Metrics of a name and a length, such as ndcg@10, that can be laid out; and whatever else a file has there."""
    given = metrics if isinstance(metrics, dict) else {}
    laid_out = {
        name: value
        for name, value in given.items()
        if LABEL.fullmatch(name) and isinstance(value, int | float) and not isinstance(value, bool)
    }
    return laid_out, {name: value for name, value in given.items() if name not in laid_out}


def _kinds(attributes: Any) -> dict[str, Any]:
    """Names and kinds of the columns of a table of items, as far as the file says them."""
    columns = attributes.get("columns") if isinstance(attributes, dict) else None
    pairs = [one for one in columns if isinstance(one, list) and len(one) == 2] if isinstance(columns, list) else []
    return {str(name): kind for name, kind in pairs}


def _section(title: str, values: dict[str, Any]) -> None:
    rows = list(_flat(values))
    if rows:
        show_table([title, ""], rows)


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as lines, each named by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name} {key}".strip())
    elif isinstance(value, list) and len(value) > MANY and all(isinstance(inner, dict) for inner in value):
        yield name, f"{len(value)}, see --json"
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value, start=1):
            yield from _flat(inner, f"{name} {number}" if len(value) > 1 else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value) if any(isinstance(inner, str) for inner in value) else [(0, value)]:
            yield ("" if number else name), inner if isinstance(inner, str) else ", ".join(map(str, inner))
    else:
        yield name, str(value)
