"""Arrays and facts in one safetensors file, hashed to the last bit.

The header's one metadata entry is a JSON text that begins with the format's number and a digest: the sha256 of the
whole file with the digest's own 64 characters written as zeros. So any change anywhere in the file is noticed before
anything in it is believed, and nothing is ever unpickled.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory
from corml.errors import CormlError, DataError, ModelFileError, UsageError, ascii_line
from corml.persistence import mapping, tensors
from corml.persistence.facts import DEEPEST, is_deep

__all__ = [
    "FORMAT",
    "MODEL",
    "SPLIT",
    "Contents",
    "Kind",
    "decode_sparse",
    "encode_sparse",
    "in_both",
    "pack",
    "peek",
    "pieces",
    "read",
    "unpack",
]

FORMAT = OLDEST = 4  # what is written, and the oldest that is read
BLANK = "0" * 64
DTYPES = {"uint8", "int32", "int64", "float32", "float64"}
FACTS = dict.fromkeys(("settings", "data", "notes", "evaluation", "made_with"), dict) | {"model": str, "shape": list}
SPLIT_FACTS = dict.fromkeys(("split", "dropped", "counts", "source", "parts"), dict) | {"fingerprint": str}
SLICE = 1 << 20  # numbers checked at a time

# JSON inside a JSON string, so its quotes are escaped; the digest may move in a later format, the number may not.
_BEGINNING = re.compile(
    rb'.{8}\{"__metadata__":\{"corml":"\{\\"format\\": (?P<format>[0-9]{1,9}), '
    rb'(?:\\"digest\\": \\"(?P<digest>[0-9a-f]{64})\\", )?',
    re.DOTALL,
)
LONGEST_BEGINNING = 200  # bytes

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Contents:
    """What a checked file holds."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    digest: str
    bytes: int
    name: str = "the file"


@dataclass(frozen=True)
class Kind:
    """What a file is of: a fact of this name says so, the other facts go with it."""

    name: str
    facts: Mapping[str, type]
    again: str  # how to get a good file
    reader: str
    error: type[CormlError]
    finite: bool = True  # whether all numbers must be: a pair may be without a time

    def damaged(self, name: str, fault: str) -> CormlError:
        """The error for a file that was good once."""
        return self.error(f"{name} is damaged: {fault}. Restore it or {self.again}.")


MODEL = Kind("model", FACTS, "fit again", "corml.read_model", ModelFileError)
SPLIT = Kind("split", SPLIT_FACTS, "make and save it again", "corml.read_split", DataError, finite=False)
KINDS = (MODEL, SPLIT)


# --- whole files -----------------------------------------------------------------------------------------------------


def pack(arrays: Arrays, meta: Mapping[str, Any], kind: Kind = MODEL) -> bytes:
    """Arrays and a JSON-able mapping as the bytes of a file."""
    return b"".join(pieces(arrays, meta, kind))


def pieces(arrays: Arrays, meta: Mapping[str, Any], kind: Kind = MODEL) -> tuple[bytes | memoryview, ...]:
    """Make the bytes of a file in parts: its header, then the arrays where they are."""
    _check_arrays(arrays, f"The {kind.name}", kind)
    _check_depth(meta, f"The {kind.name}", kind)
    text = f'{{"format": {FORMAT}, "digest": "{BLANK}", "facts": {_json(meta, kind)}}}'
    arrays = tensors.in_order(arrays)
    blank = tensors.header(arrays, {"corml": text})
    bodies = [array.reshape(-1).view(np.uint8).data for array in arrays.values() if array.size]
    digest = hashlib.sha256(blank)
    for body in bodies:
        digest.update(body)
    try:
        tensors.check_parts(blank)
    except ValueError as fault:
        raise UsageError(f"The {kind.name} cannot be written: {fault}.") from None
    beginning = _BEGINNING.match(blank)
    assert beginning
    assert beginning["digest"] == BLANK.encode()
    start, stop = beginning.span("digest")
    return blank[:start] + digest.hexdigest().encode() + blank[stop:], *bodies


def unpack(data: bytes | NDArray[np.uint8], name: str = "the file", kind: Kind = MODEL) -> Contents:
    """Check and open the bytes of a file, of which arrays are views; anything unexpected is an error of its kind."""
    data = np.frombuffer(bytearray(data), dtype=np.uint8) if isinstance(data, bytes) else data
    beginning = _beginning(data[:LONGEST_BEGINNING].tobytes(), name, kind)
    digest = beginning["digest"].decode()
    if _digest(data.data, *beginning.span("digest")) != digest:
        raise kind.damaged(name, "its contents do not match its digest")
    try:
        arrays, metadata = tensors.views(data)
        facts = json.loads(metadata["corml"])["facts"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise kind.damaged(name, ascii_line(fault, 200)) from None
    _check_facts(facts, name, kind)
    _check_arrays(arrays, name, kind)
    return Contents({**facts, "format": int(beginning["format"])}, arrays, digest, len(data), name)


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
            _beginning(file.read(LONGEST_BEGINNING), name, kind)
            mapped = mapping.is_mapped_by_default(file) if mapped is None else mapped
            needed = (
                (3 if mapped else 5) * about.st_size // 2
            )  # what is made of its arrays, and they themselves if read
            memory.require(needed, what=f"Reading the {kind.name} {name}", instead="free some memory first.")
            file.seek(0)
            data = mapping.content(file, about.st_size, mapped=mapped)
    except CormlError:
        raise
    except OSError as fault:
        raise DataError(f"Cannot read the {kind.name} {name}: {fault.strerror or fault}.") from None
    except ValueError as fault:  # no name a file can have
        raise DataError(f"Cannot read the {kind.name} {name}: {fault}.") from None
    return unpack(data, name, kind)


def peek(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a file says about itself in its header, unchecked, to tell kinds of files apart; None if nothing."""
    try:
        with open(path, "rb", opener=_open) as file:
            length = int.from_bytes(file.read(8), "little")
            header = tensors.parsed(file.read(min(length, tensors.LONGEST + 1)))
            facts = json.loads(header["__metadata__"]["corml"])["facts"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # or a pipe would be waited for


def _beginning(data: bytes, name: str, kind: Kind) -> re.Match[bytes]:
    beginning = _BEGINNING.match(data)
    if not beginning:
        remedy = f": {kind.again}" if kind is SPLIT else ""  # an early split file was one, and begins in another way
        raise kind.error(f"{name} is not a corml {kind.name} file, or its beginning is damaged{remedy}.")
    number = int(beginning["format"])
    if number > FORMAT:
        raise kind.error(f"{name} has format {number}, newer than the {FORMAT} this corml reads: upgrade corml.")
    if number < 1 or not beginning["digest"]:
        raise kind.damaged(name, "its header has no digest")
    if number < OLDEST:
        raise kind.error(f"{name} has format {number}, older than the {OLDEST} this corml reads: {kind.again}.")
    return beginning


def _digest(view: memoryview, start: int, stop: int) -> str:
    digest = hashlib.sha256(view[:start])
    digest.update(BLANK.encode())
    digest.update(view[stop:])
    return digest.hexdigest()


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


def _check_facts(facts: Any, name: str, kind: Kind) -> None:
    known = facts if isinstance(facts, dict) else {}
    for other in KINDS:
        if other is not kind and other.name in known and kind.name not in known:
            raise kind.error(f"{name} is a {other.name} file, not a {kind.name} file: read it with {other.reader}.")
    for fact, form in kind.facts.items():
        if not isinstance(known.get(fact), form):
            raise kind.error(f"{name} does not say its {fact}. {kind.again.capitalize()}.")
    _check_depth(known, name, kind)


def _check_depth(facts: Mapping[str, Any], name: str, kind: Kind) -> None:
    if is_deep(facts):
        raise kind.error(f"{name} has facts within facts, more than {DEEPEST} deep. {kind.again.capitalize()}.")


def _check_arrays(arrays: Arrays, name: str, kind: Kind) -> None:
    for label, array in arrays.items():
        if str(array.dtype) not in DTYPES:
            raise kind.error(f"{name} holds {ascii_line(label)} as {array.dtype}, which no corml {kind.name} uses.")
        if kind.finite and array.dtype.kind == "f" and not _finite(array.reshape(-1)):
            raise kind.error(
                f"{name} holds numbers in {ascii_line(label)} that are not finite. {kind.again.capitalize()}."
            )


def _finite(numbers: NDArray[Any]) -> bool:
    return all(np.isfinite(numbers[at : at + SLICE]).all() for at in range(0, len(numbers), SLICE))


# --- parts of files --------------------------------------------------------------------------------------------------


def encode_sparse(name: str, matrix: csr_array, *, values: bool = True) -> dict[str, NDArray[Any]]:
    """Take a CSR matrix apart, each row in ascending order of columns."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    pattern = {f"{name}.indptr": matrix.indptr, f"{name}.indices": matrix.indices}
    return pattern | ({f"{name}.data": matrix.data} if values else {})


def decode_sparse(arrays: Arrays, name: str, shape: tuple[int, int], *, values: bool = True) -> csr_array:
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
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
        and _ascending(indptr, indices)
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


def _ascending(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Whether each row names its columns in ascending order, none twice."""
    falls = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
    return bool((indptr[np.searchsorted(indptr, falls)] == falls).all())
