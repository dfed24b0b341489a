"""What a report page is made of: plain frozen pieces, in the order they are read."""

from dataclasses import dataclass
from typing import ClassVar

from corml.evaluation.charts import Chart
from corml.report.tables import Table

__all__ = [
    "Card",
    "Cards",
    "Command",
    "Facts",
    "Figure",
    "Figures",
    "Finding",
    "Findings",
    "Groups",
    "Note",
    "Number",
    "Numbers",
    "Page",
    "Part",
    "Past",
    "Pick",
    "Section",
    "Tables",
]

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Number:
    """One number worth a tile, what it counts, and what to compare it with."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """A problem or remark about the data; `severity` is a word such as "note", "warning" or "error"."""

    severity: str
    what: str
    advice: str = ""


@dataclass(frozen=True)
class Figure:
    """A chart with a caption that says what it shows."""

    title: str
    caption: str
    chart: Chart


@dataclass(frozen=True)
class Past:
    """An item of a history, and whether a recommendation on the card cites it."""

    title: str
    cited: bool = False


@dataclass(frozen=True)
class Pick:
    """A recommended item; `reasons` are history titles with their shares of the score."""

    title: str
    score: float
    reasons: tuple[tuple[str, float], ...] = ()
    held_out: bool = False


@dataclass(frozen=True)
class Card:
    """One user: some items of the history, how many more there are, and what the model recommends."""

    name: str
    history: tuple[Past, ...]
    more: int
    picks: tuple[Pick, ...]
    note: str = ""


@dataclass(frozen=True)
class Part:
    """A piece of a section; `KIND` is the macro of the template that shows it."""

    KIND: ClassVar[str]


@dataclass(frozen=True)
class Numbers(Part):
    """Tiles for the few numbers that matter."""

    KIND = "numbers"
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class Findings(Part):
    """What the checks of the data found, and what to do about it."""

    KIND = "findings"
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Tables(Part):
    """A table with a note below; with `folded`, behind these words."""

    KIND = "table"
    table: Table
    label: str
    note: str = ""
    folded: str = ""


@dataclass(frozen=True)
class Figures(Part):
    """Charts side by side where there is room."""

    KIND = "figures"
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Facts(Part):
    """Names and values; with `folded`, behind these words."""

    KIND = "facts"
    rows: Pairs
    folded: str = ""


@dataclass(frozen=True)
class Groups(Part):
    """Names and values in groups with headings."""

    KIND = "groups"
    groups: tuple[tuple[str, Pairs], ...]


@dataclass(frozen=True)
class Cards(Part):
    """Recommendations for a few users."""

    KIND = "cards"
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Note(Part):
    """A few small words."""

    KIND = "note"
    text: str


@dataclass(frozen=True)
class Command(Part):
    """What was typed."""

    KIND = "command"
    text: str


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading; `key` is its address in the page."""

    key: str
    heading: str
    intro: str = ""
    parts: tuple[Part, ...] = ()
    appendix: bool = False


@dataclass(frozen=True)
class Page:
    """A whole report: one plain sentence and three numbers, then sections."""

    title: str
    subtitle: str = ""
    sentence: str = ""
    numbers: tuple[Number, ...] = ()
    sections: tuple[Section, ...] = ()
    footer: str = ""
