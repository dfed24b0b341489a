"""Arrays and facts in one safetensors file, hashed to the last bit.

The header's one metadata entry is a JSON text; its `digest` is the sha256 of the whole file with the digest's own
64 characters written as zeros. So any change anywhere in the file is noticed, and nothing is ever unpickled.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import DataError, ModelFileError, ascii_line

__all__ = ["FORMAT", "Contents", "decode_ids", "decode_sparse", "encode_ids", "encode_sparse", "pack", "read", "unpack"]

FORMAT = 1
BLANK = "0" * 64
DTYPES = {"uint8", "int32", "int64", "float32", "float64"}
LARGEST_HEADER = 100 << 20

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Contents:
    """What a checked file holds."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    digest: str
    bytes: int



def pack(arrays: Arrays, meta: Mapping[str, Any]) -> bytes:
    """Arrays and a JSON-able mapping as the bytes of a file."""
    from safetensors.numpy import save

    text = json.dumps({"format": FORMAT, **meta, "digest": BLANK}, sort_keys=True, ensure_ascii=True, allow_nan=False)
    blank = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata={"corml": text})
    head, found, tail = blank.partition(_digest_entry(BLANK))
    assert found
    return head + _digest_entry(hashlib.sha256(blank).hexdigest()) + tail


def unpack(data: bytes, name: str = "the file") -> Contents:
    """Check and open the bytes of a file; anything unexpected is a ModelFileError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    meta = _header(data, name)
    digest = str(meta.pop("digest", ""))
    blank = data.replace(_digest_entry(digest), _digest_entry(BLANK), 1)
    if len(digest) != 64 or hashlib.sha256(blank).hexdigest() != digest:
        raise ModelFileError(f"{name} is damaged: its contents do not match its digest. Restore it or fit again.")
    try:
        arrays = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as fault:
        raise ModelFileError(f"{name} is damaged: {fault}. Restore it or fit again.") from None
    for label, array in arrays.items():
        if str(array.dtype) not in DTYPES:
            raise ModelFileError(f"{name} holds {ascii_line(label)} as {array.dtype}, which no corml model uses.")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"{name} holds numbers in {ascii_line(label)} that are not finite. Fit again.")
    return Contents(meta, arrays, digest, len(data))


def _header(data: bytes, name: str) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= min(len(data) - 8, LARGEST_HEADER):
        raise ModelFileError(f"{name} is not a corml model file, or it was cut short.")
    try:
        meta = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["corml"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{name} is not a corml model file, or its header is damaged.") from None
    if not isinstance(meta, dict) or not isinstance(meta.get("format"), int):
        raise ModelFileError(f"{name} is not a corml model file: its header names no format.")
    if meta["format"] > FORMAT:
        raise ModelFileError(
            f"{name} has format {meta['format']}, newer than the {FORMAT} this corml reads: upgrade corml."
        )
    return meta


def _digest_entry(digest: str) -> bytes:
    """The digest as it stands in the header: JSON inside a JSON string, so its quotes are escaped."""
    return f'\\"digest\\": \\"{digest}\\"'.encode()



def read(path: str | os.PathLike[str]) -> Contents:
    """Read and check a model file."""
    name = ascii_line(path, 200)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ModelFileError(f"{name} is not a regular file.")
        data = Path(path).read_bytes()
    except OSError as fault:
        raise DataError(f"Cannot read the model {name}: {fault.strerror or fault}.") from None
    return unpack(data, name)


def encode_ids(name: str, labels: Any) -> dict[str, NDArray[Any]]:
    """Texts as UTF-8 bytes and where each begins."""
    encoded = [str(label).encode("utf-8", "surrogatepass") for label in labels]
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in encoded])]).astype(np.int64)
    return {f"{name}.bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{name}.offsets": offsets}


def decode_ids(arrays: Arrays, name: str) -> list[str]:
    """Texts back from bytes and offsets, checked."""
    try:
        data, offsets = arrays[f"{name}.bytes"], arrays[f"{name}.offsets"]
        sound = data.dtype == np.uint8 and offsets.dtype == np.int64 and offsets.ndim == data.ndim == 1
        if not sound or offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(offsets) < 0).any():
            raise ModelFileError(f"The {name} of the model file do not add up. Fit again.")
        raw = data.tobytes()
        return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in zip(offsets, offsets[1:], strict=False)]
    except (KeyError, IndexError, UnicodeDecodeError):
        raise ModelFileError(f"The {name} of the model file are missing or unreadable. Fit again.") from None


def encode_sparse(name: str, X: csr_array, *, values: bool = True) -> dict[str, NDArray[Any]]:
    made = {f"{name}.indptr": X.indptr, f"{name}.indices": X.indices}
    return made | ({f"{name}.data": X.data} if values else {})


def decode_sparse(arrays: Arrays, name: str, shape: tuple[int, int]) -> csr_array:
    """A CSR matrix, checked entry by entry: a bad index would otherwise read memory that is not ours."""
    try:
        indptr, indices = arrays[f"{name}.indptr"], arrays[f"{name}.indices"]
    except KeyError:
        raise ModelFileError(f"The matrix {name} is missing from the model file. Fit again.") from None
    data = arrays.get(f"{name}.data", np.ones(len(indices), dtype=np.float32))
    sound = (
        indptr.dtype.kind == indices.dtype.kind == "i"
        and data.dtype.kind == "f"
        and indptr.shape == (shape[0] + 1,)
        and indices.shape == data.shape == (indptr[-1],)
        and indptr[0] == 0
        and (np.diff(indptr) >= 0).all()
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
    )
    if not sound:
        raise ModelFileError(f"The matrix {name} of the model file does not add up. Fit again.")
    made = csr_array((data, indices, indptr), shape=shape)
    made.sort_indices()
    return made
