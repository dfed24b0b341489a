"""What a store relies on, checked when it is read: a hash tells what was damaged, not what was written wrongly.

A column beyond the matrix would have compiled code read memory that is not ours.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.store._chunk import Chunk
from corml.persistence.facts import is_deep

LONGEST = 2**31 - 1  # users, and items
SLICE = 1 << 20  # numbers looked at together
COUNTS = ("memory", "users", "items", "interactions", "seen", "others")
MAPPINGS = ("options", "columns", "counts", "files", "split")
FLAGS = ("weighted", "timed")


def is_sound(known: Mapping[str, Any]) -> bool:
    """Whether the facts of a manifest have the form and the sizes that a store is written with."""
    forms = (
        not is_deep(known)
        and all(_is_count(known[name]) for name in COUNTS)
        and all(isinstance(known[name], dict) for name in MAPPINGS)
        and all(type(known[name]) is bool for name in FLAGS)
        and max(known["users"], known["items"], known["others"]) <= LONGEST
        and isinstance(known["sources"], list)
        and all(isinstance(one, dict) for one in known["sources"])
    )
    return (
        forms
        and all(isinstance(column, str) for column in known["columns"].values())
        and all(_is_count(count) for count in known["counts"].values())
        and all(_is_file(name, about) for name, about in known["files"].items())
        and _is_cut(known["user_starts"], known["users"])
        and _is_cut(known["item_starts"], known["items"])
    )


def is_sound_chunk(chunk: Chunk) -> bool:
    """Whether the arrays of a part are rows of a matrix: none reaches beyond it, and all numbers are finite."""
    indptr, indices = chunk.indptr, chunk.indices
    sound = indptr.dtype == np.int64 and indices.dtype == np.int32 and indptr.ndim == indices.ndim == 1
    if not sound or not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices):
        return False
    if (indptr[1:] < indptr[:-1]).any() or not _within(indices, chunk.width) or not _ascending(indptr, indices):
        return False
    values = (chunk.weights, np.float32), (chunk.times, np.float64)
    if any(array is not None and (array.dtype != kind or array.shape != indices.shape) for array, kind in values):
        return False
    return chunk.weights is None or all(bool((np.isfinite(some) & (some > 0)).all()) for some in _slices(chunk.weights))


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_file(name: str, about: object) -> bool:
    """Whether a file lies in the folder of the store and has a size and a hash."""
    inside = ".." not in PurePosixPath(name).parts and not PurePosixPath(name).is_absolute() and "\0" not in name
    sized = isinstance(about, dict) and _is_count(about.get("size")) and isinstance(about.get("sha256"), str)
    return inside and sized


def _is_cut(starts: Any, total: int) -> bool:
    fine = isinstance(starts, list) and len(starts) > 1 and all(_is_count(start) for start in starts)
    return fine and starts[0] == 0 and starts[-1] == total and all(a <= b for a, b in pairwise(starts))


def _within(indices: NDArray[Any], width: int) -> bool:
    return all(some.min() >= 0 and some.max() < width for some in _slices(indices))


def _ascending(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Whether each row names its columns in ascending order, none twice."""
    for at in range(0, len(indices), SLICE):
        some = indices[at : at + SLICE + 1]
        falls = np.flatnonzero(some[1:] <= some[:-1]) + at + 1
        if not (indptr[np.searchsorted(indptr, falls)] == falls).all():
            return False
    return True


def _slices(array: NDArray[Any]) -> list[NDArray[Any]]:
    return [array[at : at + SLICE] for at in range(0, len(array), SLICE)]
