"""Recommendations as cards: the history of a user, what the model recommends, and why."""

from collections import ChainMap
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corml.data.interactions import Interactions
from corml.errors import UsageError
from corml.models.recommender import Recommender
from corml.recommend.explanation import Explanation
from corml.recommend.result import Recommendations
from corml.report.page import Card, Past, Pick

MAX_HISTORY = 8  # items of a history on a card, unless more are cited
MAX_REASONS = 3
MIN_SHARE = 0.01

Explanations = Sequence[Sequence[Explanation]]


def sample_users(train: Interactions, held_out: Interactions | None = None, *, number: int = 3) -> list[str]:
    """Choose a few typical users: histories of medium length, and held-out items (the targets) where known."""
    lengths = train.user_degrees
    eligible = lengths > 0
    if held_out is not None:
        tested = held_out.users.take(held_out.user_degrees > 0).find(train.users) >= 0
        eligible = eligible & tested if (eligible & tested).any() else eligible
    rows = np.flatnonzero(eligible)
    rows = rows[np.argsort(lengths[rows], kind="stable")]
    positions = np.linspace(0, len(rows) - 1, number + 2)[1:-1].round().astype(np.int64)
    return [str(train.users.labels[row]) for row in rows[np.unique(positions)]] if len(rows) else []


def samples(
    model: Recommender,
    users: Sequence[str],
    *,
    train: Interactions,
    held_out: Interactions | None = None,
    k: int = 5,
) -> tuple[Card, ...]:
    """Get lists and, if the model can explain them, reasons; then make a card for each user.

    `train` has their histories; users from whom the model did not learn get lists by those. Items of `held_out` (the
    targets of the evaluation) are marked on the cards.
    """
    lists = lists_for(model, train, users, k) if len(users) else None
    if lists is None:
        return ()
    return cards(lists, _explained(model, lists, train), train=train, held_out=held_out)


def cards(
    lists: Recommendations,
    explanations: Explanations = (),
    *,
    train: Interactions,
    held_out: Interactions | None = None,
) -> tuple[Card, ...]:
    """Make one card per list; `explanations` has one row per list and one entry per item, or is empty."""
    titles: Mapping[str, str] = ChainMap(lists.titles, train.titles)  # type: ignore[arg-type]
    histories, targets = items_of(train, lists.users), items_of(held_out, lists.users)

    def card(row: int, user: str) -> Card:
        why = {explanation.item: explanation for explanation in explanations[row]} if explanations else {}
        picks = _picks(lists, row, why, targets[user], titles)
        cited = {title for pick in picks for title, _ in pick.reasons}
        past = _shown(_by_influence(histories[user], list(why.values())), titles, cited)
        more = len(histories[user]) - len(past)
        return Card(name=user, history=past, more=more, picks=picks, note=lists.reasons[row] or "")

    return tuple(card(row, user) for row, user in enumerate(lists.users))


def reasons(explanation: Explanation, titles: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    """The history items that contribute most to a score, with their shares of all positive contributions."""
    rows = [row for row in explanation.rows() if row["contribution"] > 0]
    total = sum(row["contribution"] for row in rows)
    shares = [(titles.get(row["item"], row["item"]), row["contribution"] / total) for row in rows[:MAX_REASONS]]
    return tuple((title, share) for title, share in shares if share >= MIN_SHARE)


def _explained(model: Recommender, lists: Recommendations, train: Interactions) -> Explanations:
    """Reasons for every item of every list, or none if the model does not score by histories."""
    of: Mapping[str, Any] = items_of(train, lists.users)
    if are_known(model, lists.users):
        of = {user: user for user in lists.users}
    try:
        pairs = zip(lists.users, lists.values(), strict=True)
        return [[model.explain(of[user], item) for item in items] for user, items in pairs]
    except UsageError:
        return ()


def _picks(
    lists: Recommendations,
    row: int,
    why: Mapping[str, Explanation],
    targets: Sequence[str],
    titles: Mapping[str, str],
) -> tuple[Pick, ...]:
    return tuple(
        Pick(
            title=titles.get(item, item),
            score=float(score),
            reasons=reasons(why[item], titles) if item in why else (),
            held_out=item in targets,
        )
        for item, score in zip(lists.items[row], lists.scores[row], strict=True)
        if item is not None
    )


def _shown(history: Sequence[str], titles: Mapping[str, str], cited: Container[str]) -> tuple[Past, ...]:
    """The items that are cited, all of them, and then those that mattered most."""
    named = [titles.get(item, item) for item in history]
    return tuple(Past(name, name in cited) for at, name in enumerate(named) if name in cited or at < MAX_HISTORY)


def _by_influence(history: list[str], explanations: Sequence[Explanation]) -> list[str]:
    """Order a history by how much its items mattered for this list."""
    weight: dict[str, float] = {}
    for explanation in explanations:
        total = max(explanation.score, np.finfo(float).tiny)
        for item, share in zip(explanation.history, explanation.contributions / total, strict=True):
            weight[item] = weight.get(item, 0.0) + float(share)
    return sorted(history, key=lambda item: -weight.get(item, 0.0))


# --- lists -----------------------------------------------------------------------------------------------------------


def lists_for(model: Recommender, history: Interactions, users: Sequence[str], k: int) -> Recommendations | None:
    """Lists of users with a history; None if the model cannot answer for users it did not learn from."""
    if are_known(model, users):
        return model.recommend(users, k=k)
    histories = items_of(history, users)
    try:
        lists = model.recommend(history=[histories[user] for user in users], k=k)
    except UsageError:
        return None
    return replace(lists, users=tuple(users))


def are_known(model: Recommender, users: Sequence[str]) -> bool:
    """Whether a model learned from the histories of all of them; a file saved without histories has no users."""
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
