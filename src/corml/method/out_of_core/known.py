"""What a plan needs of interactions: degrees, and the pairs of some items. Of a store not all is read for it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.linalg.support import unsigned
from corml.method.out_of_core.files import Files
from corml.method.plan.pair_count import Items, Rows, add_users
from corml.method.plan.seconds import Size
from corml.store import Chunk, Store

__all__ = ["Known"]

Vector = NDArray[np.float64]
Row = tuple[NDArray[Any], NDArray[np.float32] | None]  # columns, and their values where there are some
Long = dict[int, Row]  # users with long histories, and what counts of each


@dataclass(frozen=True)
class Known:
    """Degrees of users and of items, and how to have rows of the Gram matrix for weights of users."""

    user_degrees: NDArray[np.int64]
    item_degrees: NDArray[np.int64]
    rows: Callable[[Vector], Rows]
    left_out: NDArray[np.int64] | int = 0  # of each user, where long histories count in part only

    @classmethod
    def of_files(cls, files: Files) -> "Known":
        """Of a matrix in files."""
        sides = files.sides
        return cls(sides.users.degrees, sides.items.degrees, lambda loss: Rows.of(sides, files.d, loss))

    @classmethod
    def of_store(cls, store: Store, longest: int | None = None) -> "Known":
        """Of a store: where rows begin, and the rows of some items and of their users.

        Of histories longer than `longest` so many items count. Which of them a fit would draw, only their ids say: here
        they stand at even distances, which is as good for a prediction.
        """
        users = _Parts(store.chunks(), store.manifest.user_starts)
        items = _Parts(store.item_chunks(), store.manifest.item_starts)
        user_degrees, item_degrees = users.degrees(), items.degrees()
        long: Long = {}
        counted = user_degrees if longest is None else np.minimum(user_degrees, longest)
        if longest is not None:
            for user in np.flatnonzero(user_degrees > longest).tolist():
                columns, values = users.row(user)
                at = np.linspace(0, len(columns) - 1, longest).astype(np.int64)
                item_degrees -= np.bincount(np.delete(columns, at), minlength=len(item_degrees))
                long[user] = columns[at], None if values is None else values[at]
        d = np.maximum(item_degrees.astype(np.float64), 1.0)
        rows = partial(_RowsOfParts, users, items, d, user_degrees=counted, long=long)
        return cls(counted, item_degrees, lambda loss: rows(loss=loss), user_degrees - counted)

    @cached_property
    def size(self) -> Size:
        """How large they are."""
        squares = float((self.user_degrees.astype(np.float64) ** 2).sum())
        return Size((len(self.user_degrees), len(self.item_degrees)), int(self.user_degrees.sum()), squares)


class _Parts:
    """One side of a store, mapped. The store compares hashes as it opens a part: kernels believe what they read."""

    def __init__(self, chunks: Iterable[Chunk], starts: Iterable[int]) -> None:
        self.starts = np.array(list(starts), dtype=np.int64)
        self.parts = [(chunk.indptr, chunk.indices, chunk.weights) for chunk in chunks]

    def degrees(self) -> NDArray[np.int64]:
        """How many entries each row has."""
        return np.concatenate([np.zeros(0, np.int64), *(np.diff(indptr) for indptr, _, _ in self.parts)])

    def row(self, number: int) -> Row:
        """Columns and values of one row."""
        part = int(np.searchsorted(self.starts, number, side="right")) - 1
        indptr, indices, values = self.parts[part]
        low, high = indptr[number - self.starts[part] : number - self.starts[part] + 2].tolist()
        return indices[low:high], None if values is None else values[low:high]


class _RowsOfParts(Rows):
    def __init__(
        self, users: _Parts, items: _Parts, degrees: Vector, loss: Vector, user_degrees: NDArray[np.int64], long: Long
    ) -> None:
        super().__init__(degrees, loss)
        self.users, self.items, self.user_degrees, self.long = users, items, user_degrees, long

    def cost_of(self, items: Items) -> Vector:
        costs = {item: float(self.user_degrees[self.items.row(item)[0]].sum()) for item in np.unique(items).tolist()}
        return np.array([costs[item] for item in items.tolist()])

    def make(self, item: int, row: NDArray[np.float32]) -> None:
        row[:] = 0
        of_item, strengths = self._without_long(int(item), row, *self.items.row(int(item)))
        edges = np.searchsorted(of_item, self.users.starts)
        for part, (low, high) in enumerate(pairwise(edges.tolist())):
            if low == high:
                continue
            first, last = self.users.starts[part : part + 2]
            indptr, indices, values = self.users.parts[part]
            own = None if strengths is None else strengths[low:high]
            add_users(
                unsigned(of_item[low:high] - np.int32(first)), own, indptr, unsigned(indices), values,
                self.loss[first:last], row,
            )  # fmt: skip

    def _without_long(
        self, item: int, row: NDArray[np.float32], users: NDArray[Any], strengths: NDArray[np.float32] | None
    ) -> Row:
        """The users of an item but for those with long histories, of which the part that counts is added here."""
        there = np.flatnonzero(np.isin(users, list(self.long))) if self.long else ()
        for at in there:
            columns, values = self.long[int(users[at])]
            if item in columns:
                weight = self.loss[users[at]] * (1 if strengths is None else strengths[at])
                row[columns] += weight if values is None else weight * values
        if not len(there):
            return users, strengths
        return np.delete(users, there), None if strengths is None else np.delete(strengths, there)
