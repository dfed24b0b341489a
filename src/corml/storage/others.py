"""People that nothing was learned from, as arrays of a file: so that no list shows them what they have."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from corml.errors import ModelFileError
from corml.ids import Ids
from corml.interactions import Interactions
from corml.storage.container import decode_ids, encode_ids
from corml.storage.known import arrays_of_known, decode_known, encode_known

__all__ = ["NAMES", "decode_others", "encode_others"]

NAMES = {"others.users.bytes", "others.users.offsets", *arrays_of_known("others")}


def encode_others(others: Interactions | None) -> dict[str, NDArray[Any]]:
    """As arrays; none where there is nobody."""
    return {} if others is None else encode_ids("others.users", others.users.labels) | encode_known("others", others)


def decode_others(arrays: Mapping[str, NDArray[Any]], users: Ids, items: Ids) -> Interactions | None:
    """From arrays, checked: nobody is among the users as well."""
    if not NAMES & set(arrays):
        return None
    labels = decode_ids(arrays, "others.users")
    if not len(users) or len(set(labels)) != len(labels) or any(label in users for label in labels):
        raise ModelFileError("people that nothing was learned from are also among its users")
    return decode_known(arrays, "others", Ids(labels, kind="user"), items)
