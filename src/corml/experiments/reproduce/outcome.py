"""The outcome of an experiment: every figure as a flat row, tables and charts, and what could not be run."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from corml._runtime.values import finite, json_text
from corml.errors import DataError, ascii_line
from corml.evaluation.charts import Chart
from corml.experiments.grid import Grid, markdown_text
from corml.persistence import atomic

if TYPE_CHECKING:
    import polars

ENDINGS = ("md", "csv", "json")


@dataclass(frozen=True)
class Check:
    """A claim of the paper, and what was measured."""

    says: str
    where: str
    holds: bool
    measured: str

    def line(self) -> str:
        """One line for a reader."""
        return f"{'holds' if self.holds else 'does not hold'}: {self.says} ({self.where}): {self.measured}"


@dataclass(kw_only=True, eq=False)
class Outcome:
    """The outcome of one experiment. `rows` has every figure; `missing` names data that are not available."""

    name: str
    title: str
    rows: list[dict[str, object]] = field(default_factory=list)
    tables: dict[str, Grid] = field(default_factory=dict)  # by title
    details: dict[str, Grid] = field(default_factory=dict)  # for the page only
    charts: dict[str, Chart] = field(default_factory=dict)  # by the name of the file
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    data: dict[str, dict[str, str]] = field(default_factory=dict)  # fingerprints of train set and split
    provenance: Mapping[str, object] = field(default_factory=dict)

    def to_text(self) -> str:
        """Tables for a terminal, then the claims of the paper and whether they hold, then what is missing."""
        tables = [f"{title}\n{grid.text()}" for title, grid in self.tables.items()]
        return "\n\n".join([self.title, *tables, *map("\n".join, self._lines())]) + "\n"

    def to_markdown(self) -> str:
        """The same as a page, with details."""

        def sections(tables: Mapping[str, Grid]) -> list[str]:
            return [f"### {markdown_text(title)}\n\n{grid.markdown()}" for title, grid in tables.items()]

        lists = ["\n".join(f"- {markdown_text(line)}" for line in lines) for lines in self._lines()]
        title = f"## {markdown_text(self.title)}"
        return "\n\n".join([title, *sections(self.tables), *lists, *sections(self.details)]) + "\n"

    def to_frame(self) -> "polars.DataFrame":
        """Every figure as a row."""
        from corml._runtime.lazy_polars import polars

        names = list(dict.fromkeys(name for row in self.rows for name in row))
        return polars.DataFrame(
            {name: polars.Series(name, [_flat(row.get(name)) for row in self.rows], strict=False) for name in names}
        )

    def record(self) -> dict[str, object]:
        """Everything except the tables and charts, ready for JSON."""
        return {
            "experiment": self.name,
            "title": self.title,
            "rows": [finite(row) for row in self.rows],
            "checks": [asdict(check) for check in self.checks],
            "notes": self.notes,
            "data not available": self.missing,
            "failed": self.failed,
            "data fingerprint": self.data,
            "provenance": dict(self.provenance),
        }

    def to_json(self) -> str:
        """The record as text."""
        return json_text(self.record()) + "\n"

    def write(self, folder: Path) -> list[str]:
        """Write NAME.md, NAME.csv, NAME.json and the charts, each whole or not at all; returns their names."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise DataError(f"Cannot make the folder {ascii_line(folder, 200)}: {fault.strerror or fault}.") from None
        images = "".join(f"\n![{chart.title}]({name}.svg)\n" for name, chart in self.charts.items())
        texts = dict(
            zip(ENDINGS, (self.to_markdown() + images, self.to_frame().write_csv(), self.to_json()), strict=True)
        )
        for ending, text in texts.items():
            atomic.replace(folder / f"{self.name}.{ending}", text.encode("utf-8", "surrogatepass"))
        for name, chart in self.charts.items():
            chart.save(folder / f"{name}.svg")
        return [*(f"{self.name}.{ending}" for ending in ENDINGS), *(f"{name}.svg" for name in self.charts)]

    def _lines(self) -> list[list[str]]:
        blocks = [
            [check.line() for check in self.checks],
            self.notes,
            [f"Not available: {line}" for line in self.missing],
            [f"Failed: {line}" for line in self.failed],
        ]
        return [block for block in blocks if block]


def _flat(value: object) -> object:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, Mapping | list | tuple) else value
