"""Whole users are held out: how well new (fold-in) users are served, from a part of their items."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.settings import Rule
from corml.data.interactions import Interactions
from corml.splits._draw import (
    AnySplit,
    Data,
    Whole,
    assemble,
    at_ranks,
    label_numbers,
    pieces,
    random_ranks,
    whole_counts,
)
from corml.splits._options import SEED, Shares, option, record, three_shares

__all__ = ["new_users"]

TRAIN, VALID, TEST, HISTORY, VALID_HISTORY = range(5)


def new_users(data: Data, *, shares: Shares = (0.8, 0.1, 0.1), given: float = 0.8, seed: int = 2026) -> AnySplit:
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
    bounds, rank = _bounds(data, fractions, number), random_ranks(data.items, number)

    def part(some: Interactions) -> Whole:
        role = _roles(some, bounds, number)[some.user]
        degree = some.user_degrees[some.user]
        held_out = rank(some) >= np.clip(np.rint(known * degree), 1, degree - 1)
        history = np.choose(role, [TRAIN, VALID_HISTORY, HISTORY])
        return np.where(held_out, role, history)

    return assemble(data, part, record("new-users", data, shares=fractions, given=known, seed=number))


def _bounds(data: Data, shares: tuple[float, float, float], seed: int) -> list[int]:
    """The random numbers from which on users are new in valid, and in test, where there are such users."""

    def numbers() -> Iterator[NDArray[np.uint64]]:
        return (_numbers(some, seed)[some.user_degrees >= 2] for some in pieces(data))

    able = sum(int(np.count_nonzero(some.user_degrees >= 2)) for some in pieces(data))
    ranks = np.cumsum(whole_counts(np.array([able]), shares)[0])[:2].tolist()
    inside = [rank for rank in ranks if rank < able]
    return at_ranks(numbers, inside) if inside else []


def _roles(some: Interactions, bounds: list[int], seed: int) -> Whole:
    """For each user: 0 to learn from, 1 new in valid, 2 new in test."""
    roles, numbers = np.zeros(len(some.users), dtype=np.int64), _numbers(some, seed)
    for bound in bounds:
        roles += numbers >= np.uint64(bound)
    return roles * (some.user_degrees >= 2)


def _numbers(some: Interactions, seed: int) -> NDArray[np.uint64]:
    return label_numbers(some.users, seed, "new users")


def _is_inner_share(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < 1


_GIVEN = Rule("a number between 0 and 1, both excluded", _is_inner_share)
