"""Times and weights of pairs as arrays of a file, which has finite numbers only."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import ModelFileError

__all__ = ["decode_times", "decode_weights", "encode_times"]

NO_TIME = {"i": np.iinfo(np.int32).max, "f": np.finfo(np.float64).max}

Arrays = Mapping[str, NDArray[Any]]


def encode_times(times: NDArray[np.float64]) -> NDArray[Any]:
    """Whole seconds take half the room; where there is no time, the largest number of the type."""
    missing = np.isnan(times)
    whole = np.where(missing, 0, times)
    if ((whole == np.rint(whole)) & (np.abs(whole) < NO_TIME["i"])).all():
        return np.where(missing, NO_TIME["i"], whole).astype(np.int32)
    return np.where(missing, NO_TIME["f"], times)


def decode_times(arrays: Arrays, name: str, pattern: csr_array) -> NDArray[np.float64] | None:
    """The times of the pairs of a pattern, where there are some."""
    times = arrays.get(f"{name}.times")
    if times is None:
        return None
    if times.dtype not in (np.int32, np.float64) or times.shape != (pattern.nnz,):
        raise ModelFileError(f"its times of {name} are not one number for each pair")
    return np.where(times == NO_TIME[times.dtype.kind], np.nan, times.astype(np.float64))


def decode_weights(arrays: Arrays, name: str, pattern: csr_array) -> NDArray[np.float32] | None:
    """The weights of the pairs of a pattern, where there are some."""
    weights = arrays.get(f"{name}.weights")
    if weights is not None and (weights.dtype != np.float32 or weights.shape != (pattern.nnz,) or (weights <= 0).any()):
        raise ModelFileError("its weights are not one positive number for each pair")
    return weights
