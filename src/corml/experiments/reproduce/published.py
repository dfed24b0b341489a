"""What is published, and what is run to compare with it: the file published.toml, checked as it is read."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from corml.errors import DataError, ascii_line

__all__ = ["Board", "Published", "read_published"]

FORMAT = 1
FILE = "published.toml"


@dataclass(frozen=True)
class Board:
    """One published row of a leaderboard: figures in the order of the board's metrics, None where one is missing."""

    model: str
    figures: tuple[float | None, ...]
    source: str


@dataclass(frozen=True, eq=False)
class Published:
    """The content of the file; `name` is what to call it in messages."""

    content: Mapping[str, Any]
    name: str

    def __getitem__(self, section: str) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = self.content[section]
        except KeyError:
            raise DataError(f"{self.name} has no section {ascii_line(section)}: complete it.") from None
        return found

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """Papers and repositories by their short names."""
        return self["sources"]

    def paper(self, data: str, column: str) -> dict[str, float]:
        """Figures of a model in the paper's table, by metric; none where it has none."""
        figures = self["paper"].get(data, {}).get(column)
        return {} if figures is None else dict(zip(self["table"]["metrics"], figures, strict=True))

    def board(self, section: str, data: str) -> list[Board]:
        """Published rows of a leaderboard."""
        width = len(self[section]["metrics"])
        return [
            Board(row["model"], tuple([*row["figures"], *[None] * width][:width]), self.sources[row["source"]])
            for row in self[section].get("rows", {}).get(data, [])
        ]


def read_published(path: str | Path | None = None) -> Published:
    """The file of the package, or another one of the same form."""
    name = ascii_line(path or FILE, 200)
    try:
        text = (files(__package__).joinpath(FILE) if path is None else Path(path)).read_text("utf-8")
        content = tomllib.loads(text)
    except (OSError, ValueError) as fault:
        raise DataError(f"Cannot read {name}: {fault}.") from None
    if content.get("format") != FORMAT:
        raise DataError(f"{name} has format {ascii_line(content.get('format'))}, not {FORMAT}: use another corml.")
    return Published(content, name)
