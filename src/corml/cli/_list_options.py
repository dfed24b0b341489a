"""Options of lists as flags: from their declarations in `corml.recommend.options`."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import typer

from corml.cli._options import Given, with_options
from corml.models.recommender import Recommender
from corml.recommend.options import Catalogue, ListOptions, declared, key_of, options_of, texts_of

C = TypeVar("C", bound=Callable[..., Any])


def with_list_options(of: type = ListOptions, *, without: Collection[str] = ()) -> Callable[[C], C]:
    """Give a command options of lists; it receives what was given as `listing`, as text, for `chosen`."""
    flags: Given = {}
    for name, option in declared(of).items():
        for flag in option.flags if name not in without else ():
            kind = list[str] if flag.many else flag.kind
            words = flag.help or f"{option.help[0].upper()}{option.help[1:]}."
            shown = typer.Option(option.default or None, flag.name, metavar=flag.metavar, help=words)
            flags[key_of(flag)] = (kind | None, shown)
    return lambda command: with_options(command, "listing", flags, texts_of)  # type: ignore[return-value]


def chosen(listing: Mapping[str, Mapping[str, Any]], model: Recommender) -> dict[str, Any]:
    """The options that are meant for the items and attributes of a model."""
    return options_of(listing, Catalogue(model.items_, model.attributes_))
