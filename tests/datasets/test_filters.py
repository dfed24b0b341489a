"""Minimum counts and the k-core."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corml.data import load
from corml.data.cleaning._filters import core

graphs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40, unique=True)


def core_of(pairs, k):
    user, item = np.array(pairs).T
    mask = core(user, item, (7, 7), k)
    return [pair for pair, keep in zip(pairs, mask, strict=True) if keep]


def by_brute_force(pairs, k):
    """Take away one offending pair at a time."""
    left = list(pairs)
    while True:
        for pair in left:
            if any(sum(other[side] == pair[side] for other in left) < k for side in (0, 1)):
                left.remove(pair)
                break
        else:
            return left


@given(graphs, st.integers(0, 4))
def test_the_core_is_the_largest_part_with_k_of_each(pairs, k):
    assert core_of(pairs, k) == by_brute_force(pairs, k)


@given(graphs, st.integers(1, 4))
def test_the_core_of_the_core_is_itself(pairs, k):
    once = core_of(pairs, k)
    assert not once or core_of(once, k) == once


def test_minimum_counts_are_one_pass_each_users_first(make):
    rows = "a,x a,y a,z b,x b,y c,x d,z".split()
    path = make("a.csv", "user,item\n" + "\n".join(rows))
    assert load(path, min_user=2).users.labels.tolist() == ["a", "b"]
    data = load(path, min_user=2, min_item=2)  # z has lost d, so it goes; a and b are not looked at again
    assert data.items.labels.tolist() == ["x", "y"]
    assert "min_user=2 removed 2 of 7 interactions" in data.source["notes"]
    assert load(path, k_core=2).shape == (2, 2)


def test_a_filter_that_removes_nothing_says_nothing(make):
    data = load(make("a.csv", "user,item\na,x\na,y\nb,x\nb,y\n"), k_core=2)
    assert len(data) == 4
    assert not any("k_core" in note for note in data.source["notes"])
