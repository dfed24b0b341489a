"""Appendix: where the numbers come from: data, split, settings, versions, date and command."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from corml._runtime.settings import Declared, declared
from corml.models.fitted import Fitted
from corml.models.saved.model_file import environment
from corml.report import _text as text
from corml.report.page import Command, Groups, Note, Section
from corml.report.subject import Subject

__all__ = ["section"]

Rows = tuple[tuple[str, str], ...]
FINGERPRINT = 16  # digits that tell data sets apart at a glance
MAX_LISTED = 5


def section(subject: Subject) -> Section:
    """Gather settings and provenance as groups of names and values."""
    groups = [
        ("Data", _data(subject)),
        ("Split", _split(subject)),
        *_models(subject),
        *_more(subject),
        ("Versions", _versions(subject)),
    ]
    made = f"Made on {subject.when}" if subject.when else "Made"
    command = (Note(f"{made} with this command:"), Command(subject.command)) if subject.command else ()
    return Section(
        "provenance",
        "How to reproduce this",
        "The same data, settings and versions give the same numbers; times differ from run to run.",
        (*command, Groups(tuple(group for group in groups if group[1]))),
        appendix=True,
    )


def _more(subject: Subject) -> list[tuple[str, Rows]]:
    return [
        (name, tuple((key, shown) for key, value in rows.items() if (shown := _value(value))))
        for name, rows in subject.more.items()
    ]


def _data(subject: Subject) -> Rows:
    """Where the data came from; the number of rows is among the facts already."""
    if subject.data is None:
        return ()
    rows = [(key, _value(value)) for key, value in subject.data.source.items() if not isinstance(value, int)]
    return (("name", subject.name), ("fingerprint", _value(subject.data.fingerprint)), *((k, v) for k, v in rows if v))


def _split(subject: Subject) -> Rows:
    if subject.split is None:
        return ()
    procedure = [(key, _value(value)) for key, value in subject.split.procedure.items()]
    counts = [(key, _size(value)) for key, value in subject.split.counts().items()]
    return (*((k, v) for k, v in procedure if v), *counts, ("fingerprint", _value(subject.split.fingerprint)))


def _models(subject: Subject) -> Iterator[tuple[str, Rows]]:
    for name, (model, _) in subject.models.items():
        settings = declared(type(model)) if dataclasses.is_dataclass(model) else {}
        rows = [(_named(spec), _chosen(spec, getattr(model, key))) for key, spec in settings.items()]
        yield f"Settings of {name}", (*rows, *_fitted(model))


def _fitted(model: Any) -> Iterator[tuple[str, str]]:
    """What a fit decided by itself."""
    state: Fitted | None = getattr(model, "fitted_", None)
    if state is None:
        return
    rank = getattr(state.plan, "rank", None)
    if rank is not None:
        yield "rank used", text.plain(rank)


def _versions(subject: Subject) -> Rows:
    return tuple((key, str(value)) for key, value in (subject.versions or environment()).items())


def _size(value: Any) -> str:
    if isinstance(value, Mapping) and "pairs" in value:
        return f"{text.plain(value['pairs'])} pairs, {text.plain(value.get('users'))} users"
    return text.plain(value)


def _named(spec: Declared) -> str:
    return f"{spec.name} ({spec.symbol})" if spec.symbol else spec.name


def _chosen(spec: Declared, value: Any) -> str:
    """Write a setting as it is typed; where none was given, what that means in the words of its rule."""
    meaning = re.search(r"or none \((.*)\)", spec.rule.phrase)
    return meaning[1] if value is None and meaning else _value(value)


def _value(value: Any) -> str:
    """Write numbers as they would be typed, and of a fingerprint its first digits."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_value, value)) if len(value) <= MAX_LISTED else ""
    if isinstance(value, bool) or value is None:
        return text.plain(value)
    shown = f"{value:g}" if isinstance(value, float) else text.clean(value)
    return shown[:FINGERPRINT] if re.fullmatch(r"[0-9a-f]{64}", shown) else shown
