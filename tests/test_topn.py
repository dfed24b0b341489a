"""Ranking in blocks: each band has its own users, and blocks are as large as memory and the processor like them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from corml.recommend.rank import top_k
from corml.recommend.score import BLOCK_BYTES, band_of, block_of


class Noted:
    """A model whose score of an item is the number of the user times the number of the item."""

    def __init__(self, *shape):
        self.shape, self.represented, self.columns, self.lists = shape, [], [], None

    def _block_shape(self, X):
        return self.shape

    def _represent(self, X, users):
        self.represented.append((X.shape[0], None if users is None else users.tolist()))
        return np.ones(X.shape[0]) if users is None else users

    def _top_k(self, users, k, seen, allowed):
        return self.lists and self.lists(users, k, seen, allowed)

    def score_block(self, users, columns):
        self.columns.append((columns.start, columns.stop))
        return np.outer(users, np.arange(columns.start, columns.stop)).astype(np.float32)


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "1")


def test_each_band_is_ranked_for_its_own_users():
    model, users = Noted(2, 4), np.array([1, -1, 2, -1, 3])
    columns, scores = top_k(model, csr_array((5, 6)), 2, users=users)
    assert model.represented == [(2, [1, -1]), (2, [2, -1]), (1, [3])]
    assert model.columns == [(0, 4), (4, 6)] * 3
    assert columns.tolist() == [[5, 4], [0, 1], [5, 4], [0, 1], [5, 4]]
    assert scores.tolist() == [[5, 4], [0, -1], [10, 8], [0, -1], [15, 12]]


def test_without_users_all_are_known_by_their_history_alone():
    model = Noted(3, 6)
    top_k(model, csr_array((5, 6)), 2)
    assert model.represented == [(3, None), (2, None)]


def test_what_was_seen_and_what_is_allowed_go_with_their_rows():
    seen, allowed = csr_array(np.eye(5, 6, k=1)), csr_array(np.ones((5, 6)) - np.eye(5, 6))
    columns, _ = top_k(Noted(2, 4), csr_array((5, 6)), 6, seen=seen, allowed=allowed)
    for row, listed in enumerate(columns):
        assert sorted(listed[listed >= 0]) == sorted({*range(6)} - {row, row + 1})


@pytest.mark.parametrize(
    ("shape", "block"),
    [
        ((10, 100), (10, 100)),
        ((0, 100), (1, 100)),
        ((10, 3), (10, 64)),
        ((1 << 20, 10_000), (1 << 16, 512)),  # 2¹⁶ rows of 2⁹ numbers of four bytes are 2²⁷ bytes
        ((1 << 20, 100), (1 << 16, 100)),
    ],
)
def test_a_block_has_as_many_rows_as_may_be_then_as_many_columns_as_fit(shape, block):
    assert block_of(*shape) == block
    height, width = block
    assert width == 64 or 4 * height * width <= BLOCK_BYTES


@pytest.mark.parametrize(
    ("shape", "band"),
    [
        ((10, 100), (10, 100)),
        ((100_000, 100), (512, 100)),
        ((100_000, 1 << 16), (128, 1 << 16)),  # 2⁷ rows of 2¹⁶ numbers of four bytes are 2²⁵ bytes
        ((100_000, 70_000), (96, 70_000)),
        ((100_000, 10_000_000), (32, 10_000_000)),
        ((0, 0), (1, 0)),
    ],
)
def test_a_band_has_whole_rows_32_to_512_in_steps_of_32(shape, band):
    assert band_of(*shape) == band


def test_a_model_that_ranks_by_itself_is_not_asked_for_scores():
    model, seen, reports = Noted(2, 4), csr_array(np.eye(5, 6, dtype=np.float32)), []

    def ranked(users, k, seen, allowed):
        return seen.toarray().argmax(axis=1)[:, None].repeat(k, axis=1), np.full((len(users), k), np.float32(k))

    model.lists = ranked
    columns, scores = top_k(
        model, csr_array((5, 6)), 3, seen=seen, progress=lambda stage, done, total: reports.append((done, total))
    )
    assert columns.tolist() == [[row] * 3 for row in range(5)]
    assert (scores == 3).all()
    assert model.columns == []
    assert reports == [(2, 6), (4, 6), (6, 6)]
