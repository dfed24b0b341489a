"""Everything a report is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from corml.interactions import Interactions
from corml.report._results import Measured
from corml.report.page import Card

__all__ = ["Doctor", "Parts", "Study"]


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


@dataclass(frozen=True, kw_only=True)
class Study:
    """A comparison of models on one data set; all but the name, the data and the models may be left out.

    `models` maps a name for people to a fitted model and its evaluation, the model the page is about first; `timings`
    are the seconds each took to fit. `samples` are cards made with `report.samples` or `report.cards`. `when` is a
    date in words; without it the page has none, and the same study gives the same bytes.
    """

    name: str
    data: Interactions
    models: Mapping[str, tuple[Any, Measured]]
    split: Parts | None = None
    doctor: Doctor | None = None
    samples: tuple[Card, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    when: str = ""
