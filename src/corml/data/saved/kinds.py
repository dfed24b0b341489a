"""The event types of pairs in a file: where each pair begins, a number and a time for each event, and the names."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.kinds import Kinds, are_too_many
from corml.data.saved.labels import decode_labels, encode_ids
from corml.data.saved.moments import decode_moments, encode_times
from corml.errors import ModelFileError, UsageError

__all__ = ["arrays_of_kinds", "decode_kinds", "encode_kinds"]

_PARTS = ("kinds", "kinds.starts", "kinds.times", "kind_names.bytes", "kind_names.offsets")


def arrays_of_kinds(name: str) -> set[str]:
    """The names of the arrays that the event types of some pairs are in."""
    return {f"{name}.{part}" for part in _PARTS}


def encode_kinds(name: str, kinds: Kinds | None) -> dict[str, NDArray[Any]]:
    """Event types as arrays; none where there are none."""
    if kinds is None:
        return {}
    names = encode_ids(f"{name}.kind_names", kinds.names)
    if are_too_many(len(kinds.names), len(names[f"{name}.kind_names.bytes"])):
        raise UsageError(f"A file keeps no {len(kinds.names):,} event types: put them into groups first.")
    arrays = {f"{name}.kinds": kinds.codes, f"{name}.kinds.starts": kinds.starts, **names}
    return arrays | ({} if kinds.times is None else {f"{name}.kinds.times": encode_times(kinds.times)})


def decode_kinds(arrays: Mapping[str, NDArray[Any]], name: str, count: int) -> Kinds | None:
    """Event types of so many pairs, where a file has them, checked."""
    codes = arrays.get(f"{name}.kinds")
    if codes is None:
        return None
    labels = decode_labels(arrays, f"{name}.kind_names")
    if are_too_many(len(labels), len(labels.data)):
        raise ModelFileError(f"its {name} has {len(labels):,} event types, more than there can be")
    names, starts = tuple(labels), arrays.get(f"{name}.kinds.starts")
    sound = (
        starts is not None
        and starts.dtype.kind == "i"
        and starts.shape == (count + 1,)
        and starts[0] == 0
        and (starts[1:] > starts[:-1]).all()
        and codes.dtype == np.int32
        and codes.shape == (starts[-1],)
        and ((codes >= 0) & (codes < len(names))).all()
    )
    if not sound or starts is None:
        raise ModelFileError(f"its event types of {name} are not some for each pair")
    return Kinds(names, starts, codes, decode_moments(arrays, f"{name}.kinds", len(codes)))
