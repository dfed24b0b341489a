"""Whole users are held out: how well new (fold-in) users are served, from a part of their items."""

from typing import Any

import numpy as np

from corml.interactions import Interactions
from corml.settings import Rule
from corml.splits._draw import Whole, assemble, label_numbers, random_ranks, whole_counts
from corml.splits._procedure import SEED, Shares, option, record, three_shares
from corml.splits._split import Split

__all__ = ["new_users"]

TRAIN, VALID, TEST, HISTORY, VALID_HISTORY = range(5)


def new_users(data: Interactions, *, shares: Shares = (0.8, 0.1, 0.1), given: float = 0.8, seed: int = 2026) -> Split:
    """Train on some users; a part of each other user's items is the history, the rest is held out.

              items   a        b        c        d        e
        Ann           train    train    .        train    train     a user to learn from
        Bob           history  history  test     .        history   a new user: `given` of the items are history
        Cem           .        history  valid    history  history   the same for valid, in valid_history

    `shares` are of the users with two items or more; a user with one item cannot have both a history and a target, and
    is learnt from. At least one item of a new user is history and one held out. No pair of a new user is in train.
    """
    fractions = three_shares("new-users", shares)
    known = float(option("new-users", "given", given, _GIVEN))
    number = int(option("new-users", "seed", seed, SEED))
    role = _roles(data, fractions, number)[data.user]
    degree = data.user_degrees[data.user]
    n_history = np.clip(np.rint(known * degree), 1, degree - 1)
    held_out = random_ranks(data, number) >= n_history
    history = np.choose(role, [TRAIN, VALID_HISTORY, HISTORY])
    part = np.where(held_out, role, history)
    return assemble(data, part, record("new-users", data, shares=fractions, given=known, seed=number))


def _roles(data: Interactions, shares: tuple[float, float, float], seed: int) -> Whole:
    """For each user: 0 to learn from, 1 new in valid, 2 new in test."""
    able = np.flatnonzero(data.user_degrees >= 2)
    drawn = able[np.argsort(label_numbers(data.users, seed, "new users")[able], kind="stable")]
    counts = whole_counts(np.array([len(able)]), shares)[0]
    roles = np.zeros(len(data.users), dtype=np.int64)
    roles[drawn] = np.repeat([TRAIN, VALID, TEST], counts)
    return roles


def _is_inner_share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


_GIVEN = Rule("a number between 0 and 1, both excluded", _is_inner_share)
