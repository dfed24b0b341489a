"""The kinds of pairs in a file: a number for each pair, and the names these numbers stand for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import ModelFileError, UsageError
from corml.storage.container import decode_labels, encode_ids
from corml.strength import Kinds, are_too_many

__all__ = ["arrays_of_kinds", "decode_kinds", "encode_kinds"]


def arrays_of_kinds(name: str) -> set[str]:
    """The names of the arrays that the kinds of some pairs are in."""
    return {f"{name}.kinds", f"{name}.kind_names.bytes", f"{name}.kind_names.offsets"}


def encode_kinds(name: str, kinds: Kinds | None) -> dict[str, NDArray[Any]]:
    """Kinds as arrays; none where there are none."""
    if kinds is None:
        return {}
    names = encode_ids(f"{name}.kind_names", kinds.names)
    if are_too_many(len(kinds.names), len(names[f"{name}.kind_names.bytes"])):
        raise UsageError(f"A file keeps no {len(kinds.names):,} kinds of events: put them into groups first.")
    return {f"{name}.kinds": kinds.codes, **names}


def decode_kinds(arrays: Mapping[str, NDArray[Any]], name: str, count: int) -> Kinds | None:
    """Kinds of so many pairs, where a file has them."""
    codes = arrays.get(f"{name}.kinds")
    if codes is None:
        return None
    labels = decode_labels(arrays, f"{name}.kind_names")
    if are_too_many(len(labels), len(labels.data)):
        raise ModelFileError(f"its {name} has {len(labels):,} kinds, more than there are of events")
    names = tuple(labels)
    if codes.dtype != np.int32 or codes.shape != (count,) or not ((codes >= 0) & (codes < len(names))).all():
        raise ModelFileError(f"its kinds of {name} are not one number for each pair")
    return Kinds(names, codes)
