"""What is known beside the data, as arrays of a file: people that nothing was learned from, and items that went."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from corml.errors import ModelFileError
from corml.ids import Ids
from corml.interactions import Interactions
from corml.storage.container import decode_ids, encode_ids
from corml.storage.known import arrays_of_known, decode_known, encode_known

__all__ = ["NAMES", "decode_elsewhere", "decode_others", "encode_elsewhere", "encode_others"]

_IDS = ("others.users", "elsewhere.users", "elsewhere.items")
NAMES = {
    *(
        f"{ids}.{part}"
        for ids in ("others.users", "elsewhere.users", "elsewhere.items")
        for part in ("bytes", "offsets")
    ),
    *arrays_of_known("others"),
    *arrays_of_known("elsewhere"),
}


def encode_others(others: Interactions | None) -> dict[str, NDArray[Any]]:
    """As arrays; none where there is nobody."""
    return {} if others is None else encode_ids("others.users", others.users.labels) | encode_known("others", others)


def decode_others(arrays: Mapping[str, NDArray[Any]], users: Ids, items: Ids) -> Interactions | None:
    """From arrays, checked: nobody is among the users as well."""
    if "others.indptr" not in arrays:
        return None
    labels = decode_ids(arrays, "others.users")
    if not len(users) or len(set(labels)) != len(labels) or any(label in users for label in labels):
        raise ModelFileError("people that nothing was learned from are also among its users")
    return decode_known(arrays, "others", Ids(labels, kind="user"), items)


def encode_elsewhere(elsewhere: Interactions | None) -> dict[str, NDArray[Any]]:
    """Pairs with items that are not in the catalogue, as arrays; none where there are none."""
    if elsewhere is None:
        return {}
    ids = encode_ids("elsewhere.users", elsewhere.users.labels) | encode_ids("elsewhere.items", elsewhere.items.labels)
    return ids | encode_known("elsewhere", elsewhere)


def decode_elsewhere(arrays: Mapping[str, NDArray[Any]], items: Ids) -> Interactions | None:
    """From arrays, checked: no item is in the catalogue as well."""
    if "elsewhere.indptr" not in arrays:
        return None
    people, labels = decode_ids(arrays, "elsewhere.users"), decode_ids(arrays, "elsewhere.items")
    twice = len({*people}) < len(people) or len({*labels}) < len(labels)
    if twice or any(label in items for label in labels):
        raise ModelFileError("items that are not in its catalogue are in it")
    return decode_known(arrays, "elsewhere", Ids(people, kind="user"), Ids(labels))
