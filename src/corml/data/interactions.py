"""Who interacted with what: distinct pairs of users and items, and one binary matrix."""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from corml._runtime import html
from corml.data.ids import Ids, canonical, numbered, those_used
from corml.data.kinds import Kinds
from corml.data.merging import cells, each_once, events_of, once, together
from corml.data.strength import Rows, distinct, moments, scored, summed, with_values
from corml.errors import DataError, as_utf8
from corml.linalg.sparse import rows_of

if TYPE_CHECKING:
    import polars

    from corml.data.attributes import Attributes

SHOWN = 5  # pairs that a notebook shows
LARGEST_INT32_NNZ = 2**31 - 1  # above this many interactions the matrix is indexed with 64-bit integers

Numbers = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Interactions:
    """Distinct (user, item) pairs in the order they were read, with the labels they stand for.

    `user` and `item` hold row numbers into `users` and `items`; `times` the time of each pair and `kinds` its event
    types, where given. `weights` are the strengths of the pairs, above 0; without them all pairs count alike.

    What is known but not learned from has the same form:

        seen        pairs of the same users and items that lists leave out by default, such as low ratings
        negative    those of them that were disliked: never listed again; similar items score lower, by weight
        others      users excluded from training (for example by `k_core`), on the same items, with their full history
        elsewhere   interactions with items outside the catalogue, for when the items are added later

    `seen` and `negative` are not part of the fingerprint. `attributes` describe items, these and perhaps more.
    """

    users: Ids
    items: Ids
    user: Numbers
    item: Numbers
    times: NDArray[np.float64] | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    seen: "Interactions | None" = None
    weights: NDArray[np.float32] | None = None
    negative: "Interactions | None" = None
    kinds: Kinds | None = None
    attributes: "Attributes | None" = None
    others: "Interactions | None" = None
    elsewhere: "Interactions | None" = None

    @classmethod
    def from_pairs(
        cls,
        users: Sequence[Hashable] | NDArray[Any],
        items: Sequence[Hashable] | NDArray[Any],
        *,
        times: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        titles: Mapping[str, str] | None = None,
        source: Mapping[str, Any] | None = None,
    ) -> Self:
        """Build from two equally long sequences of ids; repeated pairs become one (with their latest time).

        The weights of repeated pairs are added up.
        """
        if len(users) != len(items):
            raise DataError(f"Users and items must pair up: got {len(users):,} users and {len(items):,} items.")
        if len(users) == 0:
            raise DataError("There are no interactions: at least one (user, item) pair is needed.")
        user_ids, user = numbered(users, "user")
        item_ids, item = numbered(items, "item")
        when = None if times is None else moments(times, len(user))
        pairs = distinct(user, item, when, len(item_ids))
        names = {canonical(label): title for label, title in (titles or {}).items()}
        strengths = None if weights is None else summed(weights, user * len(item_ids) + item)
        return cls(user_ids, item_ids, *pairs, names, dict(source or {}), weights=strengths)

    def __post_init__(self) -> None:
        assert self.user.shape == self.item.shape
        assert self.times is None or self.times.shape == self.user.shape
        assert self.seen is None or self.seen.shape == self.shape
        assert self.weights is None or self.weights.shape == self.user.shape
        assert self.negative is None or self.negative.shape == self.shape
        assert self.kinds is None or len(self.kinds) == len(self.user)
        assert self.others is None or len(self.others.items) == len(self.items)

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return f"Interactions({len(self.users):,} users x {len(self.items):,} items, {len(self):,} pairs)"

    def _repr_html_(self) -> str:
        users, items = self.shape
        facts = [["users", users], ["items", items], ["interactions", len(self)]]
        facts += [
            ["density", f"{len(self) / max(users * items, 1):.2%}"],
            ["times", "no" if self.times is None else "yes"],
        ]
        rows = [
            [self.users.labels[user], self.items.labels[item], self.titles.get(self.items.labels[item], "")]
            for user, item in zip(self.user[:SHOWN], self.item[:SHOWN], strict=True)
        ]
        first = html.table(["user", "item", "title"], rows, caption="the first pairs")
        return html.table(["Interactions", ""], facts) + first

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return len(self.users), len(self.items)

    @cached_property
    def matrix(self) -> csr_array:
        """Binary users × items matrix, rows with sorted indices."""
        wide = len(self) > LARGEST_INT32_NNZ or max(self.shape) > LARGEST_INT32_NNZ
        index = np.int64 if wide else np.int32
        order = self._by_row
        indptr = np.zeros(len(self.users) + 1, dtype=index)
        np.cumsum(np.bincount(self.user, minlength=len(self.users)), out=indptr[1:])
        columns = self.item[order].astype(index)
        matrix = csr_array((np.ones(len(self), dtype=np.float32), columns, indptr), shape=self.shape)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        vars(self)["times_by_row"] = None if self.times is None else self.times[order]  # sorting once is enough
        vars(self)["weights_by_row"] = None if self.weights is None else self.weights[order]
        return matrix

    @property
    def _by_row(self) -> Numbers:
        """The order of the pairs in `matrix`."""
        return _by_cell(self.user, self.item, len(self.items))

    @property
    def weighted(self) -> csr_array:
        """The users × items matrix with the weights of the pairs as its values; without weights, the binary one."""
        return with_values(self.matrix, self.weights_by_row)

    @property
    def histories(self) -> csr_array:
        """What linear models score: items relative to the strongest of their history, disliked ones below zero."""
        return scored(self.weighted, None if self.negative is None else self.negative.weighted)

    @cached_property
    def weights_by_row(self) -> NDArray[np.float32] | None:
        """The weights of the pairs in the order of `matrix`, where given."""
        return None if self.weights is None else self.weights[self._by_row]

    @cached_property
    def times_by_row(self) -> NDArray[np.float64] | None:
        """The times of the pairs in the order of `matrix`, where given."""
        return None if self.times is None else self.times[self._by_row]

    @property
    def kinds_by_row(self) -> Kinds | None:
        """The event types of the pairs in the order of `matrix`, where given."""
        return None if self.kinds is None else self.kinds.where(self._by_row)

    @property
    def rows(self) -> Rows:
        """The pairs row by row, with everything that is known of each."""
        return Rows(self.matrix, self.times_by_row, self.kinds_by_row, self.weights_by_row)

    @classmethod
    def of_rows(
        cls, users: Ids, items: Ids, pairs: Rows, seen: Rows | None = None, negative: Rows | None = None, **about: Any
    ) -> Self:
        """Build from rows; `about` are titles and the like."""

        def made(part: Rows | None, **more: Any) -> Any:
            if part is None:
                return None
            user, item = rows_of(part.pattern).astype(np.int32), part.pattern.indices.astype(np.int32)
            return cls(users, items, user, item, part.times, weights=part.weights, kinds=part.kinds, **more)

        return cast(Self, made(pairs, seen=made(seen), negative=made(negative), **about))

    @property
    def event_types(self) -> tuple[str, ...]:
        """The names of all event types in the data; none where they were loaded without."""
        parts = [self.kinds, *(None if one is None else one.kinds for one in (self.seen, self.negative))]
        names = dict.fromkeys(name for part in parts if part is not None for name in part.known)
        for beside in (self.others, self.elsewhere):
            names |= dict.fromkeys(() if beside is None else beside.event_types)
        return tuple(names)

    @cached_property
    def user_degrees(self) -> NDArray[np.int64]:
        """How many items each user has."""
        return np.bincount(self.user, minlength=len(self.users))

    @cached_property
    def item_degrees(self) -> NDArray[np.int64]:
        """How many users each item has."""
        return np.bincount(self.item, minlength=len(self.items))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the set of pairs by label (and of their times): the order of rows and ids does not matter."""
        digest, ranks = hashlib.sha256(), []
        for ids in (self.users, self.items):
            order, rank = ids.labels.order(), np.empty(len(ids), dtype="<i8")
            rank[order] = np.arange(len(ids))
            ids.labels.feed(digest, order)
            ranks.append(rank)
        user, item = ranks[0][self.user], ranks[1][self.item]
        by_cell = _by_cell(user, item, len(self.items))
        for column in (user, item, self.times):
            digest.update(b"none" if column is None else column[by_cell].data)
        if self.weights is not None:
            digest.update(self.weights[by_cell].data)
        return digest.hexdigest()

    def where(self, keep: NDArray[Any]) -> Self:
        """A selection of the pairs (a mask, or positions), on the same users and items."""
        times = None if self.times is None else self.times[keep]
        weights = None if self.weights is None else self.weights[keep]
        kinds = None if self.kinds is None else self.kinds.where(keep)
        pairs = {"user": self.user[keep], "item": self.item[keep]}
        return replace(self, **pairs, times=times, weights=weights, kinds=kinds)

    def compact(self, *, seen: bool = False) -> Self:
        """Drop users and items without a pair, with `seen` also those without an excluded pair; the order stays."""
        parts: list[Interactions] = [self] if self.seen is None or not seen else [self, self.seen]
        users, user_row = those_used(self.users, np.concatenate([part.user for part in parts]))
        items, item_row = those_used(self.items, np.concatenate([part.item for part in parts]))
        others = None if self.others is None else self.others.on(self.others.users, items)._with_pairs()
        return replace(self._moved(users, items, user_row, item_row), others=others)

    def on(self, users: Ids, items: Ids) -> Self:
        """The same pairs on other ids; pairs whose user or item is not among those are left out.

        Pairs of `others` become excluded pairs of these users where they are among them, and so do pairs of `elsewhere`
        whose items are among these.
        """
        moved = self._moved(users, items, users.find(self.users), items.find(self.items))
        if self.others is not None:
            moved = replace(moved._excluding(self.others), others=self.others.beyond(users, items))
        if self.elsewhere is None or not (items.find(self.elsewhere.items) >= 0).any():
            return moved
        return replace(moved.with_seen(self.elsewhere), elsewhere=None).with_elsewhere(self.elsewhere)

    def beyond(self, users: Ids, items: Ids) -> Self | None:
        """The pairs of users who are not among these, on these items; None if there are none."""
        return self.on(self.users.without(users), items)._with_pairs()

    def _moved(self, users: Ids, items: Ids, user_row: Numbers, item_row: Numbers) -> Self:
        """The pairs where users and items have these rows; −1 leaves out."""
        user, item = user_row[self.user], item_row[self.item]
        keep = (user >= 0) & (item >= 0)
        seen, negative = (
            None if one is None else one._moved(users, items, user_row, item_row) for one in (self.seen, self.negative)
        )
        rows = replace(self, users=users, items=items, user=user, item=item, seen=None, negative=None, others=None)
        everywhere = replace(rows, seen=seen if seen else None, negative=negative if negative else None)
        return everywhere if keep.all() else everywhere.where(keep)

    def with_seen(self, other: "Interactions") -> Self:
        """The same pairs to learn from; all pairs of `other`, excluded ones too, are never recommended.

        Users and items are matched by id. Users who are not among these are kept as `others`, and items that are not
        in this catalogue as `elsewhere`.
        """
        parts = [part for part in (other, other.others) if part is not None]
        more = [part.users.without(self.users) for part in parts]
        others = self.others
        if any(map(len, more)):
            known = _nothing(Ids([], kind="user"), self.items) if others is None else others
            others = known.on(known.users.union(*more), self.items)._excluding(*parts)._with_pairs()
        return replace(self._excluding(*parts), others=others).with_elsewhere(other)

    def with_others(self, everyone: "Interactions") -> Self:
        """The same pairs to learn from; those users of `everyone` who are not among these are kept as `others`.

        They get lists from their own history, without anything in it.
        """
        plain = replace(everyone, titles={}, source={}, attributes=None, others=None, elsewhere=None)
        return replace(self, others=plain.beyond(self.users, self.items))

    def with_elsewhere(self, everyone: "Interactions") -> Self:
        """The same, with the pairs of `everyone` whose items are not in this catalogue kept as `elsewhere`."""
        known = (self.elsewhere, everyone, everyone.others, everyone.elsewhere)
        parts = [replace(part, elsewhere=None, others=None) for part in known if part is not None]
        items = Ids([]).union(*(part.items.without(self.items) for part in parts))
        if not len(items):
            return replace(self, elsewhere=None)
        people = Ids([], kind="user").union(*(part.users for part in parts))
        away = _nothing(people, items)._excluding(*parts)
        if away.seen is None:
            return replace(self, elsewhere=None)
        no = away.negative
        apart = away.seen if no is None else away.seen.where(~np.isin(cells(away.seen), cells(no)))
        apart = replace(apart, seen=no and replace(no, weights=None), negative=no)
        return replace(self, elsewhere=apart.compact(seen=True))

    def _with_pairs(self) -> Self | None:
        """The same without users who have no pair; None if no user has one."""
        known = self.user_degrees > 0
        if self.seen is not None:
            known |= self.seen.user_degrees > 0
        if known.all():
            return self if len(known) else None
        return self.on(self.users.take(known), self.items) if known.any() else None

    def _excluding(self, *parts: "Interactions") -> Self:
        """The same, where the pairs of other parts are excluded too, and disliked where they are disliked there."""
        moved = [part.on(self.users, self.items) for part in parts]
        known = [one for part in moved for one in (part, part.seen) if one is not None]
        known += [] if self.seen is None else [self.seen]
        every = replace(together(known), weights=None)
        new = ~np.isin(cells(every), cells(self))
        seen = each_once(every.where(new))
        no = [one for one in (self.negative, *(part.negative for part in moved)) if one is not None]
        negative = None if seen is None else once(no, cells(seen))
        kinds = self.kinds if self.kinds is None or new.all() else events_of(self, [self, every.where(~new)])
        return replace(self, seen=seen, kinds=kinds, negative=negative)

    def with_negative(self, other: "Interactions") -> Self:
        """The same data with the pairs of `other`, and no others, as negative feedback of their weights.

        A pair that is in both is no longer learned from. Users and items are matched by id; pairs of users and items
        that are not here are only excluded.
        """
        others = None if self.others is None else self.others._refusing(other)
        return replace(self, others=others)._refusing(other).with_seen(other)

    def _refusing(self, other: "Interactions") -> Self:
        about: dict[str, Any] = {"titles": {}, "source": {}, "attributes": None, "others": None, "elsewhere": None}
        no = replace(other.on(self.users, self.items), **about, seen=None, negative=None)
        kept = self.where(~np.isin(cells(self), cells(no)))
        return replace(kept._excluding(other), negative=no if len(no) else None)

    @as_utf8()
    def to_frame(self) -> "polars.DataFrame":
        """A polars frame with one row per pair: user, item and, where known, time, weight, kind and title.

        Times are numbers, as they were read. `.to_pandas()` or `.to_arrow()` convert the frame.
        """
        from corml._runtime.lazy_polars import polars

        def text(labels: Iterable[str], rows: Numbers) -> polars.Series:
            return polars.Series(list(labels), dtype=polars.String).gather(rows)

        columns: dict[str, Any] = {"user": text(self.users, self.user), "item": text(self.items, self.item)}
        if self.times is not None:
            columns["time"] = polars.Series(self.times).fill_nan(None)
        if self.weights is not None:
            columns["weight"] = self.weights
        if self.kinds is not None:
            columns["kind"] = self.kinds.words()
        if self.titles:
            columns["title"] = text((self.titles.get(label, "") for label in self.items), self.item)
        return polars.DataFrame(columns)

    def title(self, label: str) -> str:
        """What to show for an item: its title, else its id."""
        return self.titles.get(label, label)


def _nothing(users: Ids, items: Ids) -> Interactions:
    """No pair at all."""
    return Interactions(users, items, *np.zeros((2, 0), dtype=np.int32))


def _by_cell(user: Numbers, item: Numbers, items: int) -> Numbers:
    """The order of pairs by user and then item: one key sorts in half the time of two."""
    return np.argsort(user.astype(np.int64) * items + item, kind="stable")
