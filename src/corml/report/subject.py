"""Everything a report is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from corml.data.interactions import Interactions
from corml.evaluation import Frontier
from corml.report._results import Measured, by_accuracy, main_names, primary, shared_names
from corml.report.page import Card

__all__ = ["Cost", "Doctor", "Parts", "Subject"]


class Doctor(Protocol):
    """The part of the checks of the data that is shown; findings have `severity`, `what` and `advice`."""

    @property
    def facts(self) -> Sequence[tuple[str, Any]]:
        """Labels and values in reading order."""

    @property
    def findings(self) -> Sequence[Any]:
        """Problems and remarks."""


class Parts(Protocol):
    """The part of `corml.splits.Split` that is shown."""

    @property
    def train(self) -> Interactions:
        """What models were fitted on."""

    @property
    def test(self) -> Interactions:
        """Held-out pairs they were evaluated on."""

    @property
    def procedure(self) -> Mapping[str, Any]:
        """How the split was made."""

    @property
    def fingerprint(self) -> str:
        """Which split it is."""

    def counts(self) -> Mapping[str, Any]:
        """Sizes of the parts."""

    def part(self, name: str) -> tuple[Interactions, Interactions, Interactions]:
        """Histories, what must not be recommended, and targets."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a model costs, as far as it is known: seconds to fit and to tune, seconds for 1,000 lists, and bytes."""

    fit_seconds: float | None = None
    fit_processor: float | None = None
    list_seconds: float | None = None
    tuning_seconds: float | None = None  # of the processor
    trials: int | None = None
    peak_bytes: int | None = None  # predicted, of the fit
    file_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Models on one data set; all but the name, the data (or None) and the models may be left out.

    `models` maps a name for people to a fitted model (or None) and its evaluation, the model the page is about first.
    `primary` is the metric that decides, where it was named beforehand. `contestants` tells who stands behind a name
    where one model takes part more than once (tuned and as it is): a model is not its own rival. `corrected` are p
    values of the best against the others where they were corrected over a `family` of tests elsewhere.

    `dial` is the curve of a novelty dial, `samples` are cards made with `report.samples` or `report.cards`.
    `remarks` are sentences about who is missing and why, `more` further groups of names and values for the appendix.
    `when` is a date in words; without it the page has none, and the same subject gives the same bytes.
    """

    name: str
    data: Interactions | None
    models: Mapping[str, tuple[Any, Measured]]
    split: Parts | None = None
    doctor: Doctor | None = None
    primary: str | None = None
    contestants: Mapping[str, str] = field(default_factory=dict)
    corrected: Mapping[str, float] = field(default_factory=dict)
    family: int = 0
    dial: Frontier | None = None
    samples: tuple[Card, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    command: str = ""
    when: str = ""

    @property
    def results(self) -> dict[str, Measured]:
        """The evaluations by name."""
        return {name: result for name, (_, result) in self.models.items()}

    @property
    def colours(self) -> dict[str, int]:
        """The colour of each model, the same in every chart."""
        return {name: at for at, name in enumerate(self.models)}

    @property
    def metric(self) -> str | None:
        """The metric that decides who wins: as named, or the first about accuracy that all have."""
        return self.primary if self.primary in shared_names(self.results.values()) else primary(self.results)

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

    @property
    def ranking(self) -> list[str]:
        """Models by accuracy, the best first."""
        return [] if self.metric is None else by_accuracy(self.results, self.metric)

    @property
    def rival(self) -> str | None:
        """The best of another contestant than the first."""
        first, *others = self.ranking or [""]
        behind = self.contestants
        return next((name for name in others if behind.get(name, name) != behind.get(first, first)), None)
