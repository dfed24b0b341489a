"""corml inspect: the contents of a model file, without fitting or evaluating anything."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import typer

from corml import models
from corml._runtime import durations, memory
from corml._runtime.settings import declared
from corml._runtime.values import is_number
from corml.cli._console import VERBOSE, say, show_json, show_table, tell
from corml.errors import CormlError, ModelFileError, quoted
from corml.evaluation.result import lay_out
from corml.models.saved.model_file import check_recorded
from corml.persistence import container

__all__ = ["inspect"]

LABEL = re.compile(r"[a-z][a-z0-9_]*@[0-9]{1,6}")  # of a metric
LABELS = {"filtered": "rated_too_low"}  # facts whose name says too little by itself
DATES = ("latest", "cuts")  # facts that are times of interactions
FIRST, LAST = 1e8, 1e11  # seconds since 1970 from which, and to which, a number is a date
LARGEST = 1e20  # above any time in nanoseconds
MANY = 12  # entries of a fact, such as the trials of filter selection, that would fill screens


def inspect(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show what a model file was fitted on, and how good it is.

    The file is checked first. With -v all of it: settings and what the fit chose, training data, split, and software
    versions.

    \b
    Examples:
      corml inspect shop.corml
      corml inspect shop.corml -v
      corml inspect shop.corml --json
    """
    contents = container.read(model)
    meta, arrays = contents.meta, contents.arrays
    try:
        check_recorded(meta)
    except ModelFileError as fault:
        raise ModelFileError(f"{contents.name} cannot be trusted: {fault}. Fit again.") from None
    if as_json:
        shapes = {name: [str(array.dtype), *array.shape] for name, array in arrays.items()}
        show_json(
            {**meta, "format": container.FORMAT, "digest": contents.digest, "bytes": contents.bytes, "arrays": shapes}
        )
        return
    size, users = memory.size(contents.bytes), "with" if "users.bytes" in arrays else "without"
    say(f"{meta['model']} model, format {container.FORMAT}, {size}, {users} the histories of its users")
    _say_data(meta)
    settings, plan = _resolved(meta)
    metrics, other_metrics = _metrics(meta["evaluation"])
    about = {name: value for name, value in meta["evaluation"].items() if name not in ("metrics", "intervals")}
    if VERBOSE.get():
        say(f"digest {contents.digest}\n")
        _section("setting", settings)
        _section("data", meta["data"])
        _section("attribute of items", _kinds(meta.get("attributes")))
        _section("updated", meta.get("now", {}))
        _section("fit", {**meta["notes"], "plan": plan})
        _section("evaluation", about)
    else:
        changed = ", ".join(f"{name}={value}" for name, value in _changed(meta).items())
        say(f"settings: {changed or 'the defaults'}")
        if metrics:
            how = about.get("procedure", {}).get("name", "")
            say(f"measured on the {about.get('part')} set of a {how} split{_evaluated(about)}:\n")
    if metrics:
        intervals = {name: tuple(ends) for name, ends in meta["evaluation"].get("intervals", {}).items()}
        say(lay_out(metrics, intervals) + "\n")
    if VERBOSE.get():
        _section("metric", other_metrics)
        _section("versions", meta.get("made_with", {}))
    else:
        tell("note: corml inspect -v shows settings, data, fit and versions")


def _say_data(meta: Mapping[str, Any]) -> None:
    """Size and origin of the training data, and what updates added."""
    sizes = " x ".join(f"{number:,} {what}" for number, what in zip(meta["shape"], ("users", "items"), strict=False))
    source = meta["data"].get("source", {})
    origin = source.get("from")
    names = [name for name in (origin if isinstance(origin, list) else [origin]) if isinstance(name, str)]
    say(f"fitted on {sizes}{', from ' + ', '.join(names) if names else ''}")
    _say_updates("updates that the fit learned from", source.get("updates"))
    _say_updates("added since, not learned from", meta.get("now", {}).get("updates"))


def _say_updates(what: str, updates: Any) -> None:
    if isinstance(updates, list) and updates and all(isinstance(one, dict) for one in updates):
        pairs, users = (sum(_count(one.get(name)) for one in updates) for name in ("interactions", "new_users"))
        say(f"{what}: interactions {pairs:,}, new users {users:,}, last on {updates[-1].get('when')}")


def _count(number: Any) -> int:
    return number if isinstance(number, int) else 0


def _resolved(meta: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Settings, with the values that the fit chose where one was left to it, and what else is in its plan."""
    plan = meta["notes"].get("plan")
    chosen = dict(plan) if isinstance(plan, dict) else {}
    shown = {}
    for name, value in meta["settings"].items():
        used = chosen.pop(name, value)
        shown[name] = ("none" if value is None else str(value)) + ("" if used == value else f" → {used}")
    return shown, chosen


def _changed(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are not the model's defaults; all of them if the model is not installed."""
    try:
        defaults = {spec.name: spec.default for spec in declared(models.get(meta["model"])).values()}
    except CormlError:
        return dict(meta["settings"])
    return {name: value for name, value in meta["settings"].items() if (name, value) not in defaults.items()}


def _evaluated(about: Mapping[str, Any]) -> str:
    """How many users were evaluated, and which events counted, as far as a file says it."""
    users, targets = about.get("users"), about.get("procedure", {}).get("targets")
    text = f", {users:,} users" if isinstance(users, int) else ""
    return text + (f", only events of type {quoted(targets)}" if isinstance(targets, list) and targets else "")


def _metrics(evaluation: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """Metrics that have a name and a length, such as ndcg@10, and whatever else a file has there."""
    given = evaluation.get("metrics", {})
    known = {name: value for name, value in given.items() if LABEL.fullmatch(name)}
    return known, {name: value for name, value in given.items() if name not in known}


def _kinds(attributes: Any) -> dict[str, Any]:
    """Names and types of the attribute columns, as far as the file says them."""
    columns = attributes.get("columns") if isinstance(attributes, dict) else None
    return {str(one[0]): one[1] for one in columns or [] if isinstance(one, list) and len(one) == 2}


def _section(title: str, values: object) -> None:
    rows = list(_flat(values))
    if rows:
        show_table([title, ""], rows)


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as lines, each named by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{name} {LABELS.get(key, key)}".strip()
            yield from _flat(_dates(inner) if key in DATES else inner, path)
    elif isinstance(value, list) and len(value) > MANY and all(isinstance(inner, dict) for inner in value):
        yield name, f"{len(value)}, see --json"
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value, start=1):
            yield from _flat(inner, f"{name} {number}" if len(value) > 1 else name)
    elif isinstance(value, list) and any(isinstance(inner, str) for inner in value):
        for number, inner in enumerate(value):
            yield ("" if number else name), str(inner)
    else:
        yield name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _dates(given: Any) -> Any:
    """Times as dates; numbers that no calendar has, such as counters, as they are."""
    if isinstance(given, list):
        return [_dates(one) for one in given]
    if not is_number(given) or abs(given) >= LARGEST:
        return given
    seconds = given / durations.per_second(given)
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ") if FIRST <= seconds <= LAST else given
