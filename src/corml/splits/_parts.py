"""Parts of a data set: on common ids, joined, and without what an earlier part has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.kinds import Kinds

__all__ = ["PARTS", "Dropped", "align", "empty_like", "sizes", "union", "without"]

PARTS = ("train", "valid", "test", "history", "valid_history")

Dropped = Mapping[str, Mapping[str, int]]


def align(parts: Mapping[str, Interactions]) -> tuple[Mapping[str, Interactions], Dropped]:
    """Move all parts to the items of train and the users of train and histories; count the pairs dropped by that."""
    train = parts["train"]
    if all(part.users == train.users and part.items == train.items for part in parts.values()):
        return parts, {}
    users = _known_users(train, [parts[name] for name in ("history", "valid_history") if name in parts])
    moved = {name: part.on(users, train.items) for name, part in parts.items()}
    shorter = {name: part for name, part in parts.items() if len(moved[name]) < len(part)}
    return moved, {name: _reasons(part, users, train.items) for name, part in shorter.items()}


def empty_like(part: Interactions) -> Interactions:
    """No pair at all, on the same ids."""
    return part.where(np.zeros(0, dtype=np.int64))


def union(first: Interactions, second: Interactions) -> Interactions:
    """Pairs that are in either; a pair in both counts once, as the first has it."""
    if not len(second):
        return first
    user = np.concatenate([first.user, second.user])
    item = np.concatenate([first.item, second.item])
    _, distinct = np.unique(user.astype(np.int64) * len(first.items) + item, return_index=True)
    times = weights = None
    if first.times is not None and second.times is not None:
        times = np.concatenate([first.times, second.times])[distinct]
    if first.weights is not None or second.weights is not None:
        strengths = [np.ones(len(p), dtype=np.float32) if p.weights is None else p.weights for p in (first, second)]
        weights = np.concatenate(strengths)[distinct]
    kinds = Kinds.joined([first.kinds, second.kinds], [len(first), len(second)])
    kinds = None if kinds is None else kinds.where(distinct)
    return replace(first, user=user[distinct], item=item[distinct], times=times, weights=weights, kinds=kinds)


def without(part: Interactions, earlier: Sequence[Interactions]) -> Interactions:
    """The pairs of a part that no earlier part has."""
    repeated = np.isin(_cells(part), np.concatenate([_cells(other) for other in earlier]))
    return part.where(~repeated)


def sizes(part: Interactions) -> dict[str, int]:
    """Users, items and pairs of a part."""
    return {
        "users": int(np.count_nonzero(part.user_degrees)),
        "items": int(np.count_nonzero(part.item_degrees)),
        "pairs": len(part),
    }


def _known_users(train: Interactions, histories: list[Interactions]) -> Ids:
    return train.users.union(*(history.users for history in histories))


def _reasons(part: Interactions, users: Ids, items: Ids) -> dict[str, int]:
    """Why pairs were dropped; a pair whose user and item are both unknown counts as one of an unknown user."""
    unknown_user = (users.find(part.users) < 0)[part.user]
    unknown_item = (items.find(part.items) < 0)[part.item]
    return {
        "unknown users": int(unknown_user.sum()),
        "unknown items": int((unknown_item & ~unknown_user).sum()),
    }


def _cells(part: Interactions) -> NDArray[np.int64]:
    """One number per pair."""
    return part.user.astype(np.int64) * len(part.items) + part.item
