"""A split in one file: what it is, how it was made, and a hash of everything.

The format is safetensors, so reading a file never runs what is in it. The header's one entry holds a manifest (text)
and the hash of manifest and arrays; the arrays are the labels, as UTF-8 bytes and offsets, and the rows of each part.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import DataError, ascii_line
from corml.interactions import Ids, Interactions
from corml.splits._split import PARTS, Split
from corml.storage import atomic
from corml.storage.container import decode_ids, encode_ids

__all__ = ["read_split", "save_split"]

FORMAT, VERSION = "corml split", 1
KEY = "corml"  # one entry only: safetensors writes several in no fixed order
Arrays = dict[str, NDArray[Any]]


def save_split(split: Split, path: str | os.PathLike[str]) -> None:
    """Write a split to a file, whole or not at all."""
    from safetensors.numpy import save

    target = atomic.target(path)
    arrays = _arrays(split)
    manifest = json.dumps(_manifest(split), sort_keys=True, default=str)
    header = json.dumps({"manifest": manifest, "sha256": _digest(manifest, arrays)}, sort_keys=True)
    atomic.replace(target, save(arrays, metadata={KEY: header}))


def read_split(path: str | os.PathLike[str]) -> Split:
    """Read a split written by `Split.save`; a file that is damaged, foreign or changed is an error."""
    try:
        content = Path(path).read_bytes()
    except OSError as fault:
        raise DataError(f"Could not read the split {ascii_line(path, 200)}: {fault.strerror or fault}.") from fault
    try:
        manifest, arrays = _opened(content)
        split = _rebuilt(manifest, arrays)
    except _Fault as fault:
        raise DataError(f"The split {ascii_line(path, 200)} {fault}: make and save it again.") from None
    return split


class _Fault(Exception):
    """What is wrong with a file, as the end of a sentence that begins with its name."""


# --- writing ---------------------------------------------------------------------------------------------------------


def _manifest(split: Split) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "procedure": split.procedure,
        "dropped": split.dropped,
        "counts": split.counts(),
        "source": split.train.source,
        "fingerprint": split.fingerprint,
        "parts": {name: part.fingerprint for name, part in split.parts().items()},
    }


def _arrays(split: Split) -> Arrays:
    arrays: Arrays = {"titles": _bytes(json.dumps(dict(split.train.titles)))}
    arrays |= encode_ids("users", split.train.users.labels) | encode_ids("items", split.train.items.labels)
    for name, part in split.parts().items():
        arrays[f"{name}.user"] = part.user.astype(np.int32)
        arrays[f"{name}.item"] = part.item.astype(np.int32)
        if part.times is not None:
            arrays[f"{name}.times"] = np.ascontiguousarray(part.times)
    return arrays


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _digest(manifest: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(manifest.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# --- reading ---------------------------------------------------------------------------------------------------------


def _opened(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Manifest and arrays of a file whose hash is right."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        header = json.loads(header[KEY])
        text, recorded = header["manifest"], header["sha256"]
        manifest = json.loads(text)
        if manifest["format"] != FORMAT:
            raise KeyError("format")
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError):
        raise _Fault("is not a split file of corml, or it is damaged") from None
    if manifest.get("version") != VERSION:
        raise _Fault(f"has version {ascii_line(manifest.get('version'))} where this program reads {VERSION}")
    if recorded != _digest(text, arrays):
        raise _Fault("is damaged (its content does not have the recorded hash)")
    return manifest, arrays


def _rebuilt(manifest: dict[str, Any], arrays: Arrays) -> Split:
    """Put the split together; the arrays must fit each other, and it must have the recorded fingerprint."""
    try:
        users, items = (Ids(decode_ids(arrays, f"{kind}s"), kind=kind) for kind in ("user", "item"))
        titles = json.loads(arrays["titles"].tobytes())
        shared = {"users": users, "items": items, "titles": dict(titles), "source": dict(manifest["source"])}
        parts: dict[str, Any] = {name: _part(name, arrays, shared) for name in PARTS if f"{name}.user" in arrays}
        split = Split(**parts, procedure=manifest["procedure"], dropped=manifest["dropped"])
        recorded = manifest["fingerprint"]
    except (ValueError, KeyError, TypeError, AttributeError):  # a DataError is a ValueError
        raise _Fault("is inconsistent (labels, rows or manifest do not fit together)") from None
    if split.fingerprint != recorded:
        raise _Fault("is inconsistent (its parts do not have the recorded fingerprint)")
    return split


def _part(name: str, arrays: Arrays, shared: dict[str, Any]) -> Interactions:
    user, item, times = arrays[f"{name}.user"], arrays[f"{name}.item"], arrays.get(f"{name}.times")
    n_users, n_items = len(shared["users"]), len(shared["items"])
    inside = ((0 <= user) & (user < n_users)).all() and ((0 <= item) & (item < n_items)).all()
    whole = user.dtype.kind == item.dtype.kind == "i" and user.shape == item.shape == (len(user),)
    if not (inside and whole and (times is None or (times.shape == user.shape and times.dtype == np.float64))):
        raise ValueError(name)
    if len(np.unique(user.astype(np.int64) * n_items + item)) < len(user):
        raise ValueError(name)
    return Interactions(user=user, item=item, times=times, **shared)
