"""What a report page is made of: plain frozen pieces, in the order they are read."""

from dataclasses import dataclass

from corml.report.tables import Table

__all__ = [
    "Card",
    "Comparison",
    "Details",
    "Fact",
    "Facts",
    "Figure",
    "Finding",
    "Findings",
    "Gallery",
    "Page",
    "Pick",
    "Samples",
    "Section",
]

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Fact:
    """One number worth a tile, and what it counts."""

    label: str
    value: str


@dataclass(frozen=True)
class Finding:
    """A problem or remark about the data; `severity` is a word such as "note", "warning" or "error"."""

    severity: str
    what: str
    advice: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure as SVG text, with a caption that says what it shows."""

    key: str
    title: str
    caption: str
    svg: str
    wide: bool = False


@dataclass(frozen=True)
class Pick:
    """A recommended item; `reasons` are history titles with their shares of the score."""

    title: str
    score: float
    reasons: tuple[tuple[str, float], ...] = ()
    held_out: bool = False


@dataclass(frozen=True)
class Card:
    """One user: some titles of the history, how many more there are, and what the model recommends."""

    name: str
    history: tuple[str, ...]
    more: int
    picks: tuple[Pick, ...]
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading."""

    heading: str
    intro: str = ""


@dataclass(frozen=True)
class Facts(Section):
    """Tiles for the few numbers that matter, and a list for the others."""

    tiles: tuple[Fact, ...] = ()
    more: Pairs = ()


@dataclass(frozen=True)
class Findings(Section):
    """What the checks of the data found, and what to do about it."""

    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Comparison(Section):
    """Models side by side: the main table, the whole one to open, how to read them and what the columns mean."""

    table: Table | None = None
    whole: Table | None = None
    note: str = ""
    meanings: Pairs = ()


@dataclass(frozen=True)
class Gallery(Section):
    """Figures, or a notice of why there are none."""

    figures: tuple[Figure, ...] = ()
    notice: str = ""


@dataclass(frozen=True)
class Samples(Section):
    """Recommendations for a few users."""

    cards: tuple[Card, ...] = ()


@dataclass(frozen=True)
class Details(Section):
    """Groups of names and values, and the command that reproduces the page."""

    groups: tuple[tuple[str, Pairs], ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str = ""
    sections: tuple[Section, ...] = ()
    footer: str = ""
