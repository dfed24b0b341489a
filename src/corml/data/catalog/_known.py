"""Known data sets: what a name stands for, where its files are kept, and where they come from.

A data set is a file of this package: `ml_20m.py` contributes the `Known` that `load("ml-20m")` reads. Other packages
add theirs in the group `corml.data`.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corml import plugins
from corml.errors import ascii_line

GROUP = "corml.datasets"


@dataclass(frozen=True)
class Remote:
    """One file to fetch: its address, the name it is kept under, and its published checksum.

    Give an md5 only where no sha256 is published: it tells damage, but less about tampering.
    """

    address: str
    name: str
    sha256: str | None = None
    md5: str | None = None


@dataclass(frozen=True)
class Known:
    """A public data set: where it comes from, on what terms, and how its files are laid out."""

    name: str
    title: str
    files: tuple[Remote, ...]
    licence: str
    citation: str
    accepts: tuple[str, ...] = ()  # files that may stand in the folder instead of the original ones
    member: str = ""  # the table inside the original archive
    layout: Mapping[str, Any] = field(default_factory=dict)  # `load` options that describe the original file
    rules: Mapping[str, Any] = field(default_factory=dict)  # `load` options that make the set what papers use
    titles: str = ""  # the table of titles inside the original archive
    titles_layout: Mapping[str, Any] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()  # columns of the table of titles that are attributes of items
    reader: str = "table"  # or «adjacency»: a user and then all their items on each line
    fingerprint: str = ""  # of all its pairs, where no checksum of its files is published
    bundled: str = ""  # a folder that holds the files: of this package, or of another one by its full path

    @property
    def address(self) -> str:
        """Where the (first) original file comes from."""
        return self.files[0].address if self.files else ""


def known() -> tuple[str, ...]:
    """Names of all known data sets, as users type them."""
    return tuple(name.replace("_", "-") for name in plugins.names(GROUP))


def get(name: str) -> Known:
    """Get the data set of that name."""
    typed = name.replace("_", "-")

    def fits(entry: Any) -> bool:
        return isinstance(entry, Known) and entry.name == typed

    entry: Known = plugins.get(GROUP, name, fits, f"a corml.data.Known whose name is {ascii_line(typed)}")
    return entry


def folder() -> Path:
    """Where data sets are kept: the environment's CORML_DATA, else the usual cache of the system."""
    chosen = os.environ.get("CORML_DATA")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "corml"


def present(entry: Known, where: Path | None = None) -> list[Path]:
    """List the files of a data set that are here: the original ones, else a file it accepts instead; or none."""
    if entry.bundled:
        return [Path(__file__).parent / entry.bundled / entry.member]
    root = where or folder()
    originals = [root / file.name for file in entry.files]
    if all(path.is_file() for path in originals):
        return originals
    return [root / name for name in entry.accepts if (root / name).is_file()][:1]
