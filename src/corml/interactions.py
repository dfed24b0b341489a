"""Who interacted with what: labels ↔ rows, and one binary matrix.

Labels are opaque text. "007", "7" and "7.0" are three different items, and "NA" is a fine name for one.
"""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from corml import html
from corml.errors import DataError, UnknownIdError, UsageError, ascii_line
from corml.strength import summed, with_values

if TYPE_CHECKING:
    import polars

    from corml.attributes import Attributes

__all__ = ["Ids", "Interactions", "canonical", "is_one_id", "labels_of"]

LONGEST_ID = 2048  # bytes of UTF-8
SHOWN = 5  # pairs that a notebook shows
LARGEST_INT32_NNZ = 2**31 - 1  # above this many interactions the matrix is indexed with 64-bit integers

Rows = NDArray[np.integer[Any]]


def canonical(label: Hashable) -> str:
    """The one text form of a label, whatever type it arrived in: 7, np.int64(7) and "7" are one id."""
    return label if type(label) is str else str(label)


def is_one_id(value: object) -> bool:
    """Whether a value is a single id rather than several."""
    return isinstance(value, str | int | float | np.generic)


def labels_of(values: object, what: str) -> list[Hashable]:
    """Ids as a plain list: from one id, a list, an array or a column of a frame."""
    if is_one_id(values):
        return [values]
    if isinstance(values, Iterable) and not isinstance(values, bytes | Mapping):
        listed = values.tolist() if hasattr(values, "tolist") else list(values)
        if all(is_one_id(value) for value in listed):
            return listed
    raise UsageError(f"{what} takes item or user ids, one or a list of them; got {ascii_line(values)}.")


def fault_of(label: str) -> str | None:
    """Why a text cannot be an id, or None."""
    if not label or label.isspace():
        return "an empty id"
    if len(label) > LONGEST_ID or (len(label) * 4 > LONGEST_ID and len(label.encode("utf-8", "replace")) > LONGEST_ID):
        return f"an id longer than {LONGEST_ID} bytes"
    return None


class Ids:
    """Labels in a fixed order, and the way back from a label to its row."""

    def __init__(self, labels: Iterable[Hashable], *, kind: str = "item") -> None:
        values = [canonical(label) for label in labels]
        self.kind = kind
        self.labels: NDArray[np.object_] = np.empty(len(values), dtype=object)
        self.labels[:] = values
        self._row = {label: row for row, label in enumerate(values)}
        if len(self._row) != len(values):
            raise DataError(f"The {kind} ids are not unique: {len(values) - len(self._row)} occur twice.")

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels.tolist())

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return list(self.labels[row])
        try:
            return str(self.labels[row])
        except IndexError:
            counted = f"{len(self):,} {self.kind}s, counted from 0"
            if isinstance(row, str):
                raise UsageError(f"There are {counted}; {ascii_line(row)} is an id, not a number.") from None
            raise IndexError(f"There are {counted}; there is no number {row}.") from None

    def __contains__(self, label: Hashable) -> bool:
        return canonical(label) in self._row

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Ids) and np.array_equal(self.labels, other.labels))

    def __hash__(self) -> int:
        return hash((len(self.labels), *self.labels[:3]))

    def __repr__(self) -> str:
        return f"Ids({len(self):,} {self.kind}s)"

    @property
    def fingerprint(self) -> str:
        """Hash of the labels in their order: what is numbered by rows means the same where it is equal."""
        return hashlib.sha256(_bytes_of(self.labels)).hexdigest()

    def numbers(self, labels: Iterable[str]) -> list[int]:
        """Rows of labels that are text already, as a list: for a few of them faster than an array."""
        row = self._row
        return [row.get(label, -1) for label in labels]

    def find(self, labels: Iterable[Hashable]) -> NDArray[np.int64]:
        """Rows of the labels; −1 where there is none."""
        return np.fromiter((self._row.get(canonical(label), -1) for label in labels), dtype=np.int64)

    def rows(self, labels: Iterable[Hashable]) -> NDArray[np.int64]:
        """Rows of the labels; every one must be known."""
        labels = list(labels)
        rows = self.find(labels)
        if (rows < 0).any():
            missing = list(dict.fromkeys(canonical(labels[at]) for at in np.flatnonzero(rows < 0)))
            raise UnknownIdError(self.kind, missing, len(self))
        return rows


@dataclass(frozen=True, eq=False)
class Interactions:
    """Distinct (user, item) pairs in the order they were read, with the labels they stand for.

    `user` and `item` hold row numbers into `users` and `items`; `times`, where known, the moment of each pair.
    `seen`, on the same users and items, are pairs that are known and not to be learned from, such as low ratings: they
    are never recommended. They are no part of the fingerprint. `weights` are how strong each pair is, above 0; without
    them all pairs are alike. `attributes` are what is known of items, of these and perhaps of others.
    """

    users: Ids
    items: Ids
    user: Rows
    item: Rows
    times: NDArray[np.float64] | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    seen: "Interactions | None" = None
    weights: NDArray[np.float32] | None = None
    attributes: "Attributes | None" = None

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
        user_ids, user = _encode(users, "user")
        item_ids, item = _encode(items, "item")
        moments = None if times is None else _moments(times, len(user))
        pairs = _distinct(user, item, moments, len(item_ids))
        names = {canonical(label): title for label, title in (titles or {}).items()}
        strengths = None if weights is None else summed(weights, user * len(item_ids) + item)
        return cls(user_ids, item_ids, *pairs, names, dict(source or {}), weights=strengths)

    def __post_init__(self) -> None:
        assert self.user.shape == self.item.shape
        assert self.times is None or self.times.shape == self.user.shape
        assert self.seen is None or self.seen.shape == self.shape
        assert self.weights is None or self.weights.shape == self.user.shape

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return f"Interactions({len(self.users):,} users x {len(self.items):,} items, {len(self):,} pairs)"

    def _repr_html_(self) -> str:
        users, items = self.shape
        facts = [["users", users], ["items", items], ["interactions", len(self)]]
        facts += [["density", f"{len(self) / max(users * items, 1):.2%}"], ["times", _yes(self.times is not None)]]
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
        order = np.lexsort((self.item, self.user))
        indptr = np.zeros(len(self.users) + 1, dtype=index)
        np.cumsum(np.bincount(self.user, minlength=len(self.users)), out=indptr[1:])
        columns = self.item[order].astype(index)
        matrix = csr_array((np.ones(len(self), dtype=np.float32), columns, indptr), shape=self.shape)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        vars(self)["times_by_row"] = None if self.times is None else self.times[order]  # sorting once is enough
        vars(self)["weights_by_row"] = None if self.weights is None else self.weights[order]
        return matrix

    @property
    def weighted(self) -> csr_array:
        """The users × items matrix with the weights of the pairs as its values; without weights, the binary one."""
        return with_values(self.matrix, self.weights_by_row)

    @cached_property
    def weights_by_row(self) -> NDArray[np.float32] | None:
        """The weights of the pairs in the order of `matrix`, where there are some."""
        return None if self.weights is None else self.weights[np.lexsort((self.item, self.user))]

    @cached_property
    def times_by_row(self) -> NDArray[np.float64] | None:
        """The moments of the pairs in the order of `matrix`, where they are known."""
        return None if self.times is None else self.times[np.lexsort((self.item, self.user))]

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
        item_order, user_order = np.argsort(self.items.labels), np.argsort(self.users.labels)
        item_rank, user_rank = np.argsort(item_order), np.argsort(user_order)
        user, item = user_rank[self.user].astype("<i8"), item_rank[self.item].astype("<i8")
        order = np.lexsort((item, user))
        digest = hashlib.sha256()
        for ids, ranking in ((self.users, user_order), (self.items, item_order)):
            digest.update(_bytes_of(ids.labels[ranking]))
        for column in (user, item, self.times):
            digest.update(b"none" if column is None else np.ascontiguousarray(column[order]).tobytes())
        if self.weights is not None:
            digest.update(np.ascontiguousarray(self.weights[order]).tobytes())
        return digest.hexdigest()

    def where(self, keep: NDArray[Any]) -> Self:
        """A selection of the pairs (a mask, or positions), on the same users and items."""
        times = None if self.times is None else self.times[keep]
        weights = None if self.weights is None else self.weights[keep]
        return replace(self, user=self.user[keep], item=self.item[keep], times=times, weights=weights)

    def compact(self) -> Self:
        """Forget users and items without a pair; the others keep their order."""
        users, user_row = _used(self.users, self.user)
        items, item_row = _used(self.items, self.item)
        return self._moved(users, items, user_row, item_row)

    def on(self, users: Ids, items: Ids) -> Self:
        """The same pairs on other ids; pairs whose user or item is not among those are left out."""
        return self._moved(users, items, users.find(self.users.labels), items.find(self.items.labels))

    def _moved(self, users: Ids, items: Ids, user_row: Rows, item_row: Rows) -> Self:
        """The pairs where users and items have these rows; −1 leaves out."""
        user, item = user_row[self.user], item_row[self.item]
        keep = (user >= 0) & (item >= 0)
        seen = None if self.seen is None else self.seen._moved(users, items, user_row, item_row)
        everywhere = replace(self, users=users, items=items, user=user, item=item, seen=seen if seen else None)
        return everywhere if keep.all() else everywhere.where(keep)

    def with_seen(self, other: "Interactions") -> Self:
        """The same pairs to learn from; all of `other`, and what it has seen, is known too and never recommended.

        Users and items are matched by id; what is of nobody here, or not in this catalogue, is left out.
        """
        known = [one for one in (self.seen, other, other.seen) if one is not None]
        return replace(self, seen=_beside(self, [one.on(self.users, self.items) for one in known]))

    def to_frame(self) -> "polars.DataFrame":
        """A polars frame with one row per pair: user, item and, where known, time and title.

        Times are numbers, as they were read. `.to_pandas()` or `.to_arrow()` take the frame further.
        """
        import polars

        def text(labels: Iterable[str], rows: Rows) -> polars.Series:
            return polars.Series(list(labels), dtype=polars.String).gather(rows)

        columns: dict[str, Any] = {"user": text(self.users, self.user), "item": text(self.items, self.item)}
        if self.times is not None:
            columns["time"] = polars.Series(self.times).fill_nan(None)
        if self.titles:
            columns["title"] = text((self.titles.get(label, "") for label in self.items), self.item)
        return polars.DataFrame(columns)

    def title(self, label: str) -> str:
        """What to show for an item: its title, else its id."""
        return self.titles.get(label, label)


def _yes(known: bool) -> str:
    return "yes" if known else "no"


def _bytes_of(labels: Iterable[str]) -> bytes:
    """Labels as bytes that no other labels have: their number, their lengths, themselves."""
    encoded = [label.encode("utf-8", "surrogatepass") for label in labels]
    return np.array([len(encoded), *map(len, encoded)], dtype="<i8").tobytes() + b"".join(encoded)


def _encode(labels: Sequence[Hashable] | NDArray[Any], kind: str) -> tuple[Ids, NDArray[np.int64]]:
    """Number labels in order of first appearance."""
    row: dict[str, int] = {}
    values = labels.tolist() if hasattr(labels, "tolist") else labels
    for position, value in enumerate(values, start=1):
        if value is None or value != value:  # NaN is the one thing that differs from itself
            raise DataError(f"{kind} number {position} is missing ({ascii_line(value)}): drop or fill that row.")
    codes = np.fromiter((row.setdefault(canonical(x), len(row)) for x in values), dtype=np.int64, count=len(labels))
    for label, first in row.items():
        fault = fault_of(label)
        if fault:
            position = int(np.argmax(codes == first))
            raise DataError(f"{kind} number {position + 1} is {fault} ({ascii_line(label)}): drop or fill that row.")
    return Ids(row, kind=kind), codes


def _moments(times: ArrayLike, count: int) -> NDArray[np.float64]:
    try:
        moments = np.asarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("times must be numbers, such as seconds since 1970: convert dates first.") from None
    if moments.shape != (count,):
        raise DataError(f"There must be one time for each pair: got {moments.size:,} times for {count:,} pairs.")
    return moments


def _distinct(
    user: NDArray[np.int64], item: NDArray[np.int64], times: NDArray[np.float64] | None, n_items: int
) -> tuple[Rows, Rows, NDArray[np.float64] | None]:
    """Keep the first of each repeated pair, in order, with the latest of their times."""
    _, first, which = np.unique(user * n_items + item, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows = first[order]
    if times is not None:
        latest = np.full(len(first), np.nan)
        np.fmax.at(latest, which, times)  # a missing time never wins
        times = latest[order]
    return user[rows].astype(np.int32), item[rows].astype(np.int32), times


def _used(ids: Ids, rows: Rows) -> tuple[Ids, Rows]:
    """The ids that occur, and for each old row the new one (−1: none)."""
    used = np.zeros(len(ids), dtype=bool)
    used[rows] = True
    return Ids(ids.labels[used], kind=ids.kind), np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)


def _beside(data: Interactions, others: Sequence[Interactions]) -> Interactions | None:
    """The pairs of others, on the same ids, that the data do not have, each once."""
    user, item = (np.concatenate([getattr(one, name) for one in others]) for name in ("user", "item"))
    timed = any(one.times is not None for one in others)
    moments = [np.full(len(one), np.nan) if one.times is None else one.times for one in others]
    cells, width = user.astype(np.int64) * len(data.items) + item, len(data.items)
    new = ~np.isin(cells, data.user.astype(np.int64) * width + data.item)
    if not new.any():
        return None
    times = np.concatenate(moments)[new] if timed else None
    pairs = _distinct(user[new].astype(np.int64), item[new].astype(np.int64), times, width)
    return Interactions(data.users, data.items, *pairs)
