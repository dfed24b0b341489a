"""Steps several commands share: load data with notes, split them, and repeat the split a model file recorded."""

import glob
import os
import warnings
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import corml
from corml import data as datasets
from corml import plugins, splits
from corml.cli._console import in_flags, progress, tell
from corml.cli._options import Given
from corml.data.interactions import Interactions
from corml.errors import DataError, UsageError, ascii_line, warn
from corml.models.recommender import Recommender
from corml.splits import Split

# --- data ------------------------------------------------------------------------------------------------------------


def load(source: str, loading: Given) -> Interactions:
    """Load interactions, download a known data set first, and pass on the loader's notes."""
    _fetch_if_missing(source)
    return corml.load(source, **loading, notify=note)


def fetch(name: str) -> list[Path]:
    """Download a known data set with progress."""
    with progress() as show:
        return datasets.fetch(name, progress=lambda done, total: show("fetch", done, total or done), notify=note)


def _fetch_if_missing(source: str) -> None:
    for one in (datasets.files_by_kind(source) or {}).values():
        _fetch_if_missing(one)
    name = source.replace("_", "-")
    if name in datasets.known() and not os.path.exists(source) and not datasets.get(name).bundled:
        fetch(name)


def note(text: str) -> None:
    """Pass on a note of the loader."""
    tell(f"note: {in_flags(text)}")


def turned(model: Recommender, novelty: float | None) -> Recommender:
    """An operating point of a model that has several; any model where none is given."""
    return model if novelty is None else model._at(novelty)


# --- ids -------------------------------------------------------------------------------------------------------------


def tell_unknown(labels: Iterable[str], where: str) -> None:
    """Warn of the ids the model does not know, and name the first ten of them."""
    listed = list(labels)
    for label in listed[:10]:
        warn(f"the model does not know {ascii_line(label)} ({where}), and ignores it")
    if len(listed) > 10:
        warn(f"… and {len(listed) - 10:,} more ({where})")


# --- splits ----------------------------------------------------------------------------------------------------------


def split_file(options: Mapping[str, Any]) -> str | None:
    """The split file that options of splitting name in place of a kind of split, if they do."""
    how = str(options.get("how", ""))
    if how.replace("-", "_") in plugins.names("corml.splits"):
        return None
    return how if os.path.isfile(how) or os.path.splitext(how)[1] or os.sep in how else None


def split_alone(options: Mapping[str, Any], loading: Mapping[str, Any]) -> Split:
    """A split file without other data; its pairs were loaded and filtered when it was made."""
    file = str(options["how"])
    if loading:
        flag = "--" + next(iter(loading)).replace("_", "-")
        raise UsageError(
            f"The pairs of {ascii_line(file, 200)} were loaded before: leave out {flag}, or name the data too."
        )
    return judging(_read(file), options)


def _read(file: str) -> Split:
    try:
        about = os.stat(file)
    except (OSError, ValueError):
        return _read_once(file)  # which raises the error
    return _read_once(file, about.st_ino, about.st_mtime_ns)


@cache
def _read_once(file: str, *version: int) -> Split:
    split = corml.read_split(file)
    if not isinstance(split, Split):
        raise UsageError(
            f"{ascii_line(file, 200)} is a split of a store, not a split file: fit on its folder train, and measure "
            "with corml evaluate MODEL FOLDER."
        )
    return split


def make_split(data: Interactions, options: Given) -> Split:
    """Split by options that came from flags, a settings file or a model file; a split file must be of these data."""
    file = split_file(options)
    if file:
        split = _read(file)
        if data.fingerprint != split.whole().fingerprint:
            split.verify(data)
        return judging(split, options)
    given: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    given.pop("targets", None)
    return judging(corml.split(data, given.pop("how", "ratio"), **given), options)


def judging(split: Split, options: Mapping[str, Any]) -> Split:
    """The split with only the event types as targets that options of splitting name, if they do."""
    return split.judging(options["targets"]) if options.get("targets") else split


def over(base: Given, flags: Given) -> dict[str, Any]:
    """Options of a split overridden by flags; those of another kind of split do not carry over."""
    how = flags.get("how", base.get("how"))
    same = str(how).replace("_", "-") == str(base.get("how")).replace("_", "-")
    return {**(base if same else {}), **flags}


def check_split(options: Given) -> None:
    """Refuse a split that cannot be made of any data, before the data are read, by splitting a tiny sample."""
    if "how" not in options:
        raise UsageError("Say how to split as well: --split, or how = … under [split].")
    if split_file(options):
        others = [name for name in options if name not in ("how", "targets")]
        if others:
            raise UsageError(f"A split file has its pairs already: leave out {others[0]} (--split-set).")
        _read(str(options["how"]))
        return
    try:
        plain = {name: value for name, value in options.items() if name != "targets"}
        sample = Interactions.from_pairs(list("aaab"), list("wxyw"), times=[1e9, 1.1e9, 1.2e9, 1.3e9])  # as dates
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make_split(sample, plain)
    except DataError:  # the sample may be too small for this split
        pass


def joined_split(train: str | None, valid: str | None, test: str | None, loading: Given) -> Split:
    """A precomputed split, a file for each set."""
    if not train or not test:
        raise UsageError("A precomputed split needs at least --train and --test.")
    return splits.ready_made(load(train, loading), load(valid, loading) if valid else None, load(test, loading))


def recorded_data_and_split(
    model: Recommender, path: str, source: str | None, loading: Given, splitting: Given
) -> tuple[Interactions, Split]:
    """The data that a model file names, and their split as recorded there, unless given otherwise."""
    origin, procedure = model.fitted_.source, model.fitted_.evaluation.get("procedure", {})
    return split_again(origin, procedure, path, source, loading, splitting)


def split_again(
    origin: Mapping[str, Any],
    recorded: Mapping[str, Any],
    path: str,
    source: str | None,
    loading: Given,
    splitting: Given,
) -> tuple[Interactions, Split]:
    """Data as a file at `path` recorded their origin, and split by the recorded procedure, unless given otherwise."""
    if recorded.get("name") == "ready-made" and not splitting:
        raise UsageError(
            f"{ascii_line(path, 200)} was evaluated on a precomputed split: give --train and --test, or a split file."
        )
    options = over(_recorded_options(recorded), splitting)
    if not options:
        if origin.get("updates"):
            raise UsageError(
                "The model was fitted again after updates, on everything, so there is nothing left to measure it on. "
                f"Fit all files together with a split: {fit_with_a_split(origin)}."
            )
        raise UsageError("The model was fitted without a split: say how to split, e.g. --split ratio.")
    check_split(options)
    if split_file(options) and not source:
        split = split_alone(options, loading)
        return split.whole(), split
    about_items = ("titles", "items")  # not evaluated, and these files may be gone
    reading = {name: value for name, value in origin.get("options", {}).items() if name not in about_items}
    data = load(source or _data_of(origin.get("from"), path), {**reading, **loading})
    return data, make_split(data, options)


def fit_with_a_split(origin: Mapping[str, Any]) -> str:
    """The command that fits all the data a model file names, with a split; several files have to be in a folder."""
    names = origin.get("from")
    names = names if isinstance(names, list) else [names]
    kinds = dict.fromkeys(kind for name in names for kind in datasets.files_by_kind(name) or ())
    source = datasets.in_words(dict.fromkeys(kinds, "FOLDER")) if kinds else "FOLDER"
    source = ascii_line(names[0], 200) if len(names) == 1 and isinstance(names[0], str) else source
    return f"corml fit {source} --split HOW --out FILE, with the same loading options"


def _recorded_options(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The options that reproduce a recorded split."""
    if "name" not in recorded:
        return {}
    names = [*splits.options(str(recorded["name"])), "targets"]
    return {"how": recorded["name"], **{name: recorded[name] for name in names if name in recorded}}


def _data_of(name: object, model: str) -> str:
    """Where the data of a model file are: where they were, or else beside the model file."""
    if not isinstance(name, str) or name == "frame":
        raise UsageError("The model file does not say which data to evaluate it on: name the data file.")
    by_kind = datasets.files_by_kind(name)
    if by_kind is not None:
        return datasets.in_words({kind: _data_of(one, model) for kind, one in by_kind.items()})
    if os.path.exists(name) or glob.glob(name, recursive=True) or name.replace("_", "-") in datasets.known():
        return name
    beside = os.path.join(os.path.dirname(model), name)
    if os.path.exists(beside):
        return beside
    raise DataError(
        f"The data {ascii_line(name, 200)} recorded in {ascii_line(model, 200)} are not here: "
        "name the file after the model."
    )
