"""The manifest of a store: how it was made, what it holds, and a hash of each of its files."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from corml.data.store._layout import MANIFEST, PLAN, is_split
from corml.errors import DataError, ascii_line
from corml.persistence.facts import is_deep

FORMAT = 1
CHUNK = 1 << 22
LONGEST = 2**31 - 1  # users, and items
COUNTS = ("memory", "users", "items", "interactions", "seen", "others")
MAPPINGS = ("options", "columns", "counts", "files", "split")
FLAGS = ("weighted", "timed")


@dataclass(frozen=True)
class Manifest:
    """The contents of manifest.json."""

    options: Mapping[str, Any]  # of `load`, as given
    columns: Mapping[str, str]  # which column was which
    memory: int  # bytes that making it was to take
    sources: Sequence[Mapping[str, Any]]  # name, size, sha256 and rows of each file it was made of
    users: int
    items: int
    interactions: int
    weighted: bool
    timed: bool
    user_starts: Sequence[int]  # first user of each part of by_user, and their number
    item_starts: Sequence[int]  # first item of each part of by_item, and their number
    seen: int  # excluded pairs of these users
    others: int  # users excluded from training
    counts: Mapping[str, int]  # rows read, bad and without an id, repeated and conflicting rows, pairs rated too low
    files: Mapping[str, Mapping[str, Any]]  # size and sha256 of every other file
    format: int = FORMAT
    kind: str = field(default="corml store")
    split: Mapping[str, Any] = field(default_factory=dict)  # of a part of a split: its name, and the store it is from

    @property
    def fingerprint(self) -> str:
        """One hash of the hashes of all files: stores with the same one are the same, byte by byte."""
        listed = "".join(f"{name} {about['sha256']}\n" for name, about in sorted(self.files.items()))
        return hashlib.sha256(listed.encode()).hexdigest()

    def text(self) -> str:
        """The text of the file."""
        known = {**asdict(self), "fingerprint": self.fingerprint}
        if not self.split:
            del known["split"]
        return json.dumps(known, indent=1, sort_keys=True) + "\n"

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read the manifest of a store, and refuse what is none."""
        name = ascii_line(folder, 200)
        try:
            known = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if (folder / PLAN).is_file():
                raise DataError(f"{name} is an unfinished store: run the same corml data store again.") from None
            if is_split(folder):
                raise DataError(f"{name} is a split of a store: name a part of it, such as its folder train.") from None
            raise DataError(f"{name} is not a store: it has no {MANIFEST}.") from None
        except (OSError, ValueError, RecursionError) as fault:
            reason = ascii_line(fault, 200)
            raise DataError(f"The {MANIFEST} of {name} cannot be read ({reason}): make the store again.") from fault
        if not isinstance(known, dict) or known.get("kind") != "corml store":
            raise DataError(f"{name} is not a store: its {MANIFEST} belongs to another program.")
        if known.get("format") != FORMAT:
            raise DataError(
                f"{name} has format {ascii_line(known.get('format'))} and this version of corml reads {FORMAT}: "
                "make the store again."
            )
        said = known.pop("fingerprint", None)
        known.setdefault("split", {})  # of a whole store it is not written
        try:
            manifest = cls(**{one.name: known[one.name] for one in fields(cls)})
            whole = _is_sound(known) and manifest.fingerprint == said
        except (KeyError, TypeError, AttributeError, ValueError):
            whole = False
        if not whole:
            raise DataError(f"The {MANIFEST} of {name} is damaged: make the store again.")
        return manifest


def digest(path: Path) -> str:
    """The sha256 of a file."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(CHUNK):
            found.update(piece)
    return found.hexdigest()


def _is_sound(known: Mapping[str, Any]) -> bool:
    """Whether the facts of a manifest have the form and the sizes that a store is written with."""
    forms = (
        not is_deep(known)
        and all(_is_count(known[name]) for name in COUNTS)
        and all(isinstance(known[name], dict) for name in MAPPINGS)
        and all(type(known[name]) is bool for name in FLAGS)
        and max(known["users"], known["items"], known["others"]) <= LONGEST
        and isinstance(known["sources"], list)
        and all(isinstance(one, dict) for one in known["sources"])
    )
    return (
        forms
        and all(isinstance(column, str) for column in known["columns"].values())
        and all(_is_count(count) for count in known["counts"].values())
        and all(_is_file(name, about) for name, about in known["files"].items())
        and _is_cut(known["user_starts"], known["users"])
        and _is_cut(known["item_starts"], known["items"])
    )


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_file(name: str, about: object) -> bool:
    """Whether a file lies in the folder of the store and has a size and a hash."""
    inside = ".." not in PurePosixPath(name).parts and not PurePosixPath(name).is_absolute() and "\0" not in name
    sized = isinstance(about, dict) and _is_count(about.get("size")) and isinstance(about.get("sha256"), str)
    return inside and sized


def _is_cut(starts: Any, total: int) -> bool:
    fine = isinstance(starts, list) and len(starts) > 1 and all(_is_count(start) for start in starts)
    return fine and starts[0] == 0 and starts[-1] == total and all(a <= b for a, b in pairwise(starts))
