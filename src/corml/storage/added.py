"""What was added to a model after its fit, as arrays of its file: all that is known now."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from corml.errors import DataError, ModelFileError
from corml.histories import Added
from corml.ids import Ids
from corml.interactions import Interactions
from corml.labels import Labels, concatenated
from corml.storage.container import decode_labels, encode_ids
from corml.storage.known import arrays_of_known, decode_known, encode_known
from corml.titles import Titles, texts_of

__all__ = ["NAMES", "decode_added", "encode_added"]

NAMES = {  # the users and items of the fit are not repeated: `now.users` and `now.items` are those that came after
    *(f"now.{ids}.{part}" for ids in ("users", "items", "titles") for part in ("bytes", "offsets")),
    *arrays_of_known("now"),
}

Arrays = Mapping[str, NDArray[Any]]


def encode_added(added: Added, users: Ids, items: Ids) -> dict[str, NDArray[Any]]:
    """The arrays of what is known now, given the users and items of the fit."""
    data = added.data
    arrays = encode_ids("now.users", data.users.labels.part(len(users), len(data.users)))
    arrays |= encode_ids("now.items", data.items.labels.part(len(items), len(data.items)))
    if data.titles:
        arrays |= encode_ids("now.titles", texts_of(data.titles, data.items).part(len(items), len(data.items)))
    return arrays | encode_known("now", data)


def decode_added(
    arrays: Arrays,
    users: Ids,
    items: Ids,
    facts: object,
    titles: Mapping[str, str],
    others: Interactions | None,
    elsewhere: Interactions | None,
) -> Added:
    """What is known now, checked; `facts` are the records of the updates and where all of it came from.

    `others` are the people that the fit did not learn from, `elsewhere` is what is known of items that it did not have:
    who is a user now, or which item is known now, is no longer among them.
    """
    records, source = (facts.get(name) if isinstance(facts, Mapping) else None for name in ("updates", "source"))
    if not isinstance(records, list) or not all(isinstance(one, Mapping) for one in records):
        raise ModelFileError("its record of updates is not a list of facts")
    if not isinstance(source, Mapping):
        raise ModelFileError("it does not say where its histories came from")
    every = _longer(users, decode_labels(arrays, "now.users")), _longer(items, decode_labels(arrays, "now.items"))
    names = _titles(arrays, titles, items, every[1])
    data = decode_known(arrays, "now", *every, titles=names, source=dict(source))
    data = replace(data, others=None if others is None else others.beyond(*every), elsewhere=elsewhere)
    data = data if elsewhere is None else data.on(*every)
    return Added(data=data, records=tuple(dict(one) for one in records))


def _longer(ids: Ids, more: Labels) -> Ids:
    try:
        return ids.followed_by(more) if len(more) else ids
    except DataError:
        raise ModelFileError(f"some of the {ids.kind} ids that were added to it occur twice") from None


def _titles(arrays: Arrays, titles: Mapping[str, str], items: Ids, every: Ids) -> Mapping[str, str]:
    """Those of the fit, and those of the items that came after."""
    if "now.titles.bytes" not in arrays:
        return titles
    new, count = decode_labels(arrays, "now.titles"), len(every) - len(items)
    if len(new) != count:
        raise ModelFileError(f"it has {len(new):,} titles for {count:,} new items")
    return Titles(every, concatenated([texts_of(titles, items), new]))
