"""Steps several commands share: load with remarks, split, and rebuild what a model file says it was judged on."""

from typing import Any

import corml
from corml.cli._console import tell
from corml.errors import DataError, UsageError
from corml.interactions import Interactions
from corml.recommender import Recommender
from corml.splits import Split

__all__ = ["ids", "load", "recorded_split"]


def load(source: str, loading: dict[str, Any]) -> Interactions:
    """Load interactions and pass on the remarks of the loader."""
    return corml.load(source, **loading, notify=lambda note: tell(f"note: {note}"))


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
    origin = model.data_.get("origin") or {}
    source = source or origin.get("source")
    if not source:
        raise UsageError("The model file does not say which data to judge it on: name the data file.")
    data = load(source, loading or origin.get("loading", {}))
    options = splitting or {("how" if k == "name" else k): v for k, v in recorded.items() if k != "data"}
    if not options:
        raise UsageError("The model was fitted without a split: say how to split, e.g. --split ratio.")
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return corml.split(data, options.pop("how"), **options)
