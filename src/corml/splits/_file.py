"""Parts in one file: their pairs and labels, how they came about, and a digest of everything.

The file is a `container` as a model file is, so reading it never runs what is in it. Arrays are the labels and titles,
as UTF-8 bytes and offsets, and the rows of each part; the facts in the header are what people would ask about.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.saved.attributes import arrays_of, facts_of, read_attributes
from corml.data.saved.kinds import decode_kinds, encode_kinds
from corml.data.saved.labels import decode_ids, decode_labels, encode_ids
from corml.data.saved.others import decode_elsewhere, decode_others, encode_elsewhere, encode_others
from corml.errors import DataError, ascii_line
from corml.persistence import atomic, container
from corml.persistence.container import SPLIT
from corml.splits._parts import PARTS

__all__ = ["inconsistent", "is_split_file", "read_parts", "save_parts"]

Arrays = Mapping[str, NDArray[Any]]


def save_parts(path: str | os.PathLike[str], parts: Mapping[str, Interactions], facts: Mapping[str, Any]) -> None:
    """Write parts on common ids and facts about them to a file, whole or not at all."""
    target, train = atomic.target(path), parts["train"]
    arrays = encode_ids("users", train.users) | encode_ids("items", train.items)
    arrays |= encode_ids("titled", train.titles) | encode_ids("titles", train.titles.values())
    if train.attributes is not None:
        arrays |= encode_ids("attributed", train.attributes.items) | arrays_of(train.attributes)
        facts = {**facts, **facts_of(train.attributes)}
    for name, part in parts.items():
        arrays |= {f"{name}.user": part.user.astype(np.int32), f"{name}.item": part.item.astype(np.int32)}
        if part.times is not None:
            arrays[f"{name}.times"] = part.times
        arrays |= _about_pairs(name, part)
    for name, beside in (("seen", train.seen), ("negative", train.negative)):
        if beside is not None:
            arrays |= {f"{name}.user": beside.user.astype(np.int32), f"{name}.item": beside.item.astype(np.int32)}
            arrays |= {} if beside.times is None else {f"{name}.times": beside.times}
            arrays |= _about_pairs(name, beside)
    arrays |= encode_others(train.others) | encode_elsewhere(train.elsewhere)
    prints = {name: part.fingerprint for name, part in parts.items()}
    atomic.replace(target, *container.pieces(arrays, {**facts, "source": train.source, "parts": prints}, SPLIT))


def _about_pairs(name: str, part: Interactions) -> dict[str, NDArray[Any]]:
    """How strong pairs are, and of which kind, where that is known."""
    return encode_kinds(name, part.kinds) | ({} if part.weights is None else {f"{name}.weights": part.weights})


def is_split_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a split, from its beginning alone."""
    return "split" in (container.peek(path) or {})


def read_parts(path: str | os.PathLike[str]) -> tuple[dict[str, Interactions], dict[str, Any]]:
    """Parts and facts of a file; one that is damaged, foreign or changed is an error."""
    contents = container.read(path, SPLIT)
    arrays, facts = contents.arrays, contents.meta
    try:
        users, items = (Ids(decode_labels(arrays, f"{kind}s"), kind=kind) for kind in ("user", "item"))
        titles = dict(zip(decode_ids(arrays, "titled"), decode_ids(arrays, "titles"), strict=True))
        shared = {"users": users, "items": items, "titles": titles, "source": facts["source"]}
        if "attributes" in facts:
            described = Ids(decode_labels(arrays, "attributed"))
            shared["attributes"], _ = read_attributes(arrays, facts["attributes"], described)
        if not set(facts["parts"]) <= set(PARTS):
            raise ValueError("parts")
        seen = _pairs("seen", arrays, shared) if "seen.user" in arrays else None
        negative = _pairs("negative", arrays, shared) if "negative.user" in arrays else None
        beside = {"seen": seen, "negative": negative, "others": decode_others(arrays, users, items)}
        beside["elsewhere"] = decode_elsewhere(arrays, items)
        return {name: _pairs(name, arrays, {**shared, **beside}) for name in facts["parts"]}, facts
    except (ValueError, KeyError, TypeError):  # a DataError is a ValueError
        raise inconsistent(path, "labels, rows and facts do not fit together") from None


def _are_strengths(weights: NDArray[Any]) -> bool:
    return bool((np.isfinite(weights) & (weights > 0)).all())


def inconsistent(path: str | os.PathLike[str], fault: str) -> DataError:
    """The error for a file whose digest is right and whose content is not."""
    return DataError(f"The split {ascii_line(path, 200)} is inconsistent ({fault}): make and save it again.")


def _pairs(name: str, arrays: Arrays, shared: dict[str, Any]) -> Interactions:
    user, item, times = arrays[f"{name}.user"], arrays[f"{name}.item"], arrays.get(f"{name}.times")
    n_users, n_items = len(shared["users"]), len(shared["items"])
    inside = ((0 <= user) & (user < n_users)).all() and ((0 <= item) & (item < n_items)).all()
    whole = user.dtype.kind == item.dtype.kind == "i" and user.shape == item.shape == (len(user),)
    timed = times is None or (times.shape == user.shape and times.dtype == np.float64)
    weights = arrays.get(f"{name}.weights")
    sound = weights is None or (weights.shape == user.shape and weights.dtype == np.float32 and _are_strengths(weights))
    kinds = decode_kinds(arrays, name, len(user))
    if not (inside and whole and timed and sound):
        raise ValueError(name)
    if len(np.unique(user.astype(np.int64) * n_items + item)) < len(user):
        raise ValueError(name)
    return Interactions(user=user, item=item, times=times, weights=weights, kinds=kinds, **shared)
