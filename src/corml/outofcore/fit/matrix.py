"""The users × items matrix as an artefact: both sides, each in one piece, so that any row can be read at once.

A store has parts; kernels jump from items to users and back. So its parts are put together once, 8 bytes a pair (16
with weights); where weights are given they have mean square 1, as in memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit
from corml.data.store import Store
from corml.data.strength import Cap
from corml.linalg.sparse import Rows, Sides, unsigned
from corml.outofcore.tasks import Artefact, Draft, Task

__all__ = [
    "KERNEL",
    "cap_of",
    "join_parts",
    "matrix_task",
    "positions_by_item",
    "shortened",
    "sides_of",
    "without_pairs",
]

KERNEL = "corml.outofcore.fit.matrix"
Inputs = Mapping[str, Artefact]
NARROW = 2**31 - 1  # up to as many pairs rows begin at numbers of 32 bits, as SciPy has it


def matrix_task(store: Store) -> Task:
    """Put the parts of a store together."""
    return Task(f"{KERNEL}:join_parts", params={"store": store.fingerprint}, places={"path": str(store.path.resolve())})


def sides_of(matrix: Artefact) -> Sides:
    """Both sides, mapped."""
    users, items = (
        Rows(matrix[f"{side}_ptr"], unsigned(matrix[f"{side}_indices"]), matrix.get(f"{side}_values"))
        for side in ("u", "i")
    )
    return Sides(users, items)


def join_parts(_: Inputs, out: Draft, *, store: str, path: str) -> None:
    """Kernel: both sides of a store in one piece."""
    opened = Store(Path(path))
    assert opened.fingerprint == store, "the store is another one than was planned with"
    about = opened.manifest
    scale = _Scale.of(opened) if about.weighted else None
    _join(out, "u", about.users, about.interactions, opened.chunks(), scale)
    _join(out, "i", about.items, about.interactions, opened.item_chunks(), scale)
    for name, kind, given in (("times", np.float64, about.timed), ("weights", np.float32, about.weighted)):
        if given:  # as the model keeps them
            _join_values(out, name, kind, about.interactions, opened)


def cap_of(store: Store) -> Cap | None:
    """The cap on the weights of a store: of each chunk only the strongest are looked at."""
    count, strongest = Cap.strongest(len(store)), np.zeros(0, dtype=np.float32)
    if not store.manifest.weighted or not count:
        return None
    for chunk in store.chunks():
        assert chunk.weights is not None
        strongest = np.concatenate([strongest, chunk.weights])
        if len(strongest) > count:
            strongest = np.partition(strongest, -count)[-count:]
    return Cap.above(strongest)


@dataclass(frozen=True)
class _Scale:
    """What becomes of weights: they are capped, and their mean square is one."""

    most: np.float32
    factor: np.float64  # not in single precision, or weights of 1e-39 would be infinite

    @classmethod
    def of(cls, store: Store) -> Self:
        cap, squares = cap_of(store), 0.0
        most = np.float32(np.inf) if cap is None else cap.weight
        for chunk in store.chunks():
            assert chunk.weights is not None
            squares += float(np.square(np.minimum(chunk.weights, most).astype(np.float64)).sum())
        return cls(most, np.float64(1 / np.sqrt(squares / len(store))))

    def on(self, weights: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(np.minimum(weights, self.most) * self.factor, dtype=np.float64)


def _join(out: Draft, side: str, rows: int, pairs: int, chunks: Any, scale: _Scale | None) -> None:
    indptr = out.create(f"{side}_ptr", (rows + 1,), np.int32 if pairs <= NARROW else np.int64)
    indices = out.create(f"{side}_indices", (pairs,), np.int32)
    values = None if scale is None else out.create(f"{side}_values", (pairs,), np.float32)
    indptr[0], at = 0, 0
    for chunk in chunks:
        end = at + len(chunk.indices)
        indptr[chunk.first + 1 : chunk.first + 1 + len(chunk)] = chunk.indptr[1:] + at
        indices[at:end] = chunk.indices
        if values is not None and scale is not None:
            values[at:end] = scale.on(chunk.weights)
        at = end
    assert at == pairs


def _join_values(out: Draft, name: str, kind: Any, pairs: int, store: Store) -> None:
    values, at = out.create(f"u_{name}", (pairs,), kind), 0
    for chunk in store.chunks():
        end = at + len(chunk.indices)
        values[at:end] = getattr(chunk, name)
        at = end


# --- the same without some pairs -------------------------------------------------------------------------------------


def shortened(inputs: Inputs, out: Draft) -> None:
    """Kernel: a matrix to learn from, without the pairs that are listed: weights of mean square 1, and times."""
    matrix, gone = inputs["matrix"], inputs["left_out"]["u"]
    values, times = matrix.get("u_values"), matrix.get("u_times")
    factor = 1.0
    if values is not None:
        squares = np.square(values.astype(np.float64))
        factor = float(1 / np.sqrt((squares.sum() - squares[gone].sum()) / (len(values) - len(gone))))
    if times is not None:
        _copy_without(times, gone, out.create("u_times", (len(times) - len(gone),), np.float64))
    without_pairs(inputs, out, factor=factor)


def without_pairs(inputs: Inputs, out: Draft, *, factor: float = 1.0) -> None:
    """Kernel: a matrix without the pairs that are listed, by position on each side."""
    matrix, left_out = inputs["matrix"], inputs["left_out"]
    for side in ("u", "i"):
        ptr, indices, values = matrix[f"{side}_ptr"], matrix[f"{side}_indices"], matrix.get(f"{side}_values")
        gone = left_out[side]  # sorted positions
        kept = out.create(f"{side}_indices", (len(indices) - len(gone),), np.int32)
        kept_values = None if values is None else out.create(f"{side}_values", kept.shape, np.float32)
        _copy_without(indices, gone, kept)
        if values is not None and kept_values is not None:
            _copy_without(values, gone, kept_values)
            kept_values *= np.float32(factor)
        out.put(f"{side}_ptr", (ptr - np.searchsorted(gone, ptr)).astype(ptr.dtype))


def _copy_without(source: NDArray[Any], gone: NDArray[np.int64], target: NDArray[Any]) -> None:
    """Copy all but some positions, which are sorted."""
    before = np.concatenate([[-1], gone, [len(source)]])
    _copy_between(source, before, target)


@njit(cache=True, nogil=True)
def _copy_between(source, before, target):  # type: ignore[no-untyped-def]
    to = 0
    for part in range(len(before) - 1):
        for at in range(before[part] + 1, before[part + 1]):
            target[to] = source[at]
            to += 1


def positions_by_item(sides: Sides, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.int64]:
    """Where pairs stand in the rows of items, sorted."""
    ptr, of_items = sides.items.indptr, sides.items.indices
    found = np.empty(len(users), dtype=np.int64)
    for number, (user, item) in enumerate(zip(users.tolist(), items.tolist(), strict=True)):
        low, high = int(ptr[item]), int(ptr[item + 1])
        found[number] = low + int(np.searchsorted(of_items[low:high], user))
    return np.sort(found)
