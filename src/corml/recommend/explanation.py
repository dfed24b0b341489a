"""Why an item was scored as it was: exact contributions, because the models are linear in the history."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime import html
from corml._runtime.frames import Table
from corml.errors import as_utf8, printable

if TYPE_CHECKING:
    import polars

__all__ = ["Explanation"]

SHOWN = 10  # contributions in text; the others are added up


@dataclass(frozen=True, eq=False)
class Explanation(Table):
    """What each item of a history adds to the score of one item; the parts sum to the score.

    `parts` splits each contribution by where it comes from: for CoRML "h" (the learned residual metric) and "g"
    (the graph filter). Where they are known, `strengths` are what contributions were multiplied by (below zero for what
    the user rejected), `kinds` the last event of each item, and `ages` how many days it is old. Of a new item, which
    nobody has yet, `like` are the known items whose place it takes, with their weights, the largest first.
    """

    item: str
    history: tuple[str, ...]
    parts: Mapping[str, NDArray[np.float64]]
    unknown: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)
    strengths: tuple[float, ...] = ()
    kinds: tuple[str, ...] = ()
    ages: tuple[float | None, ...] = ()
    like: tuple[tuple[str, float], ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns of a table of it: what is known of the items."""
        about = {"strength": self.strengths, "kind": self.kinds, "age_days": self.ages, "title": self.titles}
        return ["item", "contribution", *self.parts, *(name for name, known in about.items() if known)]

    @property
    def contributions(self) -> NDArray[np.float64]:
        """What each history item adds, all parts together."""
        return sum(self.parts.values(), np.zeros(len(self.history)))

    @property
    def score(self) -> float:
        """The score: the sum of all contributions."""
        return float(self.contributions.sum())

    def rows(self) -> list[dict[str, Any]]:
        """One record per history item, largest contribution first."""
        total = self.contributions
        order = np.argsort(-total, kind="stable")
        records = []
        for at in order:
            label = self.history[at]
            record: dict[str, Any] = {"item": label, "contribution": float(total[at])}
            record |= {name: float(values[at]) for name, values in self.parts.items()}
            about = {"strength": self.strengths, "kind": self.kinds, "age_days": self.ages}
            record |= {name: values[at] for name, values in about.items() if values}
            records.append(record | ({"title": self.titles.get(label, "")} if self.titles else {}))
        return records

    def largest(self, most: int) -> list[dict[str, Any]]:
        """The records of the contributions that are largest either way, and one for all the others together."""
        rows = self.rows()
        kept = {id(row) for row in sorted(rows, key=lambda row: -abs(row["contribution"]))[:most]}
        shown, others = [row for row in rows if id(row) in kept], [row for row in rows if id(row) not in kept]
        if len(others) < 2:
            return rows
        sums = {name: sum(row[name] for row in others) for name in ("contribution", *self.parts)}
        return [*shown, {"item": f"{len(others):,} more", **sums}]

    def shown_like(self, most: int = 5) -> str:
        """The items that a new item is most like, with their weights, in words."""
        shown = [f"{self.titles.get(item, item)} ({weight:.2f})" for item, weight in self.like[:most]]
        return ", ".join(shown) + (f" and {len(self.like) - most} more" if len(self.like) > most else "")

    @as_utf8()
    def to_frame(self) -> "polars.DataFrame":
        """A polars frame with one row per history item, largest contribution first."""
        from corml._runtime.lazy_polars import polars

        return polars.DataFrame({name: [row[name] for row in self.rows()] for name in self.columns})

    def _repr_html_(self) -> str:
        shown = [name for name in self.columns if name not in ("item", "title")]
        rows = [
            [self.titles.get(row["item"], row["item"]), *(_cell(name, row[name]) for name in shown)]
            for row in self.rows()
        ]
        about = f"{self.titles.get(self.item, self.item)}: score {self.score:.4f}"
        note = f"unknown items: {', '.join(self.unknown)}" if self.unknown else ""
        about += f"; new, it is like {self.shown_like()}" if self.like else ""
        words = [name.replace("_", " ") for name in shown]
        return html.table(["because of", *words], rows, caption=about, note=note)

    def __str__(self) -> str:
        lines = [f"{printable(self.titles.get(self.item, self.item))}: score {self.score:.4f}"]
        lines += [f"  new; it is like {printable(self.shown_like())}"] if self.like else []
        for row in self.largest(SHOWN):
            split = ", ".join([*(f"{name} {row[name]:.4f}" for name in self.parts), *_event(row)])
            name = printable(self.titles.get(row["item"], row["item"]))
            lines.append(f"  {row['contribution']:9.4f}  {name}  ({printable(split)})")
        lines += [f"  {'unknown':>9}  {printable(label)}" for label in self.unknown]
        return "\n".join(lines)


def _cell(name: str, value: Any) -> Any:
    """A value as a page shows it: ages in whole days."""
    if value is None:
        return ""
    return round(value) if name == "age_days" else value


def _event(row: Mapping[str, Any]) -> list[str]:
    """The last event of an item in words: "buy", "21 days ago"."""
    words = [row["kind"]] if row.get("kind") else []
    age = row.get("age_days")
    return words if age is None else [*words, f"{age:.0f} day{'' if round(age) == 1 else 's'} ago"]
