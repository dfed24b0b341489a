"""Steps several commands share: load with remarks, split, and rebuild what a model file says it was judged on."""

import os
from pathlib import Path
from typing import Any

import corml
from corml import datasets
from corml.cli._console import progress, tell
from corml.errors import DataError, UsageError
from corml.interactions import Interactions
from corml.recommender import Recommender
from corml.splits import Split

RECORDS = ("data", "rows")  # hashes a split keeps of the data, not options

__all__ = ["fetch", "ids", "load", "make_split", "recorded_split"]


def load(source: str, loading: dict[str, Any]) -> Interactions:
    """Load interactions, fetching a known data set first, and pass on the remarks of the loader."""
    _fetch_if_missing(source)
    return corml.load(source, **loading, notify=_note)


def fetch(name: str) -> list[Path]:
    """Fetch a known data set with progress."""
    with progress() as show:
        return datasets.fetch(name, progress=lambda done, total: show("fetch", done, total or done), notify=_note)


def _fetch_if_missing(source: str) -> None:
    name = source.replace("_", "-")
    if name in datasets.known() and not os.path.exists(source) and not datasets.get(name).bundled:
        fetch(name)


def _note(text: str) -> None:
    tell(f"note: {text}")


def ids(text: str | None) -> list[str] | None:
    """Comma-separated ids; a file name after @ is read line by line, for ids that hold commas."""
    if text is None:
        return None
    if not text.startswith("@"):
        return [part for part in text.split(",") if part]
    try:
        with open(text[1:], encoding="utf-8") as lines:
            return [line.rstrip("\r\n") for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError) as fault:
        raise DataError(f"Cannot read ids from '{text[1:]}': {fault}.") from None


def recorded_split(model: Recommender, source: str | None, loading: dict[str, Any], splitting: dict[str, Any]) -> Split:
    """The split to judge a model on: as asked, or else as the model file recorded it."""
    recorded = model.evaluation_.get("procedure", {})
    origin = model.data_.get("source", {})
    source = source or origin.get("from")
    if not source or source == "frame":
        raise UsageError("The model file does not say which data to judge it on: name the data file.")
    data = load(source, loading or dict(origin.get("options", {})))
    options = splitting or {("how" if k == "name" else k): v for k, v in recorded.items() if k not in RECORDS}
    if not options:
        raise UsageError("The model was fitted without a split: say how to split, e.g. --split ratio.")
    return make_split(data, options)


def make_split(data: Interactions, options: dict[str, Any]) -> Split:
    """Split by options that came from flags, a settings file or a model file."""
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return corml.split(data, str(given.pop("how", "ratio")), **given)
