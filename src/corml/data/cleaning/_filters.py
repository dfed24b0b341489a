"""Fewer, denser pairs: minimum counts and the k-core."""

import numpy as np
from numpy.typing import NDArray

from corml.data._options import Notes, Options
from corml.data.interactions import Interactions
from corml.errors import DataError

__all__ = ["core", "thin"]


def thin(data: Interactions, options: Options, notes: Notes) -> Interactions:
    """Apply `min_user`, then `min_item` (one pass each), then `k_core`, so that the core holds in the end."""
    for name, mask in (
        ("min_user", lambda d: d.user_degrees[d.user] >= options.min_user),
        ("min_item", lambda d: d.item_degrees[d.item] >= options.min_item),
        ("k_core", lambda d: core(d.user, d.item, d.shape, options.k_core)),
    ):
        minimum = getattr(options, name)
        if minimum <= 1:  # every user and item has one
            continue
        keep = mask(data)
        if not keep.any():
            flag = f"--{name.replace('_', '-')} {minimum}"
            raise DataError(
                f"No interactions remain with {name}={minimum} ({flag}) of the {len(data):,} before it: lower it."
            )
        if not keep.all():
            notes.add(f"{name}={minimum} removed {len(data) - int(keep.sum()):,} of {len(data):,} interactions")
        data = data.where(keep)
    return data


def core(user: NDArray[np.integer], item: NDArray[np.integer], shape: tuple[int, int], k: int) -> NDArray[np.bool_]:
    """Mask of the largest set of pairs in which every user and every item that occurs does so k times."""
    keep = np.ones(len(user), dtype=bool)
    while True:
        few_users = np.bincount(user[keep], minlength=shape[0]) < k
        few_items = np.bincount(item[keep], minlength=shape[1]) < k
        left = keep & ~few_users[user] & ~few_items[item]
        if left.sum() == keep.sum():
            return keep
        keep = left
