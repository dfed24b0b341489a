"""What files of results look like, as types, and a study as a table for the page.

What is not named here is not looked at.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from corml.errors import UsageError
from corml.evaluation.metrics import direction
from corml.service.studio import schema

__all__ = ["Evaluation", "Study", "table_of", "texts"]

ROWS = 200  # of a study

Number = float | None  # what is no finite number is null in these files
Ends = tuple[float, float]
Plain = str | float | bool | None
Value = Plain | list[Plain] | dict[str, Plain]  # never deeper, whatever somebody wrote


def texts(*values: Any) -> set[str]:
    """Those of them that are text, and not empty."""
    return {value for value in values if isinstance(value, str) and value}


class _Comparison(Struct, kw_only=True):
    difference: Number = None
    difference_low: Number = None
    difference_high: Number = None
    holm_t: Number = None


class _Model(Struct, kw_only=True):
    label: str
    model: str = ""
    tuned: bool = False
    error: str | None = None
    means: dict[str, Number] = field(default_factory=dict)
    intervals: dict[str, Ends] = field(default_factory=dict)
    comparisons: dict[str, _Comparison] = field(default_factory=dict)


class _Split(Struct, kw_only=True):
    fingerprint: str
    procedure: dict[str, Value] = field(default_factory=dict)


class _Intervals(Struct, kw_only=True):
    confidence: float = 0.95


class _Tests(Struct, kw_only=True):
    level: float = 0.05


class Study(Struct, kw_only=True):
    """A study without the values of its users and runs."""

    primary: str
    metrics: list[str]
    models: Annotated[list[_Model], Meta(min_length=1, max_length=ROWS)]
    splits: list[_Split]
    users: int
    reference: str | None = None
    best: str | None = None
    intervals: _Intervals = field(default_factory=_Intervals)
    tests: _Tests = field(default_factory=_Tests)

    def __post_init__(self) -> None:
        try:
            direction(self.primary)
        except UsageError:
            raise ValueError("no metric of ours") from None

    def about(self) -> set[str]:
        """Fingerprints of its data and splits."""
        return {name for one in self.splits for name in texts(one.fingerprint, one.procedure.get("data"))}


class Evaluation(Struct, kw_only=True):
    """The record of an evaluation."""

    model: str
    part: str
    metrics: dict[str, Number]
    split: str
    users: int
    intervals: dict[str, Ends] = field(default_factory=dict)
    confidence: float = 0.95
    procedure: dict[str, Value] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    rules: str = ""

    def about(self) -> set[str]:
        """Fingerprints of its data and split."""
        return texts(self.split, self.procedure.get("data"))

    def plain(self) -> dict[str, Any]:
        """As the model file has one; what is no number was not measured."""
        record: dict[str, Any] = msgspec.to_builtins(self)
        return record | {"metrics": {name: value for name, value in self.metrics.items() if value is not None}}


def table_of(study: Study, file: str) -> schema.StudyTable:
    """Its rows by the primary metric, the best first, and who wins."""
    way = direction(study.primary)
    rows = [_row(study, entry) for entry in study.models]
    return schema.StudyTable(
        file=file,
        primary=study.primary,
        metrics=study.metrics,
        users=study.users,
        confidence=study.intervals.confidence,
        level=study.tests.level,
        splits=len(study.splits),
        reference=study.reference,
        best=study.best,
        verdict=_verdict(study, rows),
        rows=sorted(rows, key=lambda row: (row.mean is None, -way * (row.mean or 0.0))),
    )


def _row(study: Study, entry: _Model) -> schema.StudyRow:
    one = entry.comparisons.get(study.primary, _Comparison())
    low, high = one.difference_low, one.difference_high
    return schema.StudyRow(
        label=entry.label,
        kind=entry.model,
        tuned=entry.tuned,
        mean=entry.means.get(study.primary),
        interval=entry.intervals.get(study.primary),
        means={name: value for name, value in entry.means.items() if value is not None},
        difference=one.difference,
        difference_interval=None if low is None or high is None else (low, high),
        p=one.holm_t,
        chance=None if one.holm_t is None else one.holm_t >= study.tests.level,
        failed=bool(entry.error),
    )


def _verdict(study: Study, rows: list[schema.StudyRow]) -> str:
    """Who wins, and whether that could be chance, in a sentence or two."""
    best = next((row for row in rows if row.label == study.best and row.mean is not None), None)
    if best is None:
        return "No model has figures."
    said = f"{best.label} is best by {study.primary}: {best.mean:.4f}."
    tested = [row for row in rows if row.chance is not None]
    if study.reference != study.best:
        if best.chance is None:
            return said
        sure = "could be chance" if best.chance else "is more than chance"
        return f"{said} Its lead over {study.reference} {sure} (corrected p {_p(best.p or 0.0)})."
    near = [row.label for row in tested if row.chance]
    if not tested:
        return said
    if not near:
        return f"{said} Its lead over all others is more than chance (corrected p < {study.tests.level:g})."
    return f"{said} Its lead over {', '.join(near)} could be chance (corrected p ≥ {study.tests.level:g})."


def _p(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"
