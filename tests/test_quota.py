"""Sharing out, apart from models."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corml.recommend.quota import hold_quota
from slow_lists import one_by_one, ranking


def shared(scores, k, quota, order):
    """Lists by scores, where the gain is the score itself."""
    banned = [set() for _ in scores]

    def listed(rows):
        items = [ranking(scores[row], banned[row])[:k] for row in rows]
        columns = np.array([[*own, *[-1] * (k - len(own))] for own in items]).reshape(len(rows), k)
        return columns, np.where(columns < 0, -np.inf, np.take_along_axis(scores[rows], np.maximum(columns, 0), axis=1))

    def relist(rows, items):
        for row, item in zip(rows, items, strict=True):
            assert item not in banned[row]
            banned[row].add(int(item))
        return listed(np.unique(rows))

    columns, gains = listed(np.arange(len(scores)))
    lost = hold_quota(columns, gains, quota, order, relist)
    assert lost.tolist() == [len(own) for own in banned]
    return columns


@given(seed=st.integers(0, 2**32), users=st.integers(1, 9), k=st.integers(1, 4), quota=st.integers(1, 4))
def test_the_outcome_is_stable_and_lists_are_short_only_where_all_items_are_full(seed, users, k, quota):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (users, 7)).astype(np.float64)
    order = rng.permutation(users)
    columns = shared(scores, k, quota, order)
    counts = np.bincount(columns[columns >= 0], minlength=7)
    assert counts.max(initial=0) <= quota
    holders = {item: [row for row in range(users) if item in columns[row]] for item in range(7)}
    for row in range(users):
        own = [item for item in columns[row] if item >= 0]
        worst = min((scores[row, item] for item in own), default=-1) if len(own) == k else -1
        for item in set(range(7)) - set(own):
            if scores[row, item] > worst:  # wanted, and given to others who gain at least as much
                assert counts[item] == quota
                assert all(
                    (scores[other, item], -order[other]) > (scores[row, item], -order[row]) for other in holders[item]
                )


def test_nothing_is_done_where_no_item_is_in_too_many_lists():
    columns = np.array([[0, 1], [2, -1]])
    lost = hold_quota(columns, np.zeros((2, 2)), 1, np.arange(2), lambda rows, items: 1 / 0)
    assert lost.tolist() == [0, 0]
    assert columns.tolist() == [[0, 1], [2, -1]]


def test_progress_is_told():
    told = []
    columns = np.array([[0], [0]])
    after = np.array([[-1]]), np.array([[-np.inf]])
    hold_quota(
        columns,
        np.array([[1.0], [2.0]]),
        1,
        np.arange(2),
        lambda rows, items: after,
        progress=lambda *now: told.append(now),
    )
    assert told == [("share out", 1, 2), ("share out", 2, 2)]
    assert columns.tolist() == [[-1], [0]]


def test_the_slow_way_of_one_by_one_is_a_way():
    """Two want the same item: the one who gains more has it."""
    scores = np.array([[5.0, 4.0, 1.0], [5.0, 1.0, 1.0]])
    assert one_by_one(scores, 1, 1, ["a", "b"]) == [[1], [0]]
