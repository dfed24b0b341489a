"""The users × items matrix as an artefact: both sides, each in one piece, so that any row can be read directly.

A store has shards; kernels jump from items to users and back. So the shards are joined once, 8 bytes a pair (16 with
weights); weights are scaled to mean square 1, as in memory.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.store import Chunk, Store
from corml.data.strength import Cap
from corml.linalg.sparse import Rows, Sides, unsigned
from corml.outofcore.tasks import Artefact, Draft, Task

KERNEL = "corml.outofcore.fit.matrix"
Inputs = Mapping[str, Artefact]
NARROW = 2**31 - 1  # up to as many pairs, starts of rows have 32 bits, as in SciPy


def matrix_task(store: Store) -> Task:
    """Join the shards of a store."""
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
    scaled = _scaling(opened) if about.weighted else None
    _join(out, "u", (about.users, about.interactions), opened.chunks(), scaled)
    _join(out, "i", (about.items, about.interactions), opened.item_chunks(), scaled)
    for name, kind, given in (("times", np.float64, about.timed), ("weights", np.float32, about.weighted)):
        if given:  # in the order of the rows of users, unchanged, as the model keeps them
            values, at = out.create(f"u_{name}", (about.interactions,), kind), 0
            for chunk in opened.chunks():
                values[at : at + len(chunk.indices)] = getattr(chunk, name)
                at += len(chunk.indices)


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


def _scaling(store: Store) -> Callable[[NDArray[np.float32]], NDArray[np.float64]]:
    """What becomes of weights: they are capped, and their mean square is one."""
    cap, squares = cap_of(store), 0.0
    most = np.float32(np.inf) if cap is None else cap.weight
    for chunk in store.chunks():
        assert chunk.weights is not None
        squares += float(np.square(np.minimum(chunk.weights, most).astype(np.float64)).sum())
    factor = np.float64(1 / np.sqrt(squares / len(store)))  # in single precision, weights of 1e-39 would be infinite
    return lambda weights: np.asarray(np.minimum(weights, most) * factor, dtype=np.float64)


def _join(
    out: Draft,
    side: str,
    shape: tuple[int, int],
    chunks: Iterable[Chunk],
    scaled: Callable[[NDArray[np.float32]], NDArray[np.float64]] | None,
) -> None:
    rows, pairs = shape
    indptr = out.create(f"{side}_ptr", (rows + 1,), np.int32 if pairs <= NARROW else np.int64)
    indices = out.create(f"{side}_indices", (pairs,), np.int32)
    values = None if scaled is None else out.create(f"{side}_values", (pairs,), np.float32)
    indptr[0], at = 0, 0
    for chunk in chunks:
        end = at + len(chunk.indices)
        indptr[chunk.first + 1 : chunk.first + 1 + len(chunk)] = chunk.indptr[1:] + at
        indices[at:end] = chunk.indices
        if values is not None and scaled is not None and chunk.weights is not None:
            values[at:end] = scaled(chunk.weights)
        at = end
    assert at == pairs


# --- the same without some pairs -------------------------------------------------------------------------------------


def without_pairs(inputs: Inputs, out: Draft, *, to_learn: bool = False) -> None:
    """Kernel: a matrix without the pairs whose positions on each side are listed, sorted.

    If it is the one `to_learn` from, its weights have mean square 1, and it keeps the times.
    """
    matrix, left_out = inputs["matrix"], inputs["left_out"]
    factor, weights, times = 1.0, matrix.get("u_values"), matrix.get("u_times")
    if to_learn and weights is not None:
        squares, gone = np.square(weights.astype(np.float64)), left_out["u"]
        factor = float(1 / np.sqrt((squares.sum() - squares[gone].sum()) / (len(weights) - len(gone))))
    if to_learn and times is not None:
        _copy_without(times, left_out["u"], out, "u_times")
    for side in ("u", "i"):
        ptr, values, gone = matrix[f"{side}_ptr"], matrix.get(f"{side}_values"), left_out[side]
        _copy_without(matrix[f"{side}_indices"], gone, out, f"{side}_indices")
        if values is not None:
            kept = _copy_without(values, gone, out, f"{side}_values")
            kept *= np.float32(factor)
        out.put(f"{side}_ptr", (ptr - np.searchsorted(gone, ptr)).astype(ptr.dtype))


def _copy_without(source: NDArray[Any], gone: NDArray[np.int64], out: Draft, name: str) -> NDArray[Any]:
    """A new array with all but some sorted positions."""
    target, at = out.create(name, (len(source) - len(gone),), source.dtype), 0
    for before, after in pairwise([-1, *gone.tolist(), len(source)]):
        end = at + after - before - 1
        target[at:end] = source[before + 1 : after]
        at = end
    return target


def positions_by_item(sides: Sides, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.int64]:
    """The positions of pairs in the rows of items, sorted."""
    ptr, of_items = sides.items.indptr, sides.items.indices
    positions = np.empty(len(users), dtype=np.int64)
    for number, (user, item) in enumerate(zip(users.tolist(), items.tolist(), strict=True)):
        low, high = int(ptr[item]), int(ptr[item + 1])
        positions[number] = low + int(np.searchsorted(of_items[low:high], user))
    return np.sort(positions)
