"""Parts that were built separately, brought to common ids."""

from collections.abc import Mapping

import numpy as np

from corml.interactions import Ids, Interactions

__all__ = ["Dropped", "aligned", "nothing_like"]

Dropped = Mapping[str, Mapping[str, int]]


def aligned(parts: Mapping[str, Interactions]) -> tuple[Mapping[str, Interactions], Dropped]:
    """Move all parts to the items of train and the users of train and histories; count what has no place there."""
    train = parts["train"]
    if all(part.users == train.users and part.items == train.items for part in parts.values()):
        return parts, {}
    users = _known_users(train, [parts[name] for name in ("history", "valid_history") if name in parts])
    moved = {name: part.on(users, train.items) for name, part in parts.items()}
    short = {name: part for name, part in parts.items() if len(moved[name]) < len(part)}
    return moved, {name: _reasons(part, users, train.items) for name, part in short.items()}


def nothing_like(part: Interactions) -> Interactions:
    """No pair at all, on the same ids."""
    return part.where(np.zeros(0, dtype=np.int64))


def _known_users(train: Interactions, histories: list[Interactions]) -> Ids:
    labels = dict.fromkeys(train.users.labels)
    for history in histories:
        labels.update(dict.fromkeys(history.users.labels))
    return train.users if len(labels) == len(train.users) else Ids(labels, kind="user")


def _reasons(part: Interactions, users: Ids, items: Ids) -> dict[str, int]:
    """Why pairs were left out; a pair strange in both ways counts as one of an unknown user."""
    strange_user = (users.find(part.users.labels) < 0)[part.user]
    strange_item = (items.find(part.items.labels) < 0)[part.item]
    return {
        "unknown users": int(strange_user.sum()),
        "unknown items": int((strange_item & ~strange_user).sum()),
    }
