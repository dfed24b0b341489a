"""corml inspect: the contents of a model file, without fitting or evaluating anything."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import typer

from corml import models
from corml._runtime import durations, memory
from corml._runtime.settings import declared
from corml.cli._console import VERBOSE, say, show_json, show_table, tell
from corml.errors import CormlError, ModelFileError, printable, quoted
from corml.evaluation.result import lay_out
from corml.models.saved.recorded import check_recorded
from corml.persistence import container

__all__ = ["inspect"]

LABEL = re.compile(r"[a-z][a-z0-9_]*@[0-9]{1,6}")  # of a metric
LABELS = {"filtered": "rated_too_low"}  # facts whose name says too little by itself
MOMENTS = ("latest", "cuts")  # facts that are times of interactions
FIRST, LAST = 1e8, 1e11  # seconds since 1970 from which, and to which, a number is a date
LARGEST = 1e20  # above any moment in nanoseconds
MANY = 12  # facts of a kind, such as the trials of filter selection, that would fill screens


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
    try:
        check_recorded(contents.meta)
    except ModelFileError as fault:
        raise ModelFileError(f"{contents.name} cannot be trusted: {fault}. Fit again.") from None
    meta, arrays = contents.meta, contents.arrays
    if as_json:
        shapes = {name: [str(array.dtype), *array.shape] for name, array in arrays.items()}
        show_json(
            {**meta, "format": container.FORMAT, "digest": contents.digest, "bytes": contents.bytes, "arrays": shapes}
        )
        return
    size, users = memory.size(contents.bytes), "with" if "users.bytes" in arrays else "without"
    say(f"{printable(meta['model'])} model, format {container.FORMAT}, {size}, {users} the histories of its users")
    sizes = (f"{number:,} {what}" for number, what in zip(meta["shape"], ("users", "items"), strict=False))
    sizes = (f"{number:,} {what}" for number, what in zip(meta["shape"], ("users", "items"), strict=False))
    say(f"fitted on {' x '.join(sizes)}{_from(meta['data'])}")
    source = meta["data"].get("source") if isinstance(meta["data"], dict) else None
    _say_updates("updates that the fit learned from", source.get("updates") if isinstance(source, dict) else None)
    _say_updates("added since, not learned from", meta.get("now", {}).get("updates", []))
    settings, plan = _resolved(meta)
    if not VERBOSE.get():
        changed = _changed(str(meta["model"]), meta["settings"])
        say(f"settings: {', '.join(f'{name}={value}' for name, value in changed.items()) or 'the defaults'}")
        _show_evaluation(meta["evaluation"], whole=False)
        tell("note: corml inspect -v shows settings, data, fit and versions")
        return
    say(f"digest {contents.digest}\n")
    _section("setting", settings)
    _section("data", meta["data"])
    _section("attribute of items", _kinds(meta.get("attributes")))
    _section("known now", meta.get("now", {}))
    _section("fit", {**meta["notes"], "plan": plan})
    _show_evaluation(meta["evaluation"], whole=True)
    _section("versions", meta.get("made_with", {}))


def _from(data: Any) -> str:
    """Where the data came from, as far as a file says it."""
    source = data.get("source") if isinstance(data, dict) else None
    given = source.get("from") if isinstance(source, dict) else None
    names = [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]
    return f", from {printable(', '.join(names))}" if names else ""


def _say_updates(what: str, updates: Any) -> None:
    """What was added by updates, in a line."""
    if isinstance(updates, list) and updates and all(isinstance(one, dict) for one in updates):
        counts = ([one.get(name, 0) for one in updates] for name in ("interactions", "new_users"))
        pairs, users = (sum(number for number in found if isinstance(number, int)) for found in counts)
        last = printable(updates[-1].get("when"))
        say(f"{what}: interactions {pairs:,}, new users {users:,}, last on {last}")


def _resolved(meta: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Settings, with the values that the fit chose where one was left to it, and what else is in its plan."""
    plan = meta["notes"].get("plan") if isinstance(meta["notes"], dict) else None
    chosen = dict(plan) if isinstance(plan, dict) else {}
    shown = {}
    for name, value in meta["settings"].items():
        then = chosen.pop(name, value)
        shown[name] = ("none" if value is None else str(value)) + ("" if then == value else f" → {then}")
    return shown, chosen


def _changed(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that are not those of the model out of the box; all, of a model that is not installed."""
    try:
        defaults = {spec.name: spec.default for spec in declared(models.get(name)).values()}
    except CormlError:
        return settings
    return {one: value for one, value in settings.items() if one not in defaults or defaults[one] != value}


def _show_evaluation(evaluation: Any, *, whole: bool) -> None:
    """How good the model is, if that was measured, and how that was done."""
    about = {name: value for name, value in evaluation.items() if name not in ("metrics", "intervals")}
    metrics, others = _known_metrics(evaluation.get("metrics"))
    if whole:
        _section("evaluation", about)
    elif metrics:
        procedure = about.get("procedure")
        how = procedure.get("name") if isinstance(procedure, dict) else ""
        say(f"measured on the {printable(about.get('part'))} part of a {printable(how)} split{_judged(about)}:\n")
    if metrics:
        intervals = {name: tuple(ends) for name, ends in evaluation.get("intervals", {}).items()}
        say(lay_out(metrics, intervals) + "\n")
    if whole:
        _section("metric", others)


def _judged(about: dict[str, Any]) -> str:
    """How many users were judged, and by which events, as far as a file says it."""
    users, procedure = about.get("users"), about.get("procedure")
    targets = procedure.get("targets") if isinstance(procedure, dict) else None
    text = f", {users:,} users" if isinstance(users, int) else ""
    return text + (f", by events of type {quoted(targets)} alone" if isinstance(targets, list) and targets else "")


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
            path = f"{name} {LABELS.get(key, key)}".strip()
            yield from _flat(_dates(inner) if key in MOMENTS else inner, path)
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


def _dates(given: Any) -> Any:
    """Moments as dates; numbers that no calendar has, such as counters, as they are."""
    if isinstance(given, list):
        return [_dates(one) for one in given]
    if not isinstance(given, int | float) or isinstance(given, bool) or not abs(given) < LARGEST:
        return given
    seconds = given / durations.per_second(given)
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ") if FIRST <= seconds <= LAST else given
