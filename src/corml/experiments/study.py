"""The outcome of a comparison: a row for every contestant, and each against the best over the same users."""

import html
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.values import json_text, nearest, no_such
from corml.errors import UsageError, ascii_line, printable
from corml.evaluation import Comparison, Result, charts
from corml.evaluation.metrics import direction, parse
from corml.experiments.cell import Cell, Cost
from corml.experiments.design import Design
from corml.experiments.grid import clean, latex_text, markdown_text
from corml.experiments.tables import frame, in_short, record, remarks, scores, tests
from corml.persistence import atomic

if TYPE_CHECKING:
    import polars

__all__ = ["ENDINGS", "FORMATS", "Entry", "Study"]

ENDINGS = {".txt": "text", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}
FORMATS = tuple(ENDINGS.values())


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Entry:
    """A row: means over users (and over runs, where there are several seeds or splits) and what they cost.

    `result` has means, intervals over users and every user's values, each averaged over the runs; `run_deviation` is
    the standard deviation of the means over runs, none for a single run. `cost` is the mean over runs of fitting and
    scoring; the search of a tuned model is counted once. A failed entry has an `error` and no result.
    """

    label: str
    contestant: str  # the label without what tuning adds to it
    model: str
    tuned: bool
    settings: Mapping[str, Any]
    cells: tuple[Cell, ...] = ()
    result: Result | None = None
    run_deviation: Mapping[str, float] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    error: str = ""

    def __repr__(self) -> str:
        return f"Entry({printable(self.label)}: {printable(self.error) or f'{len(self.cells)} runs'})"

    @property
    def done(self) -> bool:
        """Whether there are figures."""
        return self.result is not None

    @property
    def means(self) -> Mapping[str, float]:
        """Means by metric; none if it failed."""
        return {} if self.result is None else self.result.means

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Intervals over users by metric."""
        return {} if self.result is None else self.result.intervals

    @property
    def per_user(self) -> Mapping[str, NDArray[np.float64]]:
        """Values of each user, averaged over runs, by metric."""
        return {} if self.result is None else self.result.per_user

    @property
    def notes(self) -> list[str]:
        """What was left out, and warnings of the fits."""
        counted = [f"{count:,} {what}" for cell in self.cells[:1] for what, count in cell.notes.items()]
        return list(dict.fromkeys([*counted, *(text for cell in self.cells for text in cell.warnings)]))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Study:
    """A comparison of models on one split (or several), over the same users with the same masks.

    `study["ease"]` is a row, `study.best` the one with the best primary metric, `study.comparisons[label][metric]` the
    paired comparison of a row with `study.reference`: p by three tests, corrected by Holm's method over all rows and
    metrics. `to_frame`, `to_markdown`, `to_latex`, `record` and `save` give the figures away.
    """

    design: Design
    entries: tuple[Entry, ...]
    comparisons: Mapping[str, Mapping[str, Comparison]]
    reference: str | None
    users: NDArray[np.object_]
    splits: tuple[Mapping[str, Any], ...]  # fingerprint, procedure and counts of each
    provenance: Mapping[str, Any]  # command, versions, where the data came from, when

    def __repr__(self) -> str:
        best = f"; best: {clean(self.best.label)}" if self.best else ""
        return f"Study({len(self.entries)} entries, {len(self.users):,} users{best})"

    def __str__(self) -> str:
        return self.to_text()

    def __getitem__(self, label: str) -> Entry:
        for entry in self.entries:
            if entry.label == label:
                return entry
        raise UsageError(f"No entry is called {ascii_line(label)}{nearest(label, [e.label for e in self.entries])}")

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def ranking(self) -> tuple[Entry, ...]:
        """Entries with figures by the primary metric, the best first."""
        return self.ranked(self.design.primary)

    @property
    def best(self) -> Entry | None:
        """The entry with the best mean of the primary metric."""
        return self.ranking[0] if self.ranking else None

    @property
    def runner_up(self) -> Entry | None:
        """The best entry of another contestant: a model is not its own rival."""
        return self.rival(self.design.primary)

    @property
    def failed(self) -> tuple[Entry, ...]:
        """Entries without figures."""
        return tuple(entry for entry in self.entries if not entry.done)

    @property
    def family(self) -> int:
        """How many differences were tested together."""
        return sum(len(compared) for compared in self.comparisons.values())

    def ranked(self, metric: str) -> tuple[Entry, ...]:
        """Entries with figures by a metric, the best first; none if neither direction is better."""
        way = direction(metric)
        done = [entry for entry in self.entries if entry.done and not math.isnan(entry.means[metric])]
        return tuple(sorted(done, key=lambda entry: -way * entry.means[metric])) if way else ()

    def rival(self, metric: str) -> Entry | None:
        """The runner-up by a metric: the best entry of another contestant than the first."""
        ranked = self.ranked(metric)
        return next((entry for entry in ranked if entry.contestant != ranked[0].contestant), None)

    # --- formats -----------------------------------------------------------------------------------------------------

    def plot(self, metric: str | None = None) -> charts.Chart:
        """A dot and its interval for each entry with figures, the best first, by the primary metric or another."""
        label = self.design.primary if metric is None else parse(metric).label
        rows = [entry for entry in self.ranking if label in entry.means]
        if not rows:
            raise UsageError(f"No entry has figures of {ascii_line(label)}.")
        values = charts.Dots(label, [(entry.means[label], entry.intervals.get(label)) for entry in rows])
        names = [entry.label for entry in rows]
        return charts.dots([values], names, x=charts.Axis(label), title=f"{label} of {len(rows)} models")

    def to_frame(self) -> "polars.DataFrame":
        """One row for each entry and metric, as a polars frame (`.to_pandas()` takes it further)."""
        return frame(self)

    def to_text(self) -> str:
        """Two aligned tables, scores and tests, and how to read them."""
        return (
            "\n\n".join([scores(self).text(), *([tests(self).text()] * bool(self.comparisons)), *remarks(self)]) + "\n"
        )

    def brief(self) -> str:
        """The scores, and who is best, in short: without the table of tests."""
        return f"{scores(self).text()}\n\n" + "\n".join(in_short(self))

    def to_markdown(self) -> str:
        """The same for a README or an issue."""
        tables = [scores(self).markdown(), *([tests(self).markdown()] * bool(self.comparisons))]
        return "\n\n".join([*tables, *map(markdown_text, remarks(self))]) + "\n"

    def to_latex(self) -> str:
        """The same for a paper; needs the package booktabs."""
        tables = [scores(self).latex(), *([tests(self).latex()] * bool(self.comparisons))]
        return "\n\n".join([*tables, *map(latex_text, remarks(self))]) + "\n"

    def to_json(self) -> str:
        """Everything but the users' values."""
        return json_text(self.record()) + "\n"

    def record(self) -> dict[str, Any]:
        """The same as plain facts."""
        return record(self)

    def write(self, kind: str) -> str:
        """The study as text, markdown, latex, csv or json."""
        writers = {"text": self.to_text, "markdown": self.to_markdown, "latex": self.to_latex, "json": self.to_json}
        if kind not in FORMATS:
            raise no_such("format", kind, FORMATS)
        return self.to_frame().write_csv() if kind == "csv" else writers[kind]()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a file, in the format its name ends in: .txt, .md, .tex, .csv or .json."""
        for ending, kind in ENDINGS.items():
            if os.fspath(path).lower().endswith(ending):
                atomic.replace(path, self.write(kind).encode("utf-8", "surrogatepass"))
                return
        raise UsageError(f"Cannot tell what to write: {ascii_line(path, 200)} must end in {', '.join(ENDINGS)}.")

    def _repr_html_(self) -> str:
        tables = [scores(self).html(), *([tests(self).html()] * bool(self.comparisons))]
        return "".join([*tables, *(f"<p>{html.escape(line)}</p>" for line in remarks(self))])
