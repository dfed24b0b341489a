"""What a report page is made of, in the order it is read."""

from typing import Literal, NamedTuple, TypeAlias

from corml.evaluation.charts import Chart

Kind: TypeAlias = Literal["numbers", "findings", "table", "figures", "facts", "groups", "cards", "note", "command"]
Pairs: TypeAlias = tuple[tuple[str, str], ...]


class Number(NamedTuple):
    """One number worth a tile, what it counts, and what to compare it with."""

    value: str
    label: str
    note: str = ""


class Figure(NamedTuple):
    """A chart with a caption that says what it shows."""

    title: str
    caption: str
    chart: Chart


class Past(NamedTuple):
    """An item of a history, and whether a recommendation on the card cites it."""

    title: str
    cited: bool = False


class Pick(NamedTuple):
    """A recommended item; `reasons` are history titles with their shares of the score."""

    title: str
    score: float
    reasons: tuple[tuple[str, float], ...] = ()
    held_out: bool = False


class Card(NamedTuple):
    """One user: some items of the history, how many more there are, and what the model recommends."""

    name: str
    history: tuple[Past, ...]
    more: int
    picks: tuple[Pick, ...]
    note: str = ""


class Part(NamedTuple):
    """A piece of a section: its kind names the macro of the template that shows the content.

    The content is a tuple of numbers, findings, figures or cards, pairs of text (facts), pairs of a heading and such
    pairs (groups), a Grid (table), or text (note, command). With `folded` it is behind these words.
    """

    kind: Kind
    content: object
    note: str = ""
    folded: str = ""
    label: str = ""  # of a table, for screen readers


class Section(NamedTuple):
    """A part of a page under its own heading; `key` is its address in the page."""

    key: str
    heading: str
    intro: str = ""
    parts: tuple[Part, ...] = ()
    appendix: bool = False


class Page(NamedTuple):
    """A whole report: one plain sentence and three numbers, then sections."""

    title: str
    subtitle: str = ""
    sentence: str = ""
    numbers: tuple[Number, ...] = ()
    sections: tuple[Section, ...] = ()
    footer: str = ""
