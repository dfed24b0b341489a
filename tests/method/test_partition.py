import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import corml
from corml.errors import SettingError
from corml.models.corml.dense import bisect, partition
from support import random_interactions


@given(seed=st.integers(0, 500), ratio=st.floats(0.05, 1.0), density=st.floats(0.0, 0.5))
def test_blocks_are_a_partition_and_small_enough(seed, ratio, density):
    rng = np.random.default_rng(seed)
    R = csr_array((rng.random((12, 20)) < density).astype(np.float32))
    blocks = partition(R, ratio)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(20))
    assert max(map(len, blocks)) <= max(1, int(ratio * 20))
    assert all((np.diff(block) > 0).all() for block in blocks)


@pytest.mark.parametrize("R", [np.zeros((4, 8)), np.ones((4, 8)), np.eye(8)], ids=["nothing", "identical", "strangers"])
def test_items_that_signs_do_not_divide_are_halved(R):
    left, right = bisect(csr_array(R), np.arange(8))
    assert len(left)
    assert len(right)
    assert len(partition(csr_array(R), 0.25)) >= 4


def test_disconnected_groups_become_blocks():
    R = np.zeros((20, 10))
    R[:10, :5] = R[10:, 5:] = np.random.default_rng(0).random((10, 5)) < 0.7
    blocks = partition(csr_array(R), 0.5)
    assert sorted(map(tuple, blocks)) == [tuple(range(5)), tuple(range(5, 10))]


def test_disconnected_groups_have_the_same_h_in_one_block_as_in_two():
    first, second = random_interactions(1, 60, 12), random_interactions(2, 60, 12)
    users = [f"a{u}" for u in first.user] + [f"b{u}" for u in second.user]
    items = [f"a{i}" for i in first.item] + [f"b{i}" for i in second.item]
    data = corml.Interactions.from_pairs(users, items)
    exact = {"rank": 4, "tol": 1e-9, "max_steps": 20_000, "precision": "double", "ridge": 5.0, "user_balance": 0.0}
    whole = corml.CoRML(**exact).fit(data)
    blocks = corml.CoRML(**exact, partition_ratio=0.5).fit(data)
    assert len(blocks.fitted_.certificates) == 2
    np.testing.assert_allclose(blocks.H_.toarray(), whole.H_.toarray(), atol=1e-6)


def test_blocks_keep_h_between_their_own_items(data):
    model = corml.CoRML(partition_ratio=0.4).fit(data)
    block_of = np.empty(len(data.items), dtype=int)
    for number, block in enumerate(partition(data.matrix, 0.4)):
        block_of[block] = number
    rows, columns = model.H_.nonzero()
    assert len(rows)
    assert (block_of[rows] == block_of[columns]).all()


def test_blocks_of_less_than_an_item_are_refused(data):
    with pytest.raises(SettingError, match="partition_ratio must be above 1/items"):
        corml.CoRML(partition_ratio=0.01).fit(data)
