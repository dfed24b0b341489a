"""What is published, and the models that are run to compare with it: the file published.toml, checked when read."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from corml import models
from corml._runtime.settings import values_of
from corml.errors import DataError, ascii_line
from corml.models.recommender import Recommender

FORMAT = 1
FILE = "published.toml"
OURS = "corml"  # the paper's column; of --models, all its rows


@dataclass(frozen=True)
class Board:
    """One published row of a leaderboard: figures in the order of the board's metrics, None where one is missing."""

    model: str
    figures: tuple[float | None, ...]
    source: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """A model with hyperparameters for one data set; `column` is what the paper's table calls it."""

    name: str
    title: str
    column: str
    model: Recommender
    differs: str = ""  # what is known to differ from the paper's run

    @property
    def ours(self) -> bool:
        """Whether it is CoRML."""
        return self.column == OURS


@dataclass(frozen=True, eq=False)
class Published:
    """The content of the file; `name` is what to call it in messages."""

    content: Mapping[str, Any]  # TOML
    name: str

    def __getitem__(self, section: str) -> Mapping[str, Any]:
        if section not in self.content:
            raise DataError(f"{self.name} has no section {ascii_line(section)}: complete it.")
        found: Mapping[str, Any] = self.content[section]
        return found

    def section(self, experiment: str) -> Mapping[str, Any]:
        """The section of an experiment."""
        figures = self["figures"]
        found: Mapping[str, Any] = figures[experiment] if experiment in figures else self[experiment]
        return found

    def paper(self, data: str, column: str) -> dict[str, float]:
        """Figures of a model in the paper's table, by metric; none where it has none."""
        figures = self["paper"].get(data, {}).get(column)
        return {} if figures is None else dict(zip(self["table"]["metrics"], figures, strict=True))

    def board(self, section: str, data: str) -> list[Board]:
        """Published rows of a leaderboard."""
        width = len(self[section]["metrics"])
        return [
            Board(row["model"], tuple([*row["figures"], *[None] * width][:width]), self["sources"][row["source"]])
            for row in self[section].get("rows", {}).get(data, [])
        ]

    def row(self, name: str, data: str, *, epochs: int | None = None) -> Row | None:
        """A model for a data set; None where it needs hyperparameters and the file has none.

        `epochs` shortens gradient models.
        """
        ours = name in self["corml"]
        entry = self["corml" if ours else "models"].get(name, {})
        settings = entry.get("settings", {})
        if entry.get("only") and data not in settings:
            return None
        values = {**entry.get("all", {}), **settings.get(data, {})}
        if epochs is not None and entry.get("gradient"):
            values = {"epochs": epochs}
        model = _corml(values, entry["problem"]) if ours else models.make(name, values)
        column = OURS if ours else name
        return Row(
            name=name,
            title=entry.get("title", name),
            column=column,
            model=model,
            differs=entry.get("differs", ""),
        )


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


def changed(model: Recommender, settings: Mapping[str, object]) -> Recommender:
    """The same model with other values of some hyperparameters."""
    return models.make(model.NAME, {**values_of(model), **settings})


def _corml(values: Mapping[str, object], problem: str) -> Recommender:
    from corml.models.corml.estimator import CoRML

    return changed(CoRML.paper() if problem == "paper" else CoRML(), values)
