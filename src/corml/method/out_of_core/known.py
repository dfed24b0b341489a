"""What a plan needs of interactions: degrees, and the pairs of some items. Of a store not all is read for it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.linalg.support import unsigned
from corml.method.out_of_core.files import Files
from corml.method.plan.pair_count import EVERYTHING, Items, Rows, add_users
from corml.method.plan.seconds import Size
from corml.store import Chunk, Store

__all__ = ["Known"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """Degrees of users and of items, and how to have rows of the Gram matrix for weights of users."""

    user_degrees: NDArray[np.int64]
    item_degrees: NDArray[np.int64]
    rows: Callable[[Vector], Rows]

    @classmethod
    def of_files(cls, files: Files) -> "Known":
        """Of a matrix in files."""
        sides = files.sides
        return cls(sides.users.degrees, sides.items.degrees, lambda loss: Rows.of(sides, files.d, loss))

    @classmethod
    def of_store(cls, store: Store, longest: int | None = None) -> "Known":
        """Of a store: where rows begin, and the rows of some items and of their users; `longest` entries of each."""
        users = _Parts(store.chunks(), store.manifest.user_starts)
        items = _Parts(store.item_chunks(), store.manifest.item_starts)
        item_degrees = items.degrees()
        users.longest = longest
        d = np.maximum(item_degrees.astype(np.float64), 1.0)
        return cls(users.degrees(), item_degrees, lambda loss: _RowsOfParts(users, items, d, loss))

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
        self.longest: int | None = None  # entries of a row that count

    def degrees(self) -> NDArray[np.int64]:
        """How many entries of each row count."""
        found = np.concatenate([np.zeros(0, np.int64), *(np.diff(indptr) for indptr, _, _ in self.parts)])
        return found if self.longest is None else np.minimum(found, self.longest)

    def row(self, number: int) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """Columns and values of one row."""
        part = int(np.searchsorted(self.starts, number, side="right")) - 1
        indptr, indices, values = self.parts[part]
        low, high = indptr[number - self.starts[part] : number - self.starts[part] + 2].tolist()
        return indices[low:high], None if values is None else values[low:high]


class _RowsOfParts(Rows):
    def __init__(self, users: _Parts, items: _Parts, degrees: Vector, loss: Vector) -> None:
        super().__init__(degrees, loss)
        self.users, self.items, self.user_degrees = users, items, users.degrees()

    def cost_of(self, items: Items) -> Vector:
        costs = {item: float(self.user_degrees[self.items.row(item)[0]].sum()) for item in np.unique(items).tolist()}
        return np.array([costs[item] for item in items.tolist()])

    def make(self, item: int, row: NDArray[np.float32]) -> None:
        row[:] = 0
        of_item, strengths = self.items.row(int(item))
        edges = np.searchsorted(of_item, self.users.starts)
        for part, (low, high) in enumerate(pairwise(edges.tolist())):
            if low == high:
                continue
            first, last = self.users.starts[part : part + 2]
            indptr, indices, values = self.users.parts[part]
            own = None if strengths is None else strengths[low:high]
            add_users(
                unsigned(of_item[low:high] - np.int32(first)), own, indptr, unsigned(indices), values,
                self.loss[first:last], row, self.users.longest or EVERYTHING,
            )  # fmt: skip
