"""What is decided before anything is fitted: metrics, seeds, the budget, and the runs that a comparison needs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypedDict, Unpack

from corml.errors import ModelFileError, UsageError, ascii_line
from corml.evaluation.metrics import direction, parse, parse_all
from corml.evaluation.resampling import Bootstrap
from corml.experiments.candidates import Candidate
from corml.experiments.record import FORMAT, key_of
from corml.experiments.tuning import space_of
from corml.persistence.facts import from_plain, is_deep
from corml.splits import Split

METRICS = ("ndcg@10", "recall@10", "mrr@10", "novelty@10", "coverage@10")
KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # of a run: the name of its file


class DesignOptions(TypedDict, total=False):
    """The options of a comparison, with the defaults of `Design`."""

    metrics: str | Sequence[str]
    primary: str
    baseline: str | None
    seeds: int
    trials: int
    seconds: float | None
    confidence: float
    resamples: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Design:
    """A comparison as it was planned; the budget of tuning is `trials` and CPU `seconds`, for each model."""

    metrics: tuple[str, ...] = METRICS
    primary: str = "ndcg@10"
    baseline: str | None = None
    seeds: int = 1
    trials: int = 0
    seconds: float | None = None
    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0

    @classmethod
    def of(cls, **options: Unpack[DesignOptions]) -> Self:
        """Check and normalise; the primary metric is measured whether it is listed or not."""
        primary = parse(options.get("primary", cls.primary)).label
        if not direction(primary):
            raise UsageError(
                f"{primary} cannot decide which model is best: random lists would win it. "
                "Choose a metric of accuracy, such as ndcg@10."
            )
        listed = [metric.label for metric in parse_all(options.get("metrics", cls.metrics))]
        metrics = listed if primary in listed else [primary, *listed]
        design = cls(**{**options, "metrics": tuple(metrics), "primary": primary})  # type: ignore[arg-type]
        design._check()
        return design

    @property
    def tunes(self) -> bool:
        """Whether models are tuned as well."""
        return self.trials > 0 or self.seconds is not None

    @property
    def bootstrap(self) -> Bootstrap:
        """How intervals over users are drawn."""
        return Bootstrap(self.confidence, self.resamples, self.seed)

    def _check(self) -> None:
        for name, value, least in (("seeds", self.seeds, 1), ("trials", self.trials, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise UsageError(f"{name} must be a whole number of {least} or more; got {ascii_line(value)}.")
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError(f"seconds must be above 0; got {ascii_line(self.seconds)}.")
        self.bootstrap  # noqa: B018 (checks itself)


# --- the plan on file ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PlannedModel:
    """A row of the table; `base` is its label without what tuning adds, `runs` are the keys of its runs."""

    label: str
    base: str
    model: str
    tuned: bool
    settings: Mapping[str, object]
    runs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SplitFacts:
    """What identifies a split, how it was made, and how large it is."""

    fingerprint: str
    procedure: Mapping[str, object]
    counts: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The command, where the data came from, and the versions."""

    command: str = ""
    data: Mapping[str, object]
    environment: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A comparison as its folder records it."""

    design: Design
    models: tuple[PlannedModel, ...]
    splits: tuple[SplitFacts, ...]
    provenance: Provenance
    format: int = FORMAT

    @classmethod
    def read(cls, plain: object) -> Self:
        """The plan of a file, checked; a ModelFileError, TypeError or UsageError if there is none."""
        if is_deep([plain]):
            raise ModelFileError("it is nested too deeply")
        plan = from_plain(cls, plain)
        keys = [key for one in plan.models for key in one.runs or ("",)]
        if not all(map(KEY.fullmatch, keys)) or len({one.label for one in plan.models}) < len(plan.models):
            raise ModelFileError("its models have no runs, or share a label")
        Design.of(**vars(plan.design))
        return plan


# --- what is to be run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedRun:
    """One fit to make: `search` is the key of the search for its hyperparameters, None where they are given."""

    key: str
    label: str
    candidate: Candidate
    split: Split
    seed: int | None = None
    search: str | None = None


class Row(NamedTuple):
    """A row of the table as the plan records it, and its runs, one for each split and seed."""

    planned: PlannedModel
    runs: tuple[PlannedRun, ...]


def rows_of(compared: Sequence[Candidate], splits: Sequence[Split], design: Design) -> tuple[Row, ...]:
    """All rows: each model as it is given and, if there is a budget and something to search, a tuned one."""
    if len(splits) > 1 and any(one.model is None for one in compared):
        raise UsageError("Lists belong to one split: compare on that split alone, or leave the lists out.")
    rows = []
    for one in compared:
        rows.append(_row(one, splits, design, tuned=False))
        if design.tunes and one.model is not None and space_of(type(one.model), fixed=one.changed):
            rows.append(_row(one, splits, design, tuned=True))
    return tuple(rows)


def _row(one: Candidate, splits: Sequence[Split], design: Design, *, tuned: bool) -> Row:
    label = f"{one.label} (tuned)" if tuned else one.label
    first = one.settings.get("seed")
    seeds = [first + at for at in range(design.seeds)] if isinstance(first, int) else [None]
    runs = tuple(_run(label, one, split, seed, design, tuned=tuned) for split in splits for seed in seeds)
    planned = PlannedModel(
        label=label,
        base=one.label,
        model=one.name,
        tuned=tuned,
        settings=one.settings,
        runs=tuple(run.key for run in runs),
    )
    return Row(planned, runs)


def _run(label: str, one: Candidate, split: Split, seed: int | None, design: Design, *, tuned: bool) -> PlannedRun:
    subject = {"model": one.name, "settings": one.settings, "lists": one.digest, "split": split.fingerprint}
    search = None
    if tuned:
        budget = {"trials": design.trials, "seconds": design.seconds, "metric": design.primary, "seed": design.seed}
        search = key_of(one.name, {**subject, "tuning": budget})
    name = "-".join([one.name or "lists", *["tuned"] * tuned, *([] if seed is None else [f"seed{seed}"])])
    key = key_of(name, {**subject, "seed": seed, "search": search, "metrics": design.metrics})
    return PlannedRun(key=key, label=label, candidate=one, split=split, seed=seed, search=search)
