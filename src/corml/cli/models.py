"""corml models: the models, their papers and their settings."""

from typing import Any

import typer

from corml import models as registry
from corml._runtime.settings import Declared, declared
from corml.cli._console import VERBOSE, say, show_json, tell
from corml.errors import UsageError
from corml.models.neural.training.gradient_model import GradientModel

__all__ = ["models"]


def models(
    name: str = typer.Argument(None, metavar="MODEL", help="Show only this model."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the models, or all settings of one.

    For a single model, and with -v for all: its paper, and each setting with its symbol, default and meaning, and for a
    single model its valid values; set them with corml fit --set NAME=VALUE.

    \b
    Examples:
      corml models
      corml models corml
    """
    listed = {name: _about(name)} if name else {key: _about_or_fault(key) for key in registry.names()}
    if as_json:
        show_json(listed)
        return
    if not name and not VERBOSE.get():
        width = max(map(len, listed))
        for key, about in listed.items():
            needs = " (fitting needs PyTorch)" if about["extra"] else ""
            say(f"{key:{width}}  {about['about']}{needs}")
        tell("note: corml models NAME shows its paper and all its settings")
        return
    for key, about in listed.items():
        say(f"{key}: {about['about']}")
        if about["citation"]:
            say(f"  {about['citation']}")
        if about["extra"]:
            say(f"  fitting needs PyTorch: pip install 'corml[{about['extra']}]'")
        say()
        rows = about["settings"]
        for row, line in zip(rows, _aligned([list(row.values())[:-1] for row in rows]), strict=True):
            say(f"    {line}" + (f"\n        must be {row['must be']}" if name else ""))
        if rows:
            say()


def _about(name: str) -> dict[str, Any]:
    model = registry.get(name)
    return {
        "about": (model.__doc__ or "").strip().splitlines()[0],
        "citation": model.CITATION,
        "extra": "neural" if issubclass(model, GradientModel) else None,
        "settings": [_row(spec) for spec in declared(model).values()],
    }


def _about_or_fault(name: str) -> dict[str, Any]:
    """What there is to say of a model; of one that another package adds and that cannot be loaded, why."""
    try:
        return _about(name)
    except UsageError as fault:
        return {"about": str(fault), "citation": "", "extra": None, "settings": []}


def _row(spec: Declared) -> dict[str, str]:
    default = "none" if spec.default is None else str(spec.default)
    words = (spec.name, spec.symbol, default, spec.help, spec.rule.phrase)
    return dict(zip(("setting", "symbol", "default", "meaning", "must be"), words, strict=True))


def _aligned(rows: list[list[str]]) -> list[str]:
    """Rows as lines, each column as wide as its longest word."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
