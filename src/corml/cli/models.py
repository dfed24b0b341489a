"""corml models: which models there are and what can be set."""

import typer

from corml import models as registry
from corml.cli._console import say, show_json
from corml.settings import Declared, declared

__all__ = ["models"]


def models(
    name: str = typer.Argument(None, metavar="MODEL", help="Only this model."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List the models and all their settings.

    Each with its default, what it may be and what it means; set them with corml fit --set NAME=VALUE.

    \b
    Examples:
      corml models
      corml models corml
    """
    chosen = [name] if name else list(registry.names())
    rows = {one: [_row(spec) for spec in declared(registry.get(one)).values()] for one in chosen}
    if as_json:
        show_json({one: [dict(zip(COLUMNS, row, strict=True)) for row in listed] for one, listed in rows.items()})
        return
    for one, listed in rows.items():
        say(f"{one}: {(registry.get(one).__doc__ or '').strip().splitlines()[0]}\n")
        for setting, symbol, default, rule, meaning in listed:
            say(f"  {setting}{f' ({symbol})' if symbol else ''} = {default}: {meaning}\n      must be {rule}")
        say()


COLUMNS = ("setting", "symbol", "default", "must be", "meaning")


def _row(spec: Declared) -> list[str]:
    default = "none" if spec.default is None else str(spec.default)
    return [spec.name, spec.symbol, default, spec.rule.phrase, spec.help]
