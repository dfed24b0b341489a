"""A split as one file: the ids, the pairs of each set, how it was made, and a digest of everything.

The file is a `container` as a model file is, so reading it never runs what is in it.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.saved.attributes import arrays_of, facts_of, read_attributes
from corml.data.saved.pairs import (
    decode_beside,
    decode_ids,
    decode_known,
    decode_labels,
    decode_rows,
    encode_beside,
    encode_ids,
    encode_interactions,
    encode_rows,
)
from corml.errors import DataError, ascii_line
from corml.persistence import atomic, container
from corml.persistence.container import SPLIT

PARTS = ("train", "valid", "test", "history", "valid_history")


def save_parts(path: str | os.PathLike[str], parts: Mapping[str, Interactions], facts: Mapping[str, Any]) -> None:
    """Write sets on common ids and facts about them to a file, whole or not at all."""
    target, train = atomic.target(path), parts["train"]
    arrays = encode_ids("users", train.users) | encode_ids("items", train.items)
    arrays |= encode_ids("titled", train.titles) | encode_ids("titles", train.titles.values())
    if train.attributes is not None:
        arrays |= encode_ids("attributed", train.attributes.items) | arrays_of(train.attributes)
        facts = {**facts, **facts_of(train.attributes)}
    arrays |= encode_interactions("train", train) | encode_beside(train.others, train.elsewhere)
    for name, part in parts.items():
        arrays |= encode_rows(name, part.rows)
    prints = {name: part.fingerprint for name, part in parts.items()}
    atomic.replace(target, *container.pieces(arrays, {**facts, "source": train.source, "parts": prints}, SPLIT))


def is_split_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a split, from its beginning alone."""
    return "split" in (container.peek(path) or {})


def read_parts(path: str | os.PathLike[str]) -> tuple[dict[str, Interactions], dict[str, Any]]:
    """Sets and facts of a file; one that is damaged, foreign or changed is an error."""
    contents = container.read(path, SPLIT)
    arrays, facts = contents.arrays, contents.meta
    try:
        users, items = (decode_ids(arrays, f"{kind}s", kind) for kind in ("user", "item"))
        titles = dict(zip(decode_labels(arrays, "titled"), decode_labels(arrays, "titles"), strict=True))
        about = {"titles": titles, "source": facts["source"], **decode_beside(arrays, users, items)}
        if "attributes" in facts:
            about["attributes"] = read_attributes(arrays, facts["attributes"], Ids(decode_labels(arrays, "attributed")))
        if not {"train"} <= set(facts["parts"]) <= set(PARTS):
            raise ValueError("parts")
        shape = len(users), len(items)
        train, seen, negative = decode_known(arrays, "train", shape)
        parts = {"train": Interactions.of_rows(users, items, train, seen, negative, **about)}
        for name in (name for name in facts["parts"] if name != "train"):
            rows = decode_rows(arrays, name, shape)
            if rows is None:
                raise ValueError(f"{name} has no pairs")
            part = Interactions.of_rows(users, items, rows, **about)
            parts[name] = replace(part, seen=parts["train"].seen, negative=parts["train"].negative)
        return {name: parts[name] for name in facts["parts"]}, facts
    except (ValueError, KeyError, TypeError):  # a DataError is a ValueError
        raise inconsistent(path, "labels, rows and facts do not fit together") from None


def inconsistent(path: str | os.PathLike[str], fault: str) -> DataError:
    """The error for a file whose digest is right and whose content is not."""
    return DataError(f"The split {ascii_line(path, 200)} is inconsistent ({fault}): make and save it again.")
