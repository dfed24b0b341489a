"""Lists for a page: of users whom the model knows by their name, of others by the items of their history."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from corml.data.interactions import Interactions
from corml.errors import UsageError
from corml.recommend.result import Recommendations

__all__ = ["are_known", "items_of", "lists_for"]


def lists_for(model: Any, history: Interactions, users: Sequence[str], k: int) -> Recommendations | None:
    """Lists of users with a history; None if the model cannot answer for users it did not learn from."""
    if are_known(model, users):
        known: Recommendations = model.recommend(users, k=k)
        return known
    histories = items_of(history, users)
    try:
        lists: Recommendations = model.recommend(history=[histories[user] for user in users], k=k)
    except UsageError:
        return None
    return replace(lists, users=tuple(users))


def are_known(model: Any, users: Sequence[str]) -> bool:
    """Whether a model learned from the histories of all of them; a file without histories knows nobody."""
    rows = model.fitted_.users.find(users)
    return bool((rows >= 0).all() and (model.train_[rows].sum(axis=1) > 0).all())


def items_of(data: Interactions | None, users: Sequence[str]) -> dict[str, list[str]]:
    """Items of some users, in the order of the catalogue; none for users the data do not have."""
    if data is None:
        return {user: [] for user in users}
    rows = data.users.find(users)
    return {
        user: [str(label) for label in data.items.labels[data.matrix[[row]].indices]] if row >= 0 else []
        for user, row in zip(users, rows, strict=True)
    }
