"""Recommended lists: what came out of a model, with reasons where a list is short."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from corml._runtime import html
from corml._runtime.frames import Table
from corml.data.ids import canonical
from corml.errors import UnknownIdError, UsageError, as_utf8, printable

if TYPE_CHECKING:
    import polars

SHOWN = 5  # lists that a notebook shows
PERSONAL, FALLBACK = "personal", "fallback"  # sources of a list: the history of its user, or what is popular


class _ItemTable(np.ndarray[tuple[int, ...], np.dtype[np.object_]]):
    """The n × k array of item ids; called, as a mapping's `items()`, it gives each user with the items of the list."""

    _users: tuple[str, ...]

    @classmethod
    def of(cls, items: NDArray[np.object_], users: tuple[str, ...]) -> Self:
        """The array with the users of its rows."""
        table = np.asarray(items).view(cls)
        table._users = users
        return table

    def __call__(self) -> Iterator[tuple[str, list[str]]]:
        """Each user with the items of the list."""
        return zip(self._users, map(_filled, self), strict=True)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]  # a part of the table is an array as any other

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()


@dataclass(frozen=True, eq=False)
class Recommendations(Table):
    """One list per row, best first: `lists["u1"]`, `for user, items in lists.items()`, `dict(lists)`, `lists.values()`.

    `items` is an n × k array of item ids (`None` where a list has fewer than k) and `scores` the matching numbers
    (NaN there). `sources` says what each list rests on: "personal", the history of the user, or "fallback", the most
    popular items, where there was nothing to go by: no known item, or equal scores for all that may be listed.
    `reasons` says in a sentence why a list is short or not personal (`None` where all is well); `unknown` lists the
    history items that are not in the catalogue, and were ignored. `new` are the items that nobody had yet, see
    `Recommender.with_new_items`; where a model has some, records and frames say of each item whether it is new.

    Scores are those of the model, which `explain` adds up, whatever rules made the lists. `rules` says in words which
    did, and `boosts`, where some items were boosted, by what each score was multiplied for its place in the list.
    """

    items: NDArray[np.object_]
    scores: NDArray[np.float32]
    users: tuple[str, ...]
    sources: tuple[str, ...]
    reasons: tuple[str | None, ...]
    unknown: tuple[tuple[str, ...], ...]
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)
    new: frozenset[str] = field(default_factory=frozenset, repr=False)
    boosts: NDArray[np.float32] | None = None
    rules: str = ""

    COLUMNS: ClassVar[tuple[str, str]] = ("user", "item")  # of tables: whose list, and what is in it

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", _ItemTable.of(self.items, self.users))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # the array was written as a plain one

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> NoReturn:
        """Refuse: `ids, scores = model.recommend([a, b])` would give two users' lists, and no word of it."""
        raise UsageError(
            f"{type(self).__name__} cannot be unpacked or iterated over. The arrays of ids and of scores are "
            "lists.items and lists.scores. Write a loop as `for user, items in lists.items()`, or over lists.values()."
        )

    def keys(self) -> tuple[str, ...]:
        """Whose lists they are, in order."""
        return self.users

    def values(self) -> list[list[str]]:
        """The lists as item ids, best first, in order."""
        return [_filled(row) for row in self.items]

    def __getitem__(self, user: Hashable) -> list[str]:
        """The list of a user (the first, if there are several); 15 and "15" are one id."""
        row = self._row.get(canonical(user))
        if row is None:
            advice = f"A list is found by the id of its {self.COLUMNS[0]}; lists.values()[0] is the first."
            raise UnknownIdError(self.COLUMNS[0], [canonical(user)], len(self), advice=advice)
        return _filled(self.items[row])

    def __contains__(self, user: Hashable) -> bool:
        return canonical(user) in self._row

    @cached_property
    def _row(self) -> dict[str, int]:
        return {user: row for row, user in reversed(list(enumerate(self.users)))}

    def __repr__(self) -> str:
        return f"Recommendations({len(self):,} lists of {self.items.shape[1]})"

    def __str__(self) -> str:
        return "\n".join(self._lines(row) for row in range(len(self)))

    def _repr_html_(self) -> str:
        shown = min(len(self), SHOWN)
        who, what = self.COLUMNS
        named = [who, "rank", what, *(["title"] if self.titles else []), "score"]
        named += ["boost"] if self.boosts is not None else []
        rows = [[record[name] for name in named] for row in range(shown) for record in self.records(row)]
        notes = [f"{self.users[row]}: {self.reasons[row]}" for row in range(shown) if self.reasons[row]]
        notes += [self.rules] if self.rules else []
        if len(self) > shown:
            notes.append(f"the first {shown} of {len(self):,} lists")
        return html.table(named, rows, note="; ".join(notes))

    def rows(self) -> list[dict[str, Any]]:
        """One record per recommended item: user, rank from 1, item, score and, where known, title."""
        return [record for row in range(len(self)) for record in self.records(row)]

    @as_utf8()
    def to_frame(self) -> "polars.DataFrame":
        """A Polars frame with one row per recommended item, and the source and reason of its list."""
        from corml._runtime.lazy_polars import polars

        who, what = self.COLUMNS
        there = self.items != np.array(None)
        row, place = np.nonzero(there)
        columns: dict[str, Any] = {
            who: np.array(self.users, dtype=object)[row].tolist(),
            "rank": (place + 1).astype(np.int32),
            what: self.items[there].tolist(),
            "score": self.scores[there],
        }
        if self.boosts is not None:
            columns["boost"] = self.boosts[there]
        if self.titles:
            columns["title"] = [self.titles.get(item, "") for item in columns[what]]
        if self.new:
            columns["new"] = [item in self.new for item in columns[what]]
        for name, values in (("source", self.sources), ("reason", self.reasons)):
            columns[name] = np.array(values, dtype=object)[row].tolist()
        text = dict.fromkeys((who, what, "title", "source", "reason"), polars.String)
        return polars.DataFrame(columns, schema_overrides={k: v for k, v in text.items() if k in columns})

    def records(self, row: int) -> Iterator[dict[str, Any]]:
        """The records of one list."""
        who, what = self.COLUMNS
        for place, item in enumerate(self.items[row]):
            if item is None:
                return
            record = {who: self.users[row], "rank": place + 1, what: item, "score": float(self.scores[row, place])}
            if self.boosts is not None:
                record["boost"] = float(self.boosts[row, place])
            record |= {"title": self.titles.get(item, "")} if self.titles else {}
            yield record | ({"new": item in self.new} if self.new else {})

    def _lines(self, row: int) -> str:
        lines = [printable(self.users[row]) + (f"  ({self.reasons[row]})" if self.reasons[row] else "")]
        lines += [
            f"{r['rank']:>4}  {r['score']:9.4f}{_times(r.get('boost', 1))}  {printable(r[self.COLUMNS[1]])}"
            + (f"  {printable(r['title'])}" if r.get("title") else "")
            + ("  (new)" if r.get("new") else "")
            for r in self.records(row)
        ]
        return "\n".join(lines)


class SimilarItems(Recommendations):
    """One list per item of the request, the most similar items first; `users` are the items of the request."""

    COLUMNS = ("item", "similar")

    @classmethod
    def of(cls, lists: Recommendations, items: Sequence[str]) -> Self:
        """Lists of histories of one item each, under the names of these items."""
        about = {one.name: getattr(lists, one.name) for one in fields(lists)}
        return cls(**{**about, "users": tuple(items)})


def _times(boost: float) -> str:
    """A boost as it stands beside a score; nothing where there is none."""
    return "" if boost == 1 else f" ×{boost:.4g}"


def _filled(row: NDArray[np.object_]) -> list[str]:
    """The items of a list, which may be shorter than k."""
    return [item for item in row if item is not None]
