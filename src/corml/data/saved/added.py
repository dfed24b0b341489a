"""What was added to a model after its fit: everything known now, without the ids and attributes of the fit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from corml.data.attributes import Attributes
from corml.data.histories import Added
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.labels import Labels, concatenated
from corml.data.saved.attributes import arrays_of, facts_of, read_attributes
from corml.data.saved.pairs import Encoded, decode_interactions, decode_labels, encode_ids, encode_interactions
from corml.data.titles import Titles, texts_of
from corml.errors import DataError, ModelFileError
from corml.persistence.container import Arrays

NAME = "now"
PREFIX = f"{NAME}."  # of the attributes of items that were added after the fit


def facts_of_added(added: Added, items: Ids) -> dict[str, Any]:
    """What the header says about it: hash, source and updates, and the columns of attributes of the new items."""
    data = added.data
    facts = {"fingerprint": data.fingerprint, "source": dict(data.source), "updates": list(added.records)}
    return facts | facts_of(_new_attributes(data, items))


def _new_attributes(data: Interactions, items: Ids) -> Attributes | None:
    if data.attributes is None or len(data.items) == len(items):
        return None
    return data.attributes.on(Ids(data.items.labels.part(len(items), len(data.items))))


def encode_added(added: Added, users: Ids, items: Ids) -> Encoded:
    """The arrays of what is known now, given the users and items of the fit."""
    data = added.data
    arrays = encode_ids(f"{NAME}.users", data.users.labels.part(len(users), len(data.users)))
    arrays |= encode_ids(f"{NAME}.items", data.items.labels.part(len(items), len(data.items)))
    if data.titles:
        titles = texts_of(data.titles, data.items).part(len(items), len(data.items))
        arrays |= encode_ids(f"{NAME}.titles", titles)
    return arrays | arrays_of(_new_attributes(data, items), PREFIX) | encode_interactions(NAME, data)


def decode_added(arrays: Arrays, fit: Interactions, facts: object) -> Added | None:
    """What is known now, checked; None where nothing was added.

    `fit` has the ids, titles, attributes, excluded users and out-of-catalogue interactions of the fit; `facts` are the
    updates and the source of the data. Excluded users who are users now, and items that are in the catalogue now, are
    moved to where they belong.
    """
    if facts is None and f"{NAME}.indptr" not in arrays:
        return None
    given = facts if isinstance(facts, Mapping) else {}
    records, source = given.get("updates"), given.get("source")
    if not isinstance(records, list) or not all(isinstance(one, Mapping) for one in records):
        raise ModelFileError("its record of updates is not a list of facts")
    if not isinstance(source, Mapping):
        raise ModelFileError("it does not say where its histories came from")
    users = _longer(fit.users, decode_labels(arrays, f"{NAME}.users"))
    items = _longer(fit.items, decode_labels(arrays, f"{NAME}.items"))
    data = decode_interactions(arrays, NAME, users, items, titles=_titles(arrays, fit, items), source=dict(source))
    data = replace(data, others=None if fit.others is None else fit.others.beyond(users, items))
    data = data if fit.elsewhere is None else replace(data, elsewhere=fit.elsewhere).on(users, items)
    new = items.take(np.arange(len(fit.items), len(items)))
    attributes = read_attributes(arrays, given.get("attributes"), new, PREFIX)
    data = replace(data, attributes=_extended(fit.attributes, attributes))
    return Added(data=data, records=tuple(dict(one) for one in records))


def _longer(ids: Ids, more: Labels) -> Ids:
    try:
        return ids.followed_by(more) if len(more) else ids
    except DataError:
        raise ModelFileError(f"some of the {ids.kind} ids that were added to it occur twice") from None


def _extended(table: Attributes | None, new: Attributes | None) -> Attributes | None:
    if table is None or new is None:
        return table
    try:
        return table.extended(new)
    except DataError:
        raise ModelFileError("its attributes of new items are of other kinds than those of the fit") from None


def _titles(arrays: Arrays, fit: Interactions, items: Ids) -> Mapping[str, str]:
    """The titles of the fit, and those of the items that were added."""
    if f"{NAME}.titles.bytes" not in arrays:
        return fit.titles
    new, count = decode_labels(arrays, f"{NAME}.titles"), len(items) - len(fit.items)
    if len(new) != count:
        raise ModelFileError(f"it has {len(new):,} titles for {count:,} new items")
    return Titles(items, concatenated([texts_of(fit.titles, fit.items), new]))
