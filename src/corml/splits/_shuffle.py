"""A seeded shuffle that looks at labels only.

The random number of a pair is a hash of seed, user label and item label. So neither the order of rows or ids, nor
which other users and items there are, changes the order in which a user's pairs are drawn.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from corml.interactions import Ids, Interactions
from corml.splits._assign import Whole, places

__all__ = ["label_numbers", "shuffled_places"]


def shuffled_places(data: Interactions, seed: int) -> Whole:
    """Place of each pair in a random order of its user's pairs."""
    return places(data.user, _pair_numbers(data, seed))


def label_numbers(ids: Ids, seed: int, purpose: str) -> NDArray[np.uint64]:
    """One random 64-bit number per label; other purposes get other numbers."""
    key, person = str(seed).encode(), purpose.encode()
    digests = (
        hashlib.blake2b(label.encode("utf-8", "surrogatepass"), digest_size=8, key=key, person=person).digest()
        for label in ids.labels
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _pair_numbers(data: Interactions, seed: int) -> NDArray[np.uint64]:
    """Hashing every pair would take seconds; labels are hashed once each and combined in whole arrays."""
    user = label_numbers(data.users, seed, "pair of user")
    item = label_numbers(data.items, seed, "pair of item")
    return _scrambled(_scrambled(item)[data.item] + user[data.user])


def _scrambled(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply SplitMix64's output function: one-to-one, so that distinct items of a user keep distinct numbers."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
