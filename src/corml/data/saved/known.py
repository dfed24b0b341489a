"""What is known of some people, as arrays of a file: pairs to score by, what was only seen, and what was refused."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.histories import refused
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.saved.kinds import arrays_of_kinds, decode_kinds, encode_kinds
from corml.data.saved.moments import decode_times, decode_weights, encode_times
from corml.data.saved.negative import arrays_of_negative, decode_negative, encode_negative
from corml.data.strength import known_weights
from corml.errors import ModelFileError
from corml.linalg.sparse import rows_of
from corml.persistence.container import decode_sparse, encode_sparse, in_both

__all__ = ["arrays_of_known", "decode_known", "encode_known"]

Arrays = Mapping[str, NDArray[Any]]
PAIRS = ("indptr", "indices", "times", "weights", "seen.indptr", "seen.indices", "seen.times")


def arrays_of_known(name: str) -> set[str]:
    """The names of the arrays that it is in."""
    kinds = arrays_of_kinds(name) | arrays_of_kinds(f"{name}.seen")
    return {f"{name}.{part}" for part in PAIRS} | kinds | arrays_of_negative(f"{name}.negative")


def encode_known(name: str, data: Interactions) -> dict[str, NDArray[Any]]:
    """Interactions as arrays, without the ids of their users and items."""
    arrays = encode_sparse(name, data.matrix, values=False)
    columns = {f"{name}.times": data.times_by_row}
    if data.seen is not None:
        arrays |= encode_sparse(f"{name}.seen", data.seen.matrix, values=False)
        columns[f"{name}.seen.times"] = data.seen.times_by_row
        arrays |= encode_kinds(f"{name}.seen", data.seen.kinds_by_row)
    arrays |= {column: encode_times(times) for column, times in columns.items() if times is not None}
    arrays |= encode_kinds(name, data.kinds_by_row) | encode_negative(f"{name}.negative", refused(data.negative))
    return arrays | ({} if data.weights_by_row is None else {f"{name}.weights": data.weights_by_row})


def decode_known(arrays: Arrays, name: str, users: Ids, items: Ids, **about: Any) -> Interactions:
    """Interactions from arrays, checked; `about` are titles and such."""
    shape = len(users), len(items)
    matrix = decode_sparse(arrays, name, shape, values=False)
    seen = decode_sparse(arrays, f"{name}.seen", shape, values=False) if f"{name}.seen.indptr" in arrays else None
    if seen is not None and in_both(seen, matrix):
        raise ModelFileError("pairs of its histories are also among those that were only seen")

    def pairs(pattern: Any, name: str, **more: Any) -> Interactions:
        user, item = rows_of(pattern).astype(np.int32), pattern.indices.astype(np.int32)
        return Interactions(users, items, user, item, decode_times(arrays, name, pattern), **more)

    no = decode_negative(arrays, f"{name}.negative", shape, seen)
    refusals = {} if no is None else {"weights": known_weights(no.matrix.data), "kinds": no.kinds}
    return pairs(
        matrix,
        name,
        seen=None
        if seen is None
        else pairs(seen, f"{name}.seen", kinds=decode_kinds(arrays, f"{name}.seen", seen.nnz)),
        weights=decode_weights(arrays, name, matrix),
        kinds=decode_kinds(arrays, name, matrix.nnz),
        negative=None if no is None else pairs(no.matrix, f"{name}.negative", **refusals),
        **about,
    )
