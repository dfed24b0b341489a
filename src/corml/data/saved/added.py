"""What was added to a model after its fit, as arrays of its file: all that is known now."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.attributes import Attributes
from corml.data.histories import Added
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.labels import Labels, concatenated
from corml.data.saved.attributes import arrays_of, facts_of, read_attributes
from corml.data.saved.known import arrays_of_known, decode_known, encode_known
from corml.data.saved.labels import decode_labels, encode_ids
from corml.data.titles import Titles, texts_of
from corml.errors import DataError, ModelFileError

__all__ = ["NAMES", "decode_added", "encode_added", "facts_of_added"]

NAMES = {  # the users and items of the fit are not repeated: `now.users` and `now.items` are those that came after
    *(f"now.{ids}.{part}" for ids in ("users", "items", "titles") for part in ("bytes", "offsets")),
    *arrays_of_known("now"),
}

Arrays = Mapping[str, NDArray[Any]]
PREFIX = "now."  # of the attributes of items that came after the fit


def facts_of_added(added: Added, items: Ids) -> dict[str, Any]:
    """What the header says of it: hash, source and updates, and the columns of attributes of the new items."""
    data = added.data
    facts = {"fingerprint": data.fingerprint, "source": dict(data.source), "updates": list(added.records)}
    return facts | facts_of(_new_attributes(data, items))


def _new_attributes(data: Interactions, items: Ids) -> Attributes | None:
    """What is known of the items that came after the fit: the table of the model has the others."""
    if data.attributes is None or len(data.items) == len(items):
        return None
    return data.attributes.on(Ids(data.items.labels.part(len(items), len(data.items))))


def encode_added(added: Added, users: Ids, items: Ids) -> dict[str, NDArray[Any]]:
    """The arrays of what is known now, given the users and items of the fit."""
    data = added.data
    arrays = encode_ids("now.users", data.users.labels.part(len(users), len(data.users)))
    arrays |= encode_ids("now.items", data.items.labels.part(len(items), len(data.items)))
    if data.titles:
        arrays |= encode_ids("now.titles", texts_of(data.titles, data.items).part(len(items), len(data.items)))
    return arrays | arrays_of(_new_attributes(data, items), PREFIX) | encode_known("now", data)


def decode_added(
    arrays: Arrays,
    users: Ids,
    items: Ids,
    facts: object,
    titles: Mapping[str, str],
    attributes: Attributes | None,
    others: Interactions | None,
    elsewhere: Interactions | None,
) -> tuple[Added, set[str]]:
    """What is known now, checked, and the names of its arrays; `facts` are the updates and where all of it came from.

    `others` are the people that the fit did not learn from, `elsewhere` is what is known of items that it did not have:
    who is a user now, or which item is known now, is no longer among them.
    """
    facts = facts if isinstance(facts, Mapping) else {}
    records, source = facts.get("updates"), facts.get("source")
    if not isinstance(records, list) or not all(isinstance(one, Mapping) for one in records):
        raise ModelFileError("its record of updates is not a list of facts")
    if not isinstance(source, Mapping):
        raise ModelFileError("it does not say where its histories came from")
    every = _longer(users, decode_labels(arrays, "now.users")), _longer(items, decode_labels(arrays, "now.items"))
    names = _titles(arrays, titles, items, every[1])
    data = decode_known(arrays, "now", *every, titles=names, source=dict(source))
    data = replace(data, others=None if others is None else others.beyond(*every), elsewhere=elsewhere)
    data = data if elsewhere is None else data.on(*every)
    new = every[1].take(np.arange(len(items), len(every[1])))
    later, used = read_attributes(arrays, facts.get("attributes"), new, PREFIX)
    data = replace(data, attributes=_attributes(attributes, later))
    return Added(data=data, records=tuple(dict(one) for one in records)), used | (NAMES & set(arrays))


def _longer(ids: Ids, more: Labels) -> Ids:
    try:
        return ids.followed_by(more) if len(more) else ids
    except DataError:
        raise ModelFileError(f"some of the {ids.kind} ids that were added to it occur twice") from None


def _attributes(known: Attributes | None, new: Attributes | None) -> Attributes | None:
    """The table of the fit, with the rows of the items that came after."""
    if known is None or new is None:
        return known
    try:
        return known.extended(new)
    except DataError:
        raise ModelFileError("its attributes of new items are of other kinds than those of the fit") from None


def _titles(arrays: Arrays, titles: Mapping[str, str], items: Ids, every: Ids) -> Mapping[str, str]:
    """Those of the fit, and those of the items that came after."""
    if "now.titles.bytes" not in arrays:
        return titles
    new, count = decode_labels(arrays, "now.titles"), len(every) - len(items)
    if len(new) != count:
        raise ModelFileError(f"it has {len(new):,} titles for {count:,} new items")
    return Titles(every, concatenated([texts_of(titles, items), new]))
