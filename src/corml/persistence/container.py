"""Arrays and facts in one safetensors file, read without a copy, with a digest of everything in it.

A file is the length of its header in eight bytes, the header as JSON, and the bytes of the arrays without a gap. The
header's one metadata entry is a JSON text with the number of the format and the facts. The last array is the sha256 of
all bytes before it, so any change is noticed before anything in the file is used. Nothing is ever unpickled.

The safetensors library copies each array to read it, and all of them to write them; the same bytes are written here
from where the arrays are, and read as views of a mapped file.
"""

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory
from corml.errors import CormlError, DataError, ModelFileError, UsageError, ascii_line
from corml.persistence import mapping
from corml.persistence.facts import DEEPEST, is_deep

FORMAT = 5  # the only one that is written and read
DIGEST = "~sha256"  # the name of the last array
SIZE = hashlib.sha256().digest_size
# types by their names in a header, in the library's order: larger ones first, so that all begin at multiples of 8
TYPES = {"I64": "int64", "F64": "float64", "F32": "float32", "I32": "int32", "U8": "uint8"}
CODES = {name: code for code, name in TYPES.items()}
# A header is copied a few times while it is read, and each of its elements becomes an object of up to 270 bytes: with
# these limits that is less than the 64 MiB which are promised beside twice the file.
LONGEST = 8 << 20  # bytes of a header
ELEMENTS = 200_000  # of a header
SLICE = 1 << 20  # numbers checked at a time

FACTS = dict.fromkeys(("settings", "data", "notes", "evaluation", "made_with"), dict) | {"model": str, "shape": list}
SPLIT_FACTS = dict.fromkeys(("split", "dropped", "counts", "source", "parts"), dict) | {"fingerprint": str}

Given = Mapping[str, NDArray[Any]]


class Arrays(dict[str, NDArray[Any]]):
    """The arrays of a file by name; it remembers which of them were read."""

    def __init__(self, arrays: Given) -> None:
        super().__init__(arrays)
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> NDArray[Any]:
        self._read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The array of this name, if there is one."""
        return self[name] if name in self else default

    @property
    def unread(self) -> list[str]:
        """The names of the arrays that were not read."""
        return sorted(set(self) - self._read)


@dataclass(frozen=True)
class Contents:
    """What a checked file holds."""

    meta: dict[str, Any]
    arrays: Arrays
    digest: str
    bytes: int
    name: str = "the file"


@dataclass(frozen=True)
class Kind:
    """What a file is of: it has a fact of this name, and the other facts."""

    name: str
    facts: Mapping[str, type]
    again: str  # how to get a good file
    reader: str
    error: type[CormlError]

    def damaged(self, name: str, fault: str) -> CormlError:
        """The error for a file that was good once."""
        return self.error(f"{name} is damaged: {fault}. Restore it or {self.again}.")


MODEL = Kind("model", FACTS, "fit again", "corml.read_model", ModelFileError)
SPLIT = Kind("split", SPLIT_FACTS, "make and save it again", "corml.read_split", DataError)
KINDS = (MODEL, SPLIT)


# --- writing ---------------------------------------------------------------------------------------------------------


def pack(arrays: Given, meta: Mapping[str, Any], kind: Kind = MODEL) -> bytes:
    """Arrays and a JSON-able mapping as the bytes of a file."""
    return b"".join(pieces(arrays, meta, kind))


def pieces(arrays: Given, meta: Mapping[str, Any], kind: Kind = MODEL) -> tuple[bytes | memoryview, ...]:
    """Make the bytes of a file in pieces: its header, the arrays where they are, and the digest."""
    _check_arrays(arrays, f"The {kind.name}", kind)
    _check_depth(meta, f"The {kind.name}", kind)
    return sealed(arrays, f'{{"format": {FORMAT}, "facts": {_json(meta, kind)}}}', kind)


def sealed(arrays: Given, text: str, kind: Kind = MODEL) -> tuple[bytes | memoryview, ...]:
    """The pieces of a file with this metadata, unchecked but for the length of its header."""
    ranks = {name: rank for rank, name in enumerate(CODES)}
    names = sorted(arrays, key=lambda name: (ranks[str(arrays[name].dtype)], name))
    ordered = {name: np.asarray(arrays[name], order="C") for name in names}
    head = _header({**ordered, DIGEST: np.zeros(SIZE, dtype=np.uint8)}, text)
    try:
        _check_size(head)
    except ValueError as fault:
        raise UsageError(f"The {kind.name} cannot be written: {fault}.") from None
    bodies: list[bytes | memoryview] = [head]
    bodies += [array.reshape(-1).view(np.uint8).data for array in ordered.values() if array.size]
    digest = hashlib.sha256()
    for body in bodies:
        digest.update(body)
    return *bodies, digest.digest()


def _header(arrays: Given, text: str) -> bytes:
    entries: dict[str, Any] = {"__metadata__": {"corml": text}}
    end = 0
    for name, array in arrays.items():
        offsets = [end, end := end + array.nbytes]
        entries[name] = {"dtype": CODES[str(array.dtype)], "shape": list(array.shape), "data_offsets": offsets}
    head = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head


def _json(meta: Mapping[str, Any], kind: Kind) -> str:
    try:
        return json.dumps(meta, sort_keys=True, ensure_ascii=True, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as fault:
        raise UsageError(
            f"A {kind.name} file keeps only plain facts (text, finite numbers, lists, mappings): "
            f"{ascii_line(fault, 200)}."
        ) from None


def _plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is not plain")


# --- reading ---------------------------------------------------------------------------------------------------------


def unpack(data: bytes | NDArray[np.uint8], name: str = "the file", kind: Kind = MODEL) -> Contents:
    """Check and open the bytes of a file, of which arrays are views; anything unexpected is an error of its kind."""
    data = np.frombuffer(bytearray(data), dtype=np.uint8) if isinstance(data, bytes) else data
    length = int.from_bytes(data[:8].tobytes(), "little")
    entries, facts = _opened(data[8 : 8 + min(length, LONGEST + 1)].tobytes(), name, kind)
    if hashlib.sha256(data[:-SIZE].data).digest() != data[-SIZE:].tobytes():
        raise kind.damaged(name, "its contents do not match its digest")
    try:
        arrays = _views(entries, data[8 + length :])
        digest = arrays.pop(DIGEST).tobytes().hex()
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise kind.damaged(name, ascii_line(fault, 200)) from None
    checked = _checked_facts(facts, name, kind)
    _check_arrays(arrays, name, kind)
    return Contents(checked, Arrays(arrays), digest, len(data), name)


def read(path: str | os.PathLike[str], kind: Kind = MODEL, *, mapped: bool | None = None) -> Contents:
    """Read and check a file; one that begins like something else is not read any further.

    `mapped` says whether its arrays are views of a map of the file; without it, those of large local files are.
    """
    name = ascii_line(path, 200)
    try:
        with open(path, "rb", buffering=0, opener=_open) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise kind.error(f"{name} is not a regular file.")
            _opened(_head(file), name, kind)
            mapped = mapping.is_mapped_by_default(file) if mapped is None else mapped
            # what is made of its arrays, and they themselves if they are read
            needed = (3 if mapped else 5) * about.st_size // 2
            memory.require(needed, what=f"Reading the {kind.name} {name}", instead="free some memory first.")
            file.seek(0)
            data = mapping.content(file, about.st_size, mapped=mapped)
    except CormlError:
        raise
    except (OSError, ValueError) as fault:  # ValueError: not a name that a file can have
        reason = getattr(fault, "strerror", None) or fault
        raise DataError(f"Cannot read the {kind.name} {name}: {reason}.") from None
    return unpack(data, name, kind)


def peek(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The facts in the header of a file, unchecked, to tell kinds of files apart; None if it has none."""
    try:
        with open(path, "rb", opener=_open) as file:
            facts = json.loads(_parsed(_head(file))["__metadata__"]["corml"])["facts"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # or it would wait for a pipe


def _head(file: Any) -> bytes:
    """The header of a file, or enough of it to see that it is too long."""
    head: bytes = file.read(min(int.from_bytes(file.read(8), "little"), LONGEST + 1))
    return head


def _opened(head: bytes, name: str, kind: Kind) -> tuple[dict[str, Any], object]:
    """The entries and facts of a header, if they are of the format that is read."""
    try:
        entries = _parsed(head)
        known = json.loads(entries.pop("__metadata__")["corml"])
        number, facts = known["format"], known.get("facts")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        number = None
    if type(number) is not int or number < 1:
        raise kind.error(f"{name} is not a corml {kind.name} file, or its beginning is damaged: {kind.again}.")
    if number != FORMAT:
        words, remedy = ("newer", "upgrade corml") if number > FORMAT else ("older", kind.again)
        raise kind.error(f"{name} has format {number}, {words} than the {FORMAT} this corml reads: {remedy}.")
    return entries, facts


def _parsed(head: bytes) -> dict[str, Any]:
    """A header from its bytes; the facts within it are a text of their own, which may be escaped in it."""
    _check_size(head)
    entries: dict[str, Any] = json.loads(head, object_pairs_hook=_distinct)
    for inner in entries["__metadata__"].values():
        _check_size(inner)
    return entries


def _check_size(text: bytes | str) -> None:
    """Refuse a header that would fill memory: a pair of braces takes twenty times its length."""
    elements = sum(text.count(sign) if isinstance(text, str) else text.count(sign.encode()) for sign in ",[{")
    if len(text) > (LONGEST if text.isascii() else LONGEST // 4):  # one odd character, and each takes four bytes
        raise ValueError(f"the header has {len(text):,} bytes, and {LONGEST:,} are the most that are read")
    if elements > ELEMENTS:
        raise ValueError(f"the header has {elements:,} elements, and {ELEMENTS:,} are the most that are read")


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    distinct = dict(pairs)
    if len(distinct) != len(pairs):
        raise ValueError("the header has a name twice")
    return distinct


def _views(entries: Mapping[str, Any], body: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """The arrays in the bytes after the header, where they are; no two of them share a byte, and none is left out."""
    arrays: dict[str, NDArray[Any]] = {}
    end = 0
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
    return arrays


def _view(data: NDArray[np.uint8], first: int, last: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Bytes as numbers: an array of its own, not a slice, because SciPy copies what is a small part of an array."""
    if first == last:
        return np.empty(0, dtype=dtype)
    numbers = np.frombuffer(data.data, dtype=dtype, count=(last - first) // dtype.itemsize, offset=first)
    if not numbers.flags.aligned:  # each would be copied
        raise ValueError("its arrays begin at odd places")
    return numbers


def _whole(numbers: Any, count: int | None = None) -> tuple[int, ...]:
    fine = isinstance(numbers, list) and all(type(number) is int and number >= 0 for number in numbers)
    if not fine or (count is not None and len(numbers) != count):
        raise ValueError("a length or a place is not a whole number")
    return tuple(numbers)


# --- checks ----------------------------------------------------------------------------------------------------------


def _checked_facts(facts: object, name: str, kind: Kind) -> dict[str, Any]:
    known = facts if isinstance(facts, dict) else {}
    for other in KINDS:
        if other is not kind and other.name in known and kind.name not in known:
            raise kind.error(f"{name} is a {other.name} file, not a {kind.name} file: read it with {other.reader}.")
    for fact, form in kind.facts.items():
        if not isinstance(known.get(fact), form):
            raise kind.error(f"{name} has no valid {fact}. {kind.again.capitalize()}.")
    _check_depth(known, name, kind)
    return known


def _check_depth(facts: Mapping[str, Any], name: str, kind: Kind) -> None:
    if is_deep(facts):
        raise kind.error(f"{name} has facts nested more than {DEEPEST} deep. {kind.again.capitalize()}.")


def _check_arrays(arrays: Given, name: str, kind: Kind) -> None:
    for label, array in arrays.items():
        if str(array.dtype) not in CODES:
            raise kind.error(f"{name} holds {ascii_line(label)} as {array.dtype}, which no corml {kind.name} uses.")
        if array.dtype.kind == "f" and not _finite(array.reshape(-1)):
            raise kind.error(
                f"{name} holds numbers in {ascii_line(label)} that are not finite. {kind.again.capitalize()}."
            )


def _finite(numbers: NDArray[Any]) -> bool:
    return all(np.isfinite(numbers[at : at + SLICE]).all() for at in range(0, len(numbers), SLICE))


# --- sparse matrices -------------------------------------------------------------------------------------------------


def encode_sparse(name: str, matrix: csr_array, *, values: bool = True) -> dict[str, NDArray[Any]]:
    """Take a CSR matrix apart, each row in ascending order of columns."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    pattern = {f"{name}.indptr": matrix.indptr, f"{name}.indices": matrix.indices}
    return pattern | ({f"{name}.data": matrix.data} if values else {})


def decode_sparse(arrays: Given, name: str, shape: tuple[int, int], *, values: bool = True) -> csr_array:
    """Put a CSR matrix together, checked entry by entry: a bad index would otherwise read memory that is not ours."""
    try:
        indptr, indices = arrays[f"{name}.indptr"], arrays[f"{name}.indices"]
        data = arrays[f"{name}.data"] if values else np.ones(indices.shape, dtype=np.float32)
    except KeyError:
        raise ModelFileError(f"its matrix {name} is incomplete") from None
    sound = (
        indptr.dtype.kind == indices.dtype.kind == "i"
        and data.dtype.kind == "f"
        and indptr.shape == (shape[0] + 1,)
        and indices.shape == data.shape == (indptr[-1],)
        and indptr[0] == 0
        and (indptr[1:] >= indptr[:-1]).all()  # a difference could overflow and look positive
        and is_within(indices, shape[1])
        and is_ascending(indptr, indices)
    )
    if not sound:
        raise ModelFileError(f"its matrix {name} does not add up")
    matrix = csr_array((data, indices, indptr), shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def in_both(one: csr_array, other: csr_array) -> int:
    """How many entries two matrices share, some rows at a time: a product of all of them is as large as they are."""
    step = max(SLICE * one.shape[0] // max(one.nnz + other.nnz, 1), 1)
    return sum(one[at : at + step].multiply(other[at : at + step]).nnz for at in range(0, one.shape[0], step))


def is_within(indices: NDArray[Any], width: int) -> bool:
    """Whether all indices are below the width, and none is negative."""
    return len(indices) == 0 or bool(indices.min() >= 0 and indices.max() < width)


def is_ascending(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Whether each row names its columns in ascending order, none twice; looked at in slices."""
    for at in range(0, len(indices), SLICE):
        some = indices[at : at + SLICE + 1]
        falls = np.flatnonzero(some[1:] <= some[:-1]) + at + 1
        if not (indptr[np.searchsorted(indptr, falls)] == falls).all():
            return False
    return True
