"""Options of lists as flags: from their declarations in `corml.recommend.options`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import typer

import corml
from corml.cli._options import Given, with_options
from corml.errors import UsageError, ascii_line
from corml.models.recommender import Recommender
from corml.recommend.options import Catalogue, ListOptions, declared, key_of, options_of, texts_of
from corml.recommend.text import ids

HISTORIES = ("--history", "--item")
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


def check_once(**given: bool) -> None:
    """Refuse known users together with a history: the flags that were used, users first."""
    used = [f"--{name}" for name, is_given in given.items() if is_given]
    if used and used[0] not in HISTORIES and used[-1] in HISTORIES:
        raise UsageError(f"Say for whom once: either {used[0]} or {used[-1]}.")


def model_and_history(
    path: str, user: str | None, history: str | None, items: Sequence[str]
) -> tuple[Recommender, str | list[str]]:
    """A model, and the known user or the items of a history that a command names."""
    given = None if history is None and not items else [*(ids(history) or []), *items]
    check_once(user=user is not None, history=history is not None, item=bool(items))
    if user is None and given is None:
        raise UsageError("Say whose history: either --user, or --history or --item.")
    model = corml.read_model(path)
    if user is not None and not len(model.users_):
        raise UsageError(f"{ascii_line(path, 200)} was saved without its users: give --history with item ids.")
    return model, user if user is not None else given or []
