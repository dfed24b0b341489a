"""The outcome of a comparison: a row for every model, and each against the best over the same users."""

import html
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from corml._runtime.values import counted_note, json_text, nearest, no_such
from corml.errors import UsageError, ascii_line, printable
from corml.evaluation import Comparison, Result, charts
from corml.evaluation.metrics import direction, parse
from corml.experiments import tables
from corml.experiments.grid import Grid, clean, latex_text, markdown_text
from corml.experiments.plan import Design, Provenance, SplitFacts
from corml.experiments.record import Cost, Run
from corml.persistence import atomic

if TYPE_CHECKING:
    import polars

Format: TypeAlias = Literal["text", "markdown", "latex", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
ENDINGS: dict[str, Format] = dict(zip((".txt", ".md", ".tex", ".csv", ".json"), FORMATS, strict=True))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelResult:
    """A row: means over users (and over runs, where there are several seeds or splits) and what they cost.

    `result` has means, intervals over users and every user's values, each averaged over the runs; `run_deviation` is
    the standard deviation of the means over runs, empty for a single run. `cost` is the mean over runs of fitting and
    scoring; the search of a tuned model is counted once. A model that failed has an `error` and no result.
    """

    label: str
    base: str  # the label without what tuning adds to it
    model: str
    tuned: bool
    settings: Mapping[str, object]
    runs: tuple[Run, ...] = ()
    result: Result | None = None
    run_deviation: Mapping[str, float] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    error: str = ""

    def __repr__(self) -> str:
        return f"ModelResult({printable(self.label)}: {printable(self.error) or f'{len(self.runs)} runs'})"

    @property
    def done(self) -> bool:
        """Whether there are figures."""
        return self.result is not None

    @property
    def means(self) -> Mapping[str, float]:
        """Means by metric; empty if the model failed."""
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
        counted = [counted_note(count, what) for run in self.runs[:1] for what, count in run.notes.items()]
        return list(dict.fromkeys([*counted, *(text for run in self.runs for text in run.warnings)]))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Study:
    """A comparison of models on one split (or several), over the same users with the same masks.

    `study["ease"]` is a row, `study.best` the one with the best primary metric, `study.comparisons[label][metric]` the
    paired comparison of a row with `study.reference`: p by three tests, corrected by Holm's method over all rows and
    metrics. `to_frame`, `write`, `record` and `save` export the figures.
    """

    design: Design
    models: tuple[ModelResult, ...]
    comparisons: Mapping[str, Mapping[str, Comparison]]
    reference: str | None
    users: NDArray[np.object_]
    splits: tuple[SplitFacts, ...]
    provenance: Provenance

    def __repr__(self) -> str:
        best = f"; best: {clean(self.best.label)}" if self.best else ""
        return f"Study({len(self.models)} models, {len(self.users):,} users{best})"

    def __str__(self) -> str:
        return self.to_text()

    def __getitem__(self, label: str) -> ModelResult:
        for model in self.models:
            if model.label == label:
                return model
        raise UsageError(f"No model is called {ascii_line(label)}{nearest(label, [one.label for one in self.models])}")

    def __iter__(self) -> Iterator[ModelResult]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    @property
    def ranking(self) -> tuple[ModelResult, ...]:
        """Models with figures by the primary metric, the best first."""
        return self.ranked(self.design.primary)

    @property
    def best(self) -> ModelResult | None:
        """The model with the best mean of the primary metric."""
        return self.ranking[0] if self.ranking else None

    @property
    def runner_up(self) -> ModelResult | None:
        """The best other model; the default and tuned versions of one model do not compete."""
        return self.runner_up_by(self.design.primary)

    @property
    def failed(self) -> tuple[ModelResult, ...]:
        """Models without figures."""
        return tuple(one for one in self.models if not one.done)

    @property
    def family(self) -> int:
        """How many differences were tested together."""
        return sum(len(compared) for compared in self.comparisons.values())

    def ranked(self, metric: str) -> tuple[ModelResult, ...]:
        """Models with figures by a metric, the best first; none if neither direction is better."""
        way = direction(metric)
        done = [one for one in self.models if one.done and not math.isnan(one.means[metric])]
        return tuple(sorted(done, key=lambda one: -way * one.means[metric])) if way else ()

    def runner_up_by(self, metric: str) -> ModelResult | None:
        """The runner-up by a metric."""
        ranked = self.ranked(metric)
        return next((one for one in ranked if one.base != ranked[0].base), None)

    # --- formats -----------------------------------------------------------------------------------------------------

    def plot(self, metric: str | None = None) -> charts.Chart:
        """A dot and its interval for each model with figures, the best first, by the primary metric or another."""
        label = self.design.primary if metric is None else parse(metric).label
        rows = [one for one in self.ranking if label in one.means]
        if not rows:
            raise UsageError(f"No model has figures of {ascii_line(label)}.")
        values = charts.Dots(label, [(one.means[label], one.intervals.get(label)) for one in rows])
        names = [one.label for one in rows]
        return charts.dots([values], names, x=charts.Axis(label), title=f"{label} of {len(rows)} models")

    def to_frame(self) -> "polars.DataFrame":
        """One row for each model and metric, as a polars frame (`.to_pandas()` converts it)."""
        return tables.frame(self)

    def to_text(self) -> str:
        """Two aligned tables, scores and tests, and how to read them."""
        return self._joined(Grid.text, str)

    def to_markdown(self) -> str:
        """The same for a README or an issue."""
        return self._joined(Grid.markdown, markdown_text)

    def to_latex(self) -> str:
        """The same for a paper; needs the package booktabs."""
        return self._joined(Grid.latex, latex_text)

    def _joined(self, table: Callable[[Grid], str], escape: Callable[[str], str]) -> str:
        return "\n\n".join([*map(table, self._tables()), *map(escape, tables.remarks(self))]) + "\n"

    def _tables(self) -> list[Grid]:
        return [tables.scores(self), *([tables.tests(self)] if self.comparisons else [])]

    def brief(self) -> str:
        """The scores, and which model is best, in short: without the table of tests."""
        return f"{tables.scores(self).text()}\n\n" + "\n".join(tables.in_short(self))

    def to_json(self) -> str:
        """Everything except the users' values."""
        return json_text(self.record()) + "\n"

    def record(self) -> dict[str, object]:
        """The same as a dictionary."""
        return tables.record(self)

    def write(self, kind: Format) -> str:
        """The study as text, markdown, latex, csv or json."""
        writers = {"text": self.to_text, "markdown": self.to_markdown, "latex": self.to_latex, "json": self.to_json}
        if kind not in FORMATS:
            raise no_such("format", kind, FORMATS)
        return self.to_frame().write_csv() if kind == "csv" else writers[kind]()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a file, in the format of its ending: .txt, .md, .tex, .csv or .json."""
        for ending, kind in ENDINGS.items():
            if os.fspath(path).lower().endswith(ending):
                atomic.replace(path, self.write(kind).encode("utf-8", "surrogatepass"))
                return
        raise UsageError(f"{ascii_line(path, 200)} has no known format: its name must end in {', '.join(ENDINGS)}.")

    def _repr_html_(self) -> str:
        remarks = (f"<p>{html.escape(line)}</p>" for line in tables.remarks(self))
        return "".join([*(table.html() for table in self._tables()), *remarks])
