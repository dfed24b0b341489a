"""Beginning from an earlier model saves work and changes nothing else."""

import numpy as np
import pytest

import corml
from corml.errors import UsageError
from support import random_interactions

EXACT = {"solver": "sparse", "tol": 1e-6, "max_steps": 2000, "rank": 8}


@pytest.fixture(scope="module")
def data():
    return random_interactions(0, 300, 80, 8)


def test_the_same_problem_is_solved_at_once_without_new_singular_vectors(data, monkeypatch):
    first = corml.CoRML(**EXACT).fit(data)
    monkeypatch.setattr("corml.models.corml.fit.singular_vectors", None)
    again = corml.CoRML(**EXACT | {"tol": 1e-5}).fit(data, warm_start=first)
    assert again.fitted_.certificates[0].steps == 0
    np.testing.assert_allclose(again.H_.toarray(), first.H_.toarray(), atol=1e-6)


def test_another_setting_is_reached_sooner_and_is_the_same_answer(data):
    first = corml.CoRML(**EXACT, ridge=35.0).fit(data)
    cold = corml.CoRML(**EXACT, ridge=30.0).fit(data)
    warm = corml.CoRML(**EXACT, ridge=30.0).fit(data, warm_start=first)
    assert warm.fitted_.certificates[0].steps <= cold.fitted_.certificates[0].steps
    np.testing.assert_allclose(warm.H_.toarray(), cold.H_.toarray(), atol=1e-5 * cold.H_.data.max())


def test_data_that_grew_begin_from_the_items_they_share(data):
    some = data.where(np.arange(len(data)) % 10 > 0).compact()
    first = corml.CoRML(**EXACT).fit(some)
    cold, warm = corml.CoRML(**EXACT).fit(data), corml.CoRML(**EXACT).fit(data, warm_start=first)
    assert warm.fitted_.certificates[0].steps <= cold.fitted_.certificates[0].steps
    np.testing.assert_allclose(warm.H_.toarray(), cold.H_.toarray(), atol=1e-5 * cold.H_.data.max())


def test_a_higher_rank_needs_its_own_singular_vectors(data):
    first = corml.CoRML(**EXACT).fit(data)
    more = corml.CoRML(**EXACT | {"rank": 12}).fit(data, warm_start=first)
    fewer = corml.CoRML(**EXACT | {"rank": 4}).fit(data, warm_start=first)
    assert (more.V_.shape[1], fewer.V_.shape[1]) == (12, 4)


@pytest.mark.parametrize("norm", ["graph_user_norm", "graph_item_norm"])
def test_singular_vectors_of_another_graph_are_not_taken_over(data, norm):
    first = corml.CoRML(**EXACT, **{norm: 0.1}).fit(data)
    cold, warm = corml.CoRML(**EXACT).fit(data), corml.CoRML(**EXACT).fit(data, warm_start=first)
    np.testing.assert_array_equal(warm.V_, cold.V_)
    assert not np.allclose(first.V_, cold.V_, atol=1e-3)


def test_singular_vectors_are_not_taken_over_where_items_stand_in_another_order(data):
    users, items = data.users.labels[data.user][::-1], data.items.labels[data.item][::-1]
    turned = corml.Interactions.from_pairs(users, items)
    assert turned.fingerprint == data.fingerprint
    first, cold = corml.CoRML(**EXACT).fit(data), corml.CoRML(**EXACT).fit(turned)
    warm = corml.CoRML(**EXACT).fit(turned, warm_start=first)
    np.testing.assert_array_equal(warm.V_, cold.V_)
    np.testing.assert_allclose(warm.H_.toarray(), cold.H_.toarray(), atol=1e-5 * cold.H_.data.max())


def test_the_dense_solver_takes_over_only_the_filter(data):
    first = corml.CoRML(**EXACT).fit(data)
    dense = corml.CoRML(solver="admm", rank=8).fit(data, warm_start=first)
    plain = corml.CoRML(solver="admm", rank=8).fit(data)
    np.testing.assert_allclose(dense.H_.toarray(), plain.H_.toarray(), atol=1e-4 * plain.H_.data.max())


def test_only_a_fitted_model_is_a_warm_start(data):
    with pytest.raises(UsageError, match="warm_start must be a fitted CoRML"):
        corml.CoRML().fit(data, warm_start=corml.CoRML())
