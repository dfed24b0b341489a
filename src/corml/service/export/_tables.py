"""What an export consists of: tables in parts, so that no table is ever whole in memory; and what writes them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from corml.models.recommender import Recommender

Values = list[Any] | NDArray[Any]
Part = Mapping[str, Values]  # values of the columns by name, equally many; numbers as arrays, texts as lists


@dataclass(frozen=True)
class Table:
    """Columns by name, each "integer", "real" or "text", and their rows in parts."""

    name: str
    columns: Mapping[str, str]
    parts: Iterable[Part]
    key: tuple[str, ...] = ()  # what is different in each row; rows come in its order
    indices: tuple[tuple[str, ...], ...] = ()  # what rows are looked up by, where that is not the key


@dataclass(frozen=True)
class Job:
    """What to write. Tables are made as they are asked for, and each must be used up before the next."""

    model: Recommender
    tables: Iterator[Table]
    name: str  # of the model, for people
    facts: Mapping[str, Any]  # about the export, as far as they are known before it is made


@dataclass(frozen=True)
class Target:
    """One way to write an export: a file of this room contributes one.

    `queries` are ready queries by what is exported, "pairs" or "lists", where there are any. `write` makes a file, or a
    folder, at a path where there is nothing. `is_ours` tells whether what stands at a path is such an export, which may
    be replaced. One that writes the `whole` model has neither pairs nor lists.
    """

    ending: str
    queries: Mapping[str, str]
    write: Callable[[Job, Path], None]
    is_ours: Callable[[Path], bool]
    package: str = ""  # that has to be installed for it
    extra: str = ""  # of corml, which brings the package; named as the package if left out
    whole: bool = False
