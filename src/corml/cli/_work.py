"""Steps several commands share: load with remarks, split, and rebuild the split a model file was evaluated on."""

import glob
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import corml
from corml import datasets, splits
from corml.cli._console import in_flags, progress, tell
from corml.errors import DataError, UsageError, ascii_line
from corml.interactions import Interactions
from corml.recommender import Recommender
from corml.splits import Split
from corml.storage import atomic

__all__ = [
    "check_split",
    "fetch",
    "ids",
    "joined_split",
    "load",
    "make_split",
    "over",
    "recorded_data_and_split",
    "recorded_split",
    "split_again",
    "target",
    "tell_unknown",
]

# --- data ------------------------------------------------------------------------------------------------------------


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
    tell(f"note: {in_flags(text)}")


def target(out: str, *inputs: object) -> None:
    """Check, before any long work, that a file can be written, and that it is not one of the inputs."""
    atomic.target(out)
    for path in inputs:
        if isinstance(path, str) and os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out):
            raise UsageError(f"{ascii_line(out, 200)} is the file to read: choose another name for what is written.")


# --- ids -------------------------------------------------------------------------------------------------------------


def ids(text: str | None) -> list[str] | None:
    """Comma-separated ids; a file name after @ is read line by line, for ids that hold commas."""
    if text is None:
        return None
    if not text.startswith("@"):
        return [part for part in text.split(",") if part]
    name = ascii_line(text[1:], 200)
    try:
        with open(text[1:], encoding="utf-8-sig") as lines:
            return [line.rstrip("\r\n") for line in lines if line.strip()]
    except OSError as fault:
        raise DataError(f"Cannot read ids from {name}: {fault.strerror or fault}.") from None
    except ValueError as fault:  # not UTF-8, or no name a file can have
        raise DataError(f"Cannot read ids from {name}: {fault}.") from None


def tell_unknown(labels: Iterable[str], where: str) -> None:
    """Name the ids the model does not know, the first ten of them."""
    listed = list(labels)
    for label in listed[:10]:
        tell(f"note: the model does not know {ascii_line(label)} ({where})")
    if len(listed) > 10:
        tell(f"note: … and {len(listed) - 10:,} more ({where})")


# --- splits ----------------------------------------------------------------------------------------------------------


def make_split(data: Interactions, options: dict[str, Any]) -> Split:
    """Split by options that came from flags, a settings file or a model file."""
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    return corml.split(data, str(given.pop("how", "ratio")), **given)


def over(base: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """Options of a split with flags over them; those of another kind of split do not carry over."""
    how = flags.get("how", base.get("how"))
    same = str(how).replace("_", "-") == str(base.get("how")).replace("_", "-")
    return {**(base if same else {}), **flags}


def check_split(options: dict[str, Any]) -> None:
    """Refuse a split that cannot be made of any data, before the data are read, by splitting a tiny sample."""
    if "how" not in options:
        raise UsageError("Say how to split as well: --split, or how = … under [split].")
    try:
        make_split(Interactions.from_pairs(list("aaab"), list("wxyw"), times=[1, 2, 3, 4]), options)
    except DataError:  # the sample may be too small for this split
        pass


def joined_split(train: str | None, valid: str | None, test: str | None, loading: dict[str, Any]) -> Split:
    """A split of parts that were made elsewhere, a file each."""
    if not train or not test:
        raise UsageError("A ready-made split needs at least --train and --test.")
    return splits.ready_made(load(train, loading), load(valid, loading) if valid else None, load(test, loading))


def recorded_split(
    model: Recommender, path: str, source: str | None, loading: dict[str, Any], splitting: dict[str, Any]
) -> Split:
    """The split to evaluate a model on: as the model file recorded it, unless given otherwise."""
    return recorded_data_and_split(model, path, source, loading, splitting)[1]


def recorded_data_and_split(
    model: Recommender, path: str, source: str | None, loading: dict[str, Any], splitting: dict[str, Any]
) -> tuple[Interactions, Split]:
    """The data a model file names, and their split."""
    origin, procedure = model.fitted_.source, model.fitted_.evaluation.get("procedure", {})
    return split_again(origin, procedure, path, source, loading, splitting)


def split_again(
    origin: Mapping[str, Any],
    recorded: Mapping[str, Any],
    path: str,
    source: str | None,
    loading: dict[str, Any],
    splitting: dict[str, Any],
) -> tuple[Interactions, Split]:
    """Data as a file at `path` recorded their origin, and split by the recorded procedure, unless given otherwise."""
    if recorded.get("name") == "ready-made" and not splitting:
        raise UsageError(
            f"{ascii_line(path, 200)} was evaluated on parts made elsewhere: give --train and --test again."
        )
    options = over(_recorded_options(recorded), splitting)
    if not options:
        raise UsageError("The model was fitted without a split: say how to split, e.g. --split ratio.")
    check_split(options)
    reading = {name: value for name, value in origin.get("options", {}).items() if name != "titles"}  # not evaluated
    data = load(source or _data_of(origin.get("from"), path), {**reading, **loading})
    return data, make_split(data, options)


def _recorded_options(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a split recorded, the options that reproduce it."""
    if "name" not in recorded:
        return {}
    known = splits.options(str(recorded["name"]))
    return {"how": recorded["name"], **{name: recorded[name] for name in known if name in recorded}}


def _data_of(name: object, model: str) -> str:
    """Where the data of a model file are: where they were, or else beside the model file."""
    if not isinstance(name, str) or name == "frame":
        raise UsageError("The model file does not say which data to evaluate it on: name the data file.")
    if os.path.exists(name) or glob.glob(name, recursive=True) or name.replace("_", "-") in datasets.known():
        return name
    beside = os.path.join(os.path.dirname(model), name)
    if os.path.exists(beside):
        return beside
    raise DataError(
        f"The data {ascii_line(name, 200)} recorded in {ascii_line(model, 200)} are not here: "
        "name the file after the model."
    )
