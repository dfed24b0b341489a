"""The layout of a safetensors file, written and read without a copy of its arrays.

The library makes one run of bytes of all arrays to write them, and copies each to read it. A file is the length of its
header in eight bytes, the header as JSON, and the bytes of the arrays without a gap, so none of that is needed. What is
written has the same bytes as the library's, and what is read is checked as it does: a header cannot name bytes that are
not in the file, nor the same ones twice.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONGEST", "check_parts", "header", "in_order", "parsed", "views"]

# types by their names in a header, in the library's order: larger ones first, so that all begin where they should
TYPES = {
    **{"U64": "uint64", "I64": "int64", "F64": "float64", "C64": "complex64"},
    **{"F32": "float32", "U32": "uint32", "I32": "int32", "F16": "float16", "U16": "uint16", "I16": "int16"},
    **{"I8": "int8", "U8": "uint8", "BOOL": "bool"},
}
CODES = {name: code for code, name in TYPES.items()}
# A header is copied some times while it is read, and each of its parts becomes an object of up to 270 bytes: with these
# limits that is less than the 64 MiB which are promised beside twice the file.
LONGEST = 8 << 20  # bytes of a header
PARTS = 200_000  # that it may have


def in_order(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays as they stand in a file: by type, then by name, each in one run of bytes."""
    ranks = {code: rank for rank, code in enumerate(CODES)}
    names = sorted(arrays, key=lambda name: (ranks[str(arrays[name].dtype)], name))
    return {name: np.asarray(arrays[name], order="C") for name in names}


def header(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """What stands before the bytes of arrays that are in order."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, array in arrays.items():
        offsets = [end, end := end + array.nbytes]
        entries[name] = {"dtype": CODES[str(array.dtype)], "shape": list(array.shape), "data_offsets": offsets}
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def check_parts(text: bytes | str) -> None:
    """Refuse a header that is short and would fill memory: a pair of braces takes twenty times its length."""
    parts = sum(text.count(sign) if isinstance(text, str) else text.count(sign.encode()) for sign in ",[{")
    if len(text) > (LONGEST if text.isascii() else LONGEST // 4):  # one odd character, and each takes four bytes
        raise ValueError(f"the header has {len(text):,} bytes, and {LONGEST:,} are the most that are read")
    if parts > PARTS:
        raise ValueError(f"the header is made of {parts:,} parts, and {PARTS:,} are the most that are read")


def parsed(text: bytes) -> dict[str, Any]:
    """What a header says, from its bytes; the facts within it are a text of their own, which may be escaped in it."""
    check_parts(text)
    entries = json.loads(text, object_pairs_hook=_distinct)
    if isinstance(entries, dict) and isinstance(entries.get("__metadata__"), dict):
        for inner in entries["__metadata__"].values():
            check_parts(inner)
    return entries  # type: ignore[no-any-return]


def views(data: NDArray[np.uint8]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays in the bytes of a file, where they are, and the header's metadata; a fault is a ValueError."""
    length = int.from_bytes(data[:8].tobytes(), "little")
    if length > len(data) - 8:
        raise ValueError("the header is longer than the file")
    entries = parsed(data[8 : 8 + min(length, LONGEST + 1)].tobytes())
    metadata = entries.pop("__metadata__")
    body, end = data[8 + length :], 0
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in sorted(entries.items(), key=lambda pair: _whole(pair[1]["data_offsets"], 2)):
        if entry["dtype"] not in TYPES:
            raise ValueError(f"array {name} is of an unknown type")
        dtype, shape = np.dtype(TYPES[entry["dtype"]]), _whole(entry["shape"])
        first, last = _whole(entry["data_offsets"], 2)
        if first != end or last - first != math.prod(shape) * dtype.itemsize or last > len(body):
            raise ValueError(f"the bytes of array {name} are not where they should be")
        arrays[name], end = _view(body, first, last, dtype).reshape(shape), last
    if end != len(body):
        raise ValueError("there are bytes after the last array")
    return arrays, metadata


def _view(data: NDArray[np.uint8], first: int, last: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Bytes as numbers; they begin where numbers of their size may, or each would be there a second time.

    It is an array of its own, not a slice of a larger one: SciPy copies what is a small part of an array.
    """
    if first == last:
        return np.empty(0, dtype=dtype)
    numbers = np.frombuffer(data.data, dtype=dtype, count=(last - first) // dtype.itemsize, offset=first)
    if not numbers.flags.aligned:
        raise ValueError("its arrays begin at odd places")
    return numbers


def _whole(numbers: Any, count: int | None = None) -> tuple[int, ...]:
    fine = isinstance(numbers, list) and all(type(number) is int and number >= 0 for number in numbers)
    if not fine or (count is not None and len(numbers) != count):
        raise ValueError("a length or a place is not a whole number")
    return tuple(numbers)


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    known = dict(pairs)
    if len(known) != len(pairs):
        raise ValueError("the header says something twice")
    return known
