"""What an experiment gives: every figure as a flat row, tables to read, curves to draw, and what could not be run."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from corml._runtime.values import finite, json_text
from corml.experiments.grid import Grid, markdown_text

if TYPE_CHECKING:
    import polars

__all__ = ["Check", "Curve", "Outcome", "Panel", "Shown"]


@dataclass(frozen=True)
class Check:
    """Something the paper says, and what was found."""

    says: str
    where: str
    holds: bool
    found: str

    def sentence(self) -> str:
        """One line for a reader."""
        return f"{'holds' if self.holds else 'does not hold'}: {self.says} ({self.where}): {self.found}"


@dataclass(frozen=True)
class Curve:
    """Points of one series; of bars, a single value for each label."""

    name: str
    points: tuple[tuple[float | str, float], ...]
    published: bool = False


@dataclass(frozen=True)
class Panel:
    """One plane of a figure: its axes and curves; `bars` has labels in the place of x."""

    name: str  # of its file
    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    log: bool = False
    bars: bool = False
    reference: tuple[float, str] | None = None  # a published value of y


@dataclass(frozen=True)
class Shown:
    """A table with its heading."""

    title: str
    grid: Grid


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """The outcome of one experiment. `rows` has every figure; `missing` names data that are not at hand."""

    name: str
    title: str
    rows: tuple[Mapping[str, Any], ...] = ()
    tables: tuple[Shown, ...] = ()
    details: tuple[Shown, ...] = ()  # for the page only
    panels: tuple[Panel, ...] = ()
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    data: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # fingerprints of train and split
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def to_text(self) -> str:
        """Tables for a terminal, then what the paper says and whether it holds, then what is missing."""
        blocks = [self.title, *(f"{shown.title}\n{shown.grid.text()}" for shown in self.tables)]
        return "\n\n".join([*blocks, *self._sentences()]) + "\n"

    def to_markdown(self) -> str:
        """The same as a page, with details."""
        blocks = [f"## {markdown_text(self.title)}"]
        blocks += [_section(shown) for shown in self.tables]
        lines = ["\n".join(f"- {markdown_text(line)}" for line in block.splitlines()) for block in self._sentences()]
        return "\n\n".join([*blocks, *lines, *map(_section, self.details)]) + "\n"

    def to_frame(self) -> "polars.DataFrame":
        """Every figure as a row."""
        from corml._runtime.lazy_polars import polars

        names = list(dict.fromkeys(name for row in self.rows for name in row))
        return polars.DataFrame(
            {name: polars.Series(name, [_plain(row.get(name)) for row in self.rows], strict=False) for name in names}
        )

    def record(self) -> dict[str, Any]:
        """Everything but the tables to read, ready for JSON."""
        return {
            "experiment": self.name,
            "title": self.title,
            "rows": [finite(row) for row in self.rows],
            "checks": [asdict(check) for check in self.checks],
            "notes": list(self.notes),
            "data not at hand": list(self.missing),
            "failed": list(self.failed),
            "data fingerprint": {name: dict(prints) for name, prints in self.data.items()},
            "provenance": dict(self.provenance),
        }

    def to_json(self) -> str:
        """The record as text."""
        return json_text(self.record()) + "\n"

    def _sentences(self) -> list[str]:
        blocks = [
            [check.sentence() for check in self.checks],
            list(self.notes),
            [f"Not at hand: {line}" for line in self.missing],
            [f"Failed: {line}" for line in self.failed],
        ]
        return ["\n".join(block) for block in blocks if block]


def _section(shown: Shown) -> str:
    return f"### {markdown_text(shown.title)}\n\n{shown.grid.markdown()}"


def _plain(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, Mapping | list | tuple) else value
