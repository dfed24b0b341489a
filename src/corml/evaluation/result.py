"""The outcome of an evaluation: means, their confidence intervals, every user's values, and how it was done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime import html
from corml._runtime.frames import Table
from corml._runtime.values import counted_note, nearest
from corml.errors import UsageError, as_utf8, ascii_line
from corml.evaluation import charts
from corml.evaluation.metrics import parse
from corml.evaluation.resampling import Bootstrap
from corml.evaluation.significance import Comparison, compare

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, eq=False, repr=False)
class Result(Table):
    """Means by metric (`result["ndcg@10"]`), over the evaluated users.

    `per_user` has an array in the order of `users` for each metric that is about single lists, and `intervals` a
    (low, high) for it; coverage and gini are about all lists together and are in neither. `notes` counts what was
    left out and why; `split` and `procedure` identify the split and how to reproduce it. `rules` describes the
    constraints on the lists, if there were any.
    """

    means: Mapping[str, float]
    per_user: Mapping[str, NDArray[np.float64]]
    users: NDArray[Any]
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    part: str = "test"
    model: str = ""
    confidence: float = 0.95
    split: str = ""
    procedure: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    rules: str = ""

    def __getitem__(self, metric: str) -> float:
        return self.means[self._label(metric)]

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, str) and (
            metric in self.means or metric.strip().lower().replace("-", "_") in self.means
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.means)

    def __len__(self) -> int:
        return len(self.means)

    def __repr__(self) -> str:
        first = ", ".join(f"{label} {mean:.4f}" for label, mean in list(self.means.items())[:3])
        return f"Result({len(self.users):,} users, {self.part}: {first}{', …' if len(self) > 3 else ''})"

    def __str__(self) -> str:
        return self.table()

    def table(self) -> str:
        """Aligned text: a row for each metric, a column for each length, then the number of users and the notes."""
        return "\n".join([lay_out(self.means, self.intervals), "", *self._notes()])

    def _repr_html_(self) -> str:
        rows = [
            [label, mean, *(_ends(self.intervals.get(label)) if self.intervals else [])]
            for label, mean in self.means.items()
        ]
        heads = ["metric", "mean", *(["low", "high"] if self.intervals else [])]
        return html.table(heads, rows, caption=self.model, note="; ".join(self._notes()))

    def plot(self, metrics: Sequence[str] | None = None) -> charts.Chart:
        """A dot and its interval for each metric, or for some of them."""
        labels = list(self.means) if metrics is None else [self._label(metric) for metric in metrics]
        values = charts.Dots(self.model, [(self[label], self.intervals.get(label)) for label in labels])
        title = f"{self.model or 'Result'} on the {self.part} part"
        return charts.dots([values], labels, x=charts.Axis("mean over users", zero=True), title=title)

    @as_utf8()
    def to_frame(self) -> "polars.DataFrame":
        """One row per user and one column per metric that has a value for each, as a polars frame."""
        from corml._runtime.lazy_polars import polars

        columns = {label: np.asarray(values, dtype=np.float64) for label, values in self.per_user.items()}
        users = polars.Series("user", self._labels().tolist(), dtype=polars.String)
        return polars.DataFrame([users, *(polars.Series(label, column) for label, column in columns.items())])

    def summary(self) -> list[dict[str, Any]]:
        """One record per metric: its name, list length, mean and, where there is one, its interval."""
        records = []
        for label, mean in self.means.items():
            name, _, k = label.partition("@")
            low, high = self.intervals.get(label, (None, None))
            records.append({"metric": name, "k": int(k), "mean": mean, "low": low, "high": high})
        return records

    def compare(
        self, other: "Result", *, confidence: float = 0.95, resamples: int = 1000, seed: int = 0
    ) -> dict[str, Comparison]:
        """For each shared metric: the mean difference over the same users, its interval, and p of a paired t-test."""
        return compare(self._paired(other), Bootstrap(confidence, resamples, seed))

    def record(self) -> dict[str, Any]:
        """Everything but the users' values, ready for JSON; model files store it."""
        return {
            "model": self.model,
            "part": self.part,
            "metrics": dict(self.means),
            "intervals": {label: list(ends) for label, ends in self.intervals.items()},
            "confidence": self.confidence,
            "users": len(self.users),
            "split": self.split,
            "procedure": dict(self.procedure),
            "notes": dict(self.notes),
            **({"rules": self.rules} if self.rules else {}),
        }

    def _label(self, metric: str) -> str:
        """The label of a measured metric; a function has its label only."""
        label = metric if metric in self.means else parse(metric).label
        if label not in self.means:
            raise UsageError(f"{ascii_line(metric)} was not measured{nearest(label, self.means)}")
        return label

    def _labels(self) -> NDArray[np.object_]:
        return np.asarray(self.users, dtype=object)

    def _paired(self, other: "Result") -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Values of both results for the users and metrics they share, in one order."""
        if (self.split, self.part) != (other.split, other.part):
            raise UsageError(
                "These results are not of the same part of the same split: evaluate both models on one split."
            )
        both = self._labels(), other._labels()
        _, rows, other_rows = np.intersect1d(*both, assume_unique=True, return_indices=True)
        shared = [label for label in self.per_user if label in other.per_user]
        if not len(rows) or not shared:
            raise UsageError("These results have no user or no metric in common: evaluate both models alike.")
        return {label: (self.per_user[label][rows], other.per_user[label][other_rows]) for label in shared}

    def _notes(self) -> list[str]:
        certainty = f"; [low, high]: {self.confidence:.0%} interval over users" if self.intervals else ""
        head = f"{len(self.users):,} users of the {self.part} part{certainty}"
        rules = [f"lists with {self.rules}"] if self.rules else []
        return [head, *rules, *(counted_note(count, what) for what, count in self.notes.items())]


def _ends(interval: tuple[float, float] | None) -> list[float | str]:
    """The columns of an interval; empty where a metric has none."""
    return ["", ""] if interval is None else list(interval)


def lay_out(means: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]) -> str:
    """One row for each metric, in the order they were requested, and one column for each length."""
    names = list(dict.fromkeys(label.partition("@")[0] for label in means))
    lengths = sorted({int(label.partition("@")[2]) for label in means})
    rows = [["", *(f"@{k}" for k in lengths)]]
    rows += [[name, *(_cell(f"{name}@{k}", means, intervals) for k in lengths)] for name in names]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in padded)


def _cell(label: str, means: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]) -> str:
    if label not in means:
        return ""
    interval = "" if label not in intervals else " [{:.4f}, {:.4f}]".format(*intervals[label])
    return f"{means[label]:.4f}{interval}"
