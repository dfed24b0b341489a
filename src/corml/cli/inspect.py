"""corml inspect: what a model file is, without fitting or judging anything."""

from typing import Any

import typer

from corml import container, memory
from corml.cli._console import say, show_json, show_table

__all__ = ["inspect"]


def inspect(
    model: str = typer.Argument(..., help="A model file."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show settings, data, split, figures and versions kept in a model file; every byte is checked first.

    \b
    corml inspect shop.corml
    """
    contents = container.read(model)
    meta, arrays = contents.meta, contents.arrays
    if as_json:
        shapes = {name: [str(array.dtype), *array.shape] for name, array in arrays.items()}
        show_json({**meta, "digest": contents.digest, "bytes": contents.bytes, "arrays": shapes})
        return
    users, items = meta["shape"]
    say(
        f"{meta['model']} model, format {meta['format']}, {memory.size(contents.bytes)}, digest {contents.digest[:16]}…"
    )
    say(f"learned from {users:,} users x {items:,} items, data {meta['data'].get('fingerprint', '')[:16]}…")
    show_table(["setting", "value"], ((k, "auto" if v is None else v) for k, v in meta["settings"].items()))
    _mapping("fit", meta["notes"])
    _mapping("judged", {k: v for k, v in meta["evaluation"].items() if k not in ("metrics", "intervals")})
    _metrics(meta["evaluation"])
    _mapping("made with", meta["made_with"])


def _metrics(evaluation: dict[str, Any]) -> None:
    if "metrics" in evaluation:
        show_table(["metric", "value"], sorted(evaluation["metrics"].items()))


def _mapping(title: str, values: dict[str, Any]) -> None:
    if values:
        show_table([title, ""], ((key, str(value)) for key, value in values.items()))
