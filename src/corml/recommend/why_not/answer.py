"""The answer to "why not this item?", as data and in words."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from corml._runtime import html
from corml.errors import printable
from corml.recommend.explanation import Explanation

__all__ = ["Lift", "WhyNot"]

SHOWN = 5  # items of the history that are named
BARRED = {
    "seen": 'the user is known to have it, and seen (--seen) hides all known items; with seen="allow" (--seen allow), '
    "hide_events (--hide-events) or exclude_recent (--exclude-recent) it may come back",
    "not seen": 'the user is not known to have it, and seen="only" (--seen only) lists nothing else',
    "excluded": "exclude (--exclude, --exclude-where) keeps it out",
    "not in only": "only (--only, --only-where) does not allow it",
    "not available": "it is not available at the moment that now (--now) gives",
}
HIDDEN = {  # the option that hides a known item, where that is not seen alone
    "hide_events": "hide_events (--hide-events) keeps it out: the user has an event of one of these types with it, or "
    "one whose type is unknown",
    "exclude_recent": "exclude_recent (--exclude-recent) keeps it out: the user interacted with it within that time, "
    "or at an unknown time",
    "rejected": "the user rejected it, and no option lists such an item",
}


@dataclass(frozen=True)
class Lift:
    """An item that, added to the history, would lift the item in question.

    `gain` is what it adds to the score; `rank_then` the rank with it, in the list if `listed_then`, else by score.
    """

    item: str
    gain: float
    rank_then: int
    listed_then: bool


@dataclass(frozen=True, eq=False)
class WhyNot:
    """Where an item stands, and why it is not in a list.

    `verdict` is "listed"; "below", if it ranks lower; "rules", if only rules of lists keep it out (`rules` names the
    fewest without which it would be listed); or why it may not be listed at all: "seen", "not seen", "excluded",
    "not in only", "not available". Of a "seen" item `hidden_by` names the option: "seen", "hide_events" or
    "exclude_recent"; or it is "rejected", which no option changes. `also` names the other verdicts that hold.

    `rank` is the place in the list, or else by (boosted) score among the `of` items that may be listed, and itself.
    `score` is the model's own, before the factor `boost`. `needed` is the score to pass: that of the last item of the
    list, or of the last one of a value that `max_per` limits (`full` names these); there is none with diversity.
    `explanation` says what each item of the history adds, for models that tell.
    """

    item: str
    verdict: str
    rank: int
    of: int
    score: float
    length: int  # of the list
    needed: float | None
    boost: float | None
    rules: tuple[str, ...]
    full: Mapping[str, list[str]]
    popularity: float  # share of the users that the model learned from
    support: int  # how many of them have the item
    lifts: tuple[Lift, ...]
    explanation: Explanation | None
    source: str  # of the list: personal or fallback
    unknown: tuple[str, ...] = ()
    hidden_by: str = ""
    also: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def reason(self) -> str:
        """The verdict in a sentence."""
        here = f"score {self.score:.4f}" + ("" if self.boost in (None, 1) else f" (boosted ×{self.boost:.4g})")
        if self.verdict == "listed":
            return f"listed: rank {self.rank:,} of {self.length:,}, {here}"
        where = f"rank {self.rank:,} of {self.of:,}, {here}"
        if self.verdict in BARRED:
            why = "; also, ".join(
                [HIDDEN.get(self.hidden_by, BARRED[self.verdict]), *(BARRED[one] for one in self.also)]
            )
            return f"{self.verdict}: {why}; if it could be listed: {where}"
        if self.verdict == "rules":
            full = [f"{name} {', '.join(values)}" for name, values in self.full.items()]
            full_of = f", the list has as many items as it may of {' and '.join(full)}" if full else ""
            return f"rules: it would be listed without {' and '.join(self.rules)}{full_of}; {where}"
        needed = "" if self.needed is None else f"; to be listed it needs more than {self.needed:.4f}"
        return f"below the list: {where}{needed}"

    def record(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        plain = {name: value for name, value in vars(self).items() if name not in ("explanation", "titles", "lifts")}
        return {
            "item": self.item,
            "title": self.titles.get(self.item, ""),
            "reason": self.reason,
            **plain,
            "lifts": [asdict(lift) for lift in self.lifts],
            "contributions": [] if self.explanation is None else self.explanation.rows(),
        }

    def __repr__(self) -> str:
        return f"WhyNot({self.item!r}: {self.reason})"

    def __str__(self) -> str:
        lines = [f"{self._named(self.item)}: {printable(self.reason)}"]
        if self.explanation is not None:
            rows = self.explanation.rows()[:SHOWN]
            lines += [f"  {row['contribution']:9.4f}  {self._named(row['item'])}" for row in rows]
        for lift in self.lifts:
            lines.append(f"  with {self._named(lift.item)}: rank {lift.rank_then:,}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        because = [] if self.explanation is None else self.explanation.rows()[:SHOWN]
        rows = [[self._named(row["item"]), row["contribution"]] for row in because]
        about = f"{self._named(self.item)}: {self.reason}"
        with_them = ", ".join(f"{self._named(lift.item)} (rank {lift.rank_then:,})" for lift in self.lifts)
        note = f"would lift it: {with_them}" if with_them else ""
        return html.table(["in the history", "contribution"], rows, caption=about, note=note)

    def _named(self, item: str) -> str:
        return printable(self.titles.get(item, item))
