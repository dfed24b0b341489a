"""What was added to a model after its fit, as arrays of its file: all that is known now."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import ModelFileError
from corml.histories import Added, refused
from corml.ids import Ids
from corml.interactions import Interactions
from corml.linalg.scaling import rows_of
from corml.storage.container import decode_ids, decode_sparse, encode_ids, encode_sparse
from corml.storage.kinds import arrays_of_kinds, decode_kinds, encode_kinds
from corml.storage.moments import decode_times, decode_weights, encode_times
from corml.storage.negative import arrays_of_negative, decode_negative, encode_negative
from corml.strength import known_weights

__all__ = ["NAMES", "decode_added", "encode_added"]

NAMES = {  # the users and items of the fit are not repeated: `now.users` and `now.items` are those that came after
    *("now.indptr", "now.indices", "now.times", "now.weights", "now.seen.indptr", "now.seen.indices", "now.seen.times"),
    *(f"now.{ids}.{part}" for ids in ("users", "items", "titles") for part in ("bytes", "offsets")),
    *arrays_of_kinds("now"),
    *arrays_of_negative("now.negative"),
}

Arrays = Mapping[str, NDArray[Any]]


def encode_added(added: Added, users: Ids, items: Ids) -> dict[str, NDArray[Any]]:
    """The arrays of what is known now, given the users and items of the fit."""
    data = added.data
    arrays = encode_ids("now.users", data.users.labels[len(users) :]) | encode_ids(
        "now.items", data.items.labels[len(items) :]
    )
    if data.titles:
        arrays |= encode_ids("now.titles", [data.titles.get(label, "") for label in data.items.labels[len(items) :]])
    arrays |= encode_sparse("now", data.matrix, values=False)
    columns = {"now.times": data.times_by_row}
    if data.seen is not None:
        arrays |= encode_sparse("now.seen", data.seen.matrix, values=False)
        columns["now.seen.times"] = data.seen.times_by_row
    arrays |= {name: encode_times(times) for name, times in columns.items() if times is not None}
    arrays |= encode_kinds("now", data.kinds_by_row) | encode_negative("now.negative", refused(data.negative))
    return arrays | ({} if data.weights_by_row is None else {"now.weights": data.weights_by_row})


def decode_added(arrays: Arrays, users: Ids, items: Ids, facts: object, titles: Mapping[str, str]) -> Added:
    """What is known now, checked; `facts` are the records of the updates and where all of it came from."""
    records, source = (facts.get(name) if isinstance(facts, Mapping) else None for name in ("updates", "source"))
    if not isinstance(records, list) or not all(isinstance(one, Mapping) for one in records):
        raise ModelFileError("its record of updates is not a list of facts")
    if not isinstance(source, Mapping):
        raise ModelFileError("it does not say where its histories came from")
    every = _longer(users, decode_ids(arrays, "now.users")), _longer(items, decode_ids(arrays, "now.items"))
    shape = len(every[0]), len(every[1])
    matrix = decode_sparse(arrays, "now", shape, values=False)
    seen = decode_sparse(arrays, "now.seen", shape, values=False) if "now.seen.indptr" in arrays else None
    if seen is not None and seen.multiply(matrix).nnz:
        raise ModelFileError("pairs of its histories are also among those that were only seen")

    def pairs(pattern: Any, name: str, **more: Any) -> Interactions:
        user, item = rows_of(pattern).astype(np.int32), pattern.indices.astype(np.int32)
        return Interactions(*every, user, item, decode_times(arrays, name, pattern), **more)

    no = decode_negative(arrays, "now.negative", shape, seen)
    data = pairs(
        matrix,
        "now",
        titles={**titles, **_titles(arrays, every[1].labels[len(items) :])},
        source=dict(source),
        seen=None if seen is None else pairs(seen, "now.seen"),
        weights=decode_weights(arrays, "now", matrix),
        kinds=decode_kinds(arrays, "now", matrix.nnz),
        negative=None
        if no is None
        else pairs(no.matrix, "now.negative", weights=known_weights(no.matrix.data), kinds=no.kinds),
    )
    return Added(data=data, records=tuple(dict(one) for one in records))


def _longer(ids: Ids, more: list[str]) -> Ids:
    if len(set(more)) != len(more) or any(label in ids for label in more):
        raise ModelFileError(f"some of the {ids.kind} ids that were added to it occur twice")
    return Ids([*ids.labels, *more], kind=ids.kind)


def _titles(arrays: Arrays, labels: NDArray[np.object_]) -> dict[str, str]:
    if "now.titles.bytes" not in arrays:
        return {}
    titles = decode_ids(arrays, "now.titles")
    if len(titles) != len(labels):
        raise ModelFileError(f"it has {len(titles):,} titles for {len(labels):,} new items")
    return {label: title for label, title in zip(labels, titles, strict=True) if title}
