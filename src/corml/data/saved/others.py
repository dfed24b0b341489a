"""What is known beside the data, as arrays of a file: people that nothing was learned from, and items that went."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.saved.known import arrays_of_known, decode_known, encode_known
from corml.data.saved.labels import decode_labels, encode_ids
from corml.errors import DataError, ModelFileError

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
    return {} if others is None else encode_ids("others.users", others.users) | encode_known("others", others)


def decode_others(arrays: Mapping[str, NDArray[Any]], users: Ids, items: Ids) -> Interactions | None:
    """From arrays, checked: nobody is among the users as well."""
    if "others.indptr" not in arrays:
        return None
    people = _ids(arrays, "others.users", "user")
    if people is None or not len(users) or (users.find(people) >= 0).any():
        raise ModelFileError("people that nothing was learned from are also among its users")
    return decode_known(arrays, "others", people, items)


def encode_elsewhere(elsewhere: Interactions | None) -> dict[str, NDArray[Any]]:
    """Pairs with items that are not in the catalogue, as arrays; none where there are none."""
    if elsewhere is None:
        return {}
    ids = encode_ids("elsewhere.users", elsewhere.users) | encode_ids("elsewhere.items", elsewhere.items)
    return ids | encode_known("elsewhere", elsewhere)


def decode_elsewhere(arrays: Mapping[str, NDArray[Any]], items: Ids) -> Interactions | None:
    """From arrays, checked: no item is in the catalogue as well."""
    if "elsewhere.indptr" not in arrays:
        return None
    people, away = _ids(arrays, "elsewhere.users", "user"), _ids(arrays, "elsewhere.items", "item")
    if people is None or away is None or (items.find(away) >= 0).any():
        raise ModelFileError("items that are not in its catalogue are in it")
    return decode_known(arrays, "elsewhere", people, away)


def _ids(arrays: Mapping[str, NDArray[Any]], name: str, kind: str) -> Ids | None:
    """Ids of a file; None if some occur twice."""
    try:
        return Ids(decode_labels(arrays, name), kind=kind)
    except DataError:
        return None
