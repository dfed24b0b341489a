"""What users said no to in a file: a sparse matrix of strengths, with times and kinds where these are known."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.data.saved.kinds import arrays_of_kinds, decode_kinds, encode_kinds
from corml.data.saved.moments import decode_times, encode_times
from corml.data.strength import Negative
from corml.errors import ModelFileError
from corml.persistence.container import decode_sparse, encode_sparse, in_both

__all__ = ["arrays_of_negative", "decode_negative", "encode_negative"]


def arrays_of_negative(name: str) -> set[str]:
    """The names of the arrays that it is in."""
    return {f"{name}.{part}" for part in ("indptr", "indices", "data", "times")} | arrays_of_kinds(name)


def encode_negative(name: str, negative: Negative | None) -> dict[str, NDArray[Any]]:
    """As arrays; none where nobody said no."""
    if negative is None:
        return {}
    arrays = encode_sparse(name, negative.matrix) | encode_kinds(name, negative.kinds)
    return arrays | ({} if negative.times is None else {f"{name}.times": encode_times(negative.times)})


def decode_negative(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, int], seen: csr_array | None
) -> Negative | None:
    """From arrays, checked: everything that users said no to they have seen."""
    if f"{name}.indptr" not in arrays:
        return None
    matrix = decode_sparse(arrays, name, shape)
    if seen is None or in_both(seen, matrix) < matrix.nnz:
        raise ModelFileError("users said no to pairs that they have not seen")
    if matrix.dtype != np.float32 or (matrix.data <= 0).any():
        raise ModelFileError("how strongly users said no is not one positive number for each pair")
    return Negative(matrix, decode_times(arrays, name, matrix), decode_kinds(arrays, name, matrix.nnz))
