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
    elif not name and not VERBOSE.get():
        width = max(map(len, listed))
        for key, about in listed.items():
            say(f"{key:{width}}  {about['about']}{' (fitting needs PyTorch)' if about['extra'] else ''}")
        tell("note: corml models NAME shows its paper and all its settings")
    else:
        for key, about in listed.items():
            _show(key, about, with_rules=bool(name))


def _show(name: str, about: dict[str, Any], *, with_rules: bool) -> None:
    """The paper of a model, and its settings in aligned columns."""
    say(f"{name}: {about['about']}")
    if about["citation"]:
        say(f"  {about['citation']}")
    if about["extra"]:
        say(f"  fitting needs PyTorch: pip install 'corml[{about['extra']}]'")
    say()
    rows = about["settings"]
    widths = [max(len(row[column]) for row in rows) for column in rows[0]] if rows else []
    for row in rows:
        *words, rule = row.values()
        say("    " + "  ".join(map(str.ljust, words, widths)).rstrip())
        if with_rules:
            say(f"        must be {rule}")
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
    """A model in words; of one that another package adds and that cannot be loaded, the reason."""
    try:
        return _about(name)
    except UsageError as fault:
        return {"about": str(fault), "citation": "", "extra": None, "settings": []}


def _row(spec: Declared) -> dict[str, str]:
    default = "none" if spec.default is None else str(spec.default)
    return {
        "setting": spec.name,
        "symbol": spec.symbol,
        "default": default,
        "meaning": spec.help,
        "must be": spec.rule.phrase,
    }
