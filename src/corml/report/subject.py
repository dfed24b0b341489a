"""Everything a report is made from, and which metric and model decide."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from corml.data.interactions import Interactions
from corml.evaluation import Frontier, Result
from corml.evaluation.metrics import describe
from corml.evaluation.significance import holm, paired_t_test
from corml.models.recommender import Recommender
from corml.report.page import Card
from corml.splits import Split

MAIN_LENGTH = 10  # of the lists that are usually compared
INITIALS = frozenset({"ndcg", "mrr", "map", "auc"})


class Measure(NamedTuple):
    """A metric as the report shows it; `better` is +1 (higher), −1 (lower) or 0 (neither by itself)."""

    name: str
    label: str
    meaning: str
    better: int


def measure(name: str) -> Measure:
    """Describe a metric by its name, such as `ndcg@10`; an unknown one has no meaning and no direction."""
    family, at, k = name.partition("@")
    about = next((one for one in describe() if one.name == family), None)
    label = family.upper() if family in INITIALS else family.replace("_", " ").capitalize()
    return Measure(name, label + at + k, about.words if about else "", about.direction if about else 0)


def shared_names(results: Iterable[Result]) -> list[str]:
    """Metrics that every result has, in the order of the first."""
    lists = [list(result) for result in results]
    return [name for name in (lists[0] if lists else []) if all(name in other for other in lists)]


def main_names(names: Sequence[str]) -> list[str]:
    """The metrics at the list length that is usually compared, else at the first length there is."""
    for length in (f"@{MAIN_LENGTH}", *("@" + name.partition("@")[2] for name in names[:1])):
        chosen = [name for name in names if name.endswith(length)]
        if chosen:
            return chosen
    return list(names)


def paired(one: Result, other: Result, metric: str) -> NDArray[np.float64] | None:
    """Differences over the same users; None if they cannot be paired."""
    if metric not in one.per_user or metric not in other.per_user or not np.array_equal(one.users, other.users):
        return None
    differences = np.asarray(one.per_user[metric], dtype=float) - np.asarray(other.per_user[metric], dtype=float)
    return differences if len(differences) > 1 else None


class Quality(Protocol):
    """The part of the data-quality report that is shown."""

    @property
    def facts(self) -> Sequence[tuple[str, Any]]:
        """Labels and values in reading order."""

    @property
    def findings(self) -> Sequence[Any]:
        """Problems and notes, with `severity`, `what` and `advice`."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a model costs, as far as it is known: seconds to fit and to tune, seconds for 1,000 lists, and bytes."""

    fit_seconds: float | None = None
    fit_processor: float | None = None
    list_seconds: float | None = None
    tuning_seconds: float | None = None  # CPU time
    trials: int | None = None
    peak_bytes: int | None = None  # predicted, of the fit
    file_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Models on one data set; everything except the name, the data (or None) and the models may be left out.

    `models` maps a name to a fitted model (or None) and its evaluation, the model the page is about first.
    `primary` is the metric that decides, where it was named beforehand. `bases` maps a name to that of the same model
    without tuning: the two do not compete for runner-up. `corrected` are p values of the best against the others where
    they were corrected over a `family` of tests elsewhere.

    `dial` is the curve of a popularity–novelty trade-off, `samples` are cards made with `report.samples` or
    `report.cards`. `remarks` say which models are missing and why, `more` are further groups of names and values for
    the appendix. `when` is a date in words; without it the page has none, and the same subject gives the same bytes.
    """

    name: str
    data: Interactions | None
    models: Mapping[str, tuple[Recommender | None, Result]]
    split: Split | None = None
    quality: Quality | None = None
    primary: str | None = None
    bases: Mapping[str, str] = field(default_factory=dict)
    corrected: Mapping[str, float] = field(default_factory=dict)
    family: int = 0
    dial: Frontier | None = None
    samples: tuple[Card, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
    versions: Mapping[str, object] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    more: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    command: str = ""
    when: str = ""

    @property
    def results(self) -> dict[str, Result]:
        """The evaluations by name."""
        return {name: result for name, (_, result) in self.models.items()}

    @property
    def colours(self) -> dict[str, int]:
        """The colour of each model, the same in every chart."""
        return {name: at for at, name in enumerate(self.models)}

    @cached_property
    def metric(self) -> str | None:
        """The metric that decides: as named, or the first about accuracy that all have."""
        names, results = shared_names(self.results.values()), self.results.values()
        if self.primary in names:
            return self.primary
        accurate = [name for name in main_names(names) if measure(name).better > 0]
        return next((name for name in accurate if all(np.isfinite(result[name]) for result in results)), None)

    @property
    def main(self) -> list[str]:
        """The metrics at the list length of the one that decides."""
        names = shared_names(self.results.values())
        if self.metric is None:
            return main_names(names)
        length = self.metric.partition("@")[2]
        return [name for name in names if name.partition("@")[2] == length]

    def of_family(self, family: str) -> str | None:
        """The main metric of a family, such as coverage, if all have it."""
        return next((name for name in self.main if name.partition("@")[0] == family), None)

    @cached_property
    def ranking(self) -> list[str]:
        """Models by accuracy, the best first."""
        metric, results = self.metric, self.results
        return [] if metric is None else sorted(results, key=lambda name: -results[name][metric])

    @property
    def runner_up(self) -> str | None:
        """The best other model."""
        first, *others = self.ranking or [""]
        return next((name for name in others if self.bases.get(name, name) != self.bases.get(first, first)), None)

    @property
    def differences(self) -> dict[str, NDArray[np.float64]]:
        """The best model minus each other one, user by user, where the users are the same."""
        if self.metric is None:
            return {}
        first, *others = self.ranking
        pairs = {name: paired(self.results[first], self.results[name], self.metric) for name in others}
        return {name: values for name, values in pairs.items() if values is not None}

    @cached_property
    def p_values(self) -> Mapping[str, float]:
        """Corrected p of the best model against each other one whose users are the same."""
        if self.corrected:
            return self.corrected
        return holm({name: paired_t_test(values) for name, values in self.differences.items()})
