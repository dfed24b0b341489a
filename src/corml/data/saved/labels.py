"""Ids and other texts as arrays of a file."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.labels import Labels
from corml.errors import ModelFileError
from corml.persistence.container import Arrays

__all__ = ["decode_ids", "decode_labels", "encode_ids"]


def encode_ids(name: str, labels: Iterable[str] | Labels | Ids) -> dict[str, NDArray[Any]]:
    """Texts as UTF-8 bytes and where each begins."""
    known = labels.labels if isinstance(labels, Ids) else labels
    data, offsets = (known if isinstance(known, Labels) else Labels.of(map(str, known))).packed()
    return {f"{name}.bytes": data, f"{name}.offsets": offsets}


def decode_labels(arrays: Arrays, name: str) -> Labels:
    """Texts back from bytes and offsets, checked; the bytes stay where they are."""
    try:
        data, offsets = arrays[f"{name}.bytes"], arrays[f"{name}.offsets"]
        sound = data.dtype == np.uint8 and offsets.dtype == np.int64 and offsets.ndim == data.ndim == 1
        if not sound or offsets[0] != 0 or offsets[-1] != len(data) or (offsets[1:] < offsets[:-1]).any():
            raise ModelFileError(f"its {name} do not add up")
    except (KeyError, IndexError):
        raise ModelFileError(f"its {name} are missing or unreadable") from None
    labels = Labels(data, offsets)
    if not labels.are_texts():
        raise ModelFileError(f"its {name} are missing or unreadable")
    return labels


def decode_ids(arrays: Arrays, name: str) -> list[str]:
    """Texts as objects, where there are few."""
    return decode_labels(arrays, name).tolist()
