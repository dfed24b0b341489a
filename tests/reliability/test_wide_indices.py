"""More interactions than 32-bit indices can count: simulated by lowering the limit, nothing else changes."""

import numpy as np
import pytest

import corml
from corml.data import interactions
from support import random_interactions


@pytest.fixture
def pair(monkeypatch):
    """The same data twice: with 32-bit and with 64-bit indices."""

    def make():
        return random_interactions(5, users=200, items=40, mean=8)

    narrow = make()
    assert narrow.matrix.indices.dtype == np.int32
    monkeypatch.setattr(interactions, "LARGEST_INT32_NNZ", 1024)
    wide = make()
    assert len(wide) > 1024
    assert wide.matrix.indices.dtype == wide.matrix.indptr.dtype == np.int64
    return narrow, wide


MODELS = {
    "corml": lambda: corml.CoRML(rank=6),
    "in blocks, pruned": lambda: corml.CoRML(rank=6, partition_ratio=0.5, budget=1),
    "factored": lambda: corml.CoRML(rank=6, filter="factored", user_norm=0.5),
    "authors": lambda: corml.CoRML(rank=6, filter="authors"),
    "popularity": corml.Popularity,
}


def answers(model, data):
    known = model.recommend(list(data.users.labels), k=7, exclude=["i1", "i2"])
    limited = model.recommend(list(data.users.labels[:9]), k=7, only=[f"i{n}" for n in range(0, 40, 3)])
    typed = model.recommend(history=[["i3", "i5"], ["i0"], []], k=7)
    given = model.recommend(history=data, k=5)
    return [(found.items.tolist(), found.scores) for found in (known, limited, typed, given)]


def assert_same(one, other):
    for (items, scores), (other_items, other_scores) in zip(one, other, strict=True):
        assert items == other_items
        np.testing.assert_array_equal(scores, other_scores)


@pytest.mark.parametrize("name", MODELS)
def test_recommendations_do_not_depend_on_the_width_of_indices(pair, tmp_path, name):
    narrow, wide = pair
    expected = answers(MODELS[name]().fit(narrow), narrow)
    model = MODELS[name]().fit(wide)
    assert model.train_.indices.dtype == np.int64
    assert_same(answers(model, wide), expected)

    model.save(tmp_path / "wide.corml")
    back = corml.read_model(tmp_path / "wide.corml")
    assert back.train_.indices.dtype == np.int64
    assert_same(answers(back, wide), expected)


def test_explanations_and_distances_do_not_depend_on_the_width_of_indices(pair):
    narrow, wide = (corml.CoRML(rank=6).fit(data) for data in pair)
    one, other = (model.explain("u3", "i7") for model in (narrow, wide))
    assert one.history == other.history
    for part in ("h", "g"):
        np.testing.assert_array_equal(one.parts[part], other.parts[part])
    assert narrow.distance("u3", "i7") == wide.distance("u3", "i7")
    np.testing.assert_array_equal(narrow.metric_matrix(), wide.metric_matrix())
