"""Results in the folder of a model file: studies of `corml compare`, an evaluation of `corml evaluate --json`.

    results.json, FOLDER/results.json    a study, as `corml compare --out FOLDER` writes it
    NAME.evaluation.json                 an evaluation; NAME is that of the model file

They are read as files that anybody may have put there: regular ones of limited size, decoded by type, and shown only if
they are about the data of the model. Files that are left out are named, without a word of their content. Fields that
the types below do not name are ignored.
"""

import os
import stat
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from corml.errors import UsageError, ascii_line
from corml.evaluation.metrics import direction
from corml.models.fitted import Fitted
from corml.service.studio import schema

LARGEST = 8 * 1024**2  # bytes of a file
FOLDERS = 100  # that are searched
ROWS = 200  # of a study

Number = float | None  # null where it is not finite
Ends = tuple[float, float]
Plain = str | float | bool | None
Value = Plain | list[Plain] | dict[str, Plain]  # never deeper


def texts(*values: object) -> set[str]:
    """The values that are text, and not empty."""
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
            raise ValueError("not a known metric") from None

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

    def plain(self) -> dict[str, object]:
        """As in a model file; a metric that is null was not measured."""
        record: dict[str, object] = msgspec.to_builtins(self)
        return record | {"metrics": {name: value for name, value in self.metrics.items() if value is not None}}


T = TypeVar("T", Study, Evaluation)


class Results(Struct, kw_only=True):
    """Results that are shown, and files that are not, with the reason."""

    studies: list[schema.StudyTable] = field(default_factory=list)
    evaluations: list[schema.Evaluated] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    def read(self, place: Path, shown: str, kind: type[T], data: set[str]) -> T | None:
        """Read a file; None if there is none, or, with a note, if it is something else or about other data."""
        try:
            content = msgspec.json.decode(_bytes(place), type=kind)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            self.ignored.append(f"{shown} cannot be read")
        except (msgspec.MsgspecError, ValueError, RecursionError):
            self.ignored.append(f"{shown} is no {kind.__name__.lower()} of corml")
        else:
            if not data.isdisjoint(content.about()):
                return content
            self.ignored.append(f"{shown} is about other data than this model's")
        return None


def results_beside(path: str, fitted: Fitted) -> Results:
    """Results in the folder of a model file, if they are about its data."""
    results = Results()
    if not path:
        return results
    folder, measured = Path(path).parent, fitted.evaluation
    data = texts(fitted.fingerprint, measured.get("split"), dict(measured.get("procedure") or {}).get("data"))
    for name in ["results.json", *(f"{inner}/results.json" for inner in _folders(folder))]:
        shown = ascii_line(name, 120)[1:-1]
        study = results.read(folder / name, shown, Study, data)
        if study is not None:
            results.studies.append(table_of(study, shown))
    name = f"{Path(path).stem}.evaluation.json"
    shown = ascii_line(name, 120)[1:-1]
    evaluation = results.read(folder / name, shown, Evaluation, data)
    if evaluation is not None:
        # The figures flatter a model that knew the held-out pairs; `corml evaluate` repeats the fit on train if the
        # model file says so.
        repeated = bool(measured.get("refit")) and measured.get("split") == evaluation.split
        flatters = evaluation.procedure.get("data") == fitted.fingerprint and not repeated
        results.evaluations.append(schema.Evaluated(file=shown, evaluation=evaluation.plain(), flatters=flatters))
    return results


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(one.name for one in entries if one.is_dir(follow_symlinks=False))[:FOLDERS]
    except OSError:
        return []


def _bytes(place: Path) -> bytes:
    """The content of a regular file. It is opened without waiting, or a pipe would block the caller."""
    with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
            raise OSError("not a regular file, or too large")
        return file.read(LARGEST)


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
    winner = f"{best.label} is best by {study.primary}: {best.mean:.4f}."
    if study.reference != study.best:
        if best.chance is None:
            return winner
        p = "< 0.0001" if (best.p or 0.0) < 1e-4 else f"{best.p:.4f}"
        return f"{winner} Its lead over {study.reference} {_surety(best.chance)} (corrected p {p})."
    if all(row.chance is None for row in rows):
        return winner
    near = [row.label for row in rows if row.chance]
    sign = "≥" if near else "<"
    others = ", ".join(near) or "all others"
    return f"{winner} Its lead over {others} {_surety(bool(near))} (corrected p {sign} {study.tests.level:g})."


def _surety(chance: bool) -> str:
    return "could be chance" if chance else "is more than chance"
