"""Times and weights of pairs as arrays of a file, which has finite numbers only."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import ModelFileError
from corml.persistence.mapping import give_back

__all__ = ["decode_moments", "decode_times", "decode_weights", "encode_times"]

SLICE = 1 << 16  # times at once
NO_TIME = {"i": np.iinfo(np.int32).max, "f": np.finfo(np.float64).max}

Arrays = Mapping[str, NDArray[Any]]


def encode_times(times: NDArray[np.float64]) -> NDArray[Any]:
    """Whole seconds take half the room; where there is no time, the largest number of the type.

    Some are gone through at a time, so that a save takes little beside what it writes.
    """
    whole = all(_are_whole(times[part]) for part in _parts(times))
    encoded = np.empty(len(times), dtype=np.int32 if whole else np.float64)
    for part in _parts(times):
        encoded[part] = np.where(np.isnan(times[part]), NO_TIME[encoded.dtype.kind], times[part])
    return encoded


def _parts(times: NDArray[Any]) -> Iterator[slice]:
    return (slice(at, at + SLICE) for at in range(0, len(times), SLICE))


def _are_whole(times: NDArray[np.float64]) -> bool:
    known = times[~np.isnan(times)]
    return bool(((known == np.rint(known)) & (np.abs(known) < NO_TIME["i"])).all())


def decode_times(arrays: Arrays, name: str, pattern: csr_array) -> NDArray[np.float64] | None:
    """The times of the pairs of a pattern, where there are some."""
    return decode_moments(arrays, name, int(pattern.nnz))


def decode_moments(arrays: Arrays, name: str, count: int) -> NDArray[np.float64] | None:
    """So many times, where there are some."""
    times = arrays.get(f"{name}.times")
    if times is None:
        return None
    if times.dtype not in (np.int32, np.float64) or times.shape != (count,):
        raise ModelFileError(f"its times of {name} are not one number for each pair")
    known = np.empty(len(times), dtype=np.float64)
    for part in _parts(times):
        known[part] = times[part]
        known[part][times[part] == NO_TIME[times.dtype.kind]] = np.nan
        give_back(times[part])  # they are twice as long in memory, and are not needed twice
    return known


def decode_weights(arrays: Arrays, name: str, pattern: csr_array) -> NDArray[np.float32] | None:
    """The weights of the pairs of a pattern, where there are some."""
    weights = arrays.get(f"{name}.weights")
    if weights is not None and (weights.dtype != np.float32 or weights.shape != (pattern.nnz,) or (weights <= 0).any()):
        raise ModelFileError("its weights are not one positive number for each pair")
    return weights
