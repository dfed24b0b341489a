"""GF-CF: scores are the published formula, by either route and in pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corml
from corml.errors import ModelFileError, UsageError
from corml.models.linear import gf_cf
from corml.models.linear.gf_cf import GFCF
from corml.models.saved.model_file import save_model
from support import random_interactions, with_arrays


def published(X, rank, alpha):
    """R NᵀN + α R D^{-1/2} V Vᵀ D^{1/2}, written out with dense arrays."""
    R = X.toarray().astype(np.float64)
    d_u, d_i = (np.maximum(R.sum(axis=axis), 1) for axis in (1, 0))
    N = R / np.sqrt(d_u)[:, None] / np.sqrt(d_i)
    _, _, Vt = np.linalg.svd(N, full_matrices=False)
    V = Vt[:rank].T
    return R @ N.T @ N + alpha * (R / np.sqrt(d_i)) @ V @ V.T * np.sqrt(d_i)


@given(
    seed=st.integers(0, 40), rank=st.integers(1, 12), alpha=st.floats(0, 2), route=st.sampled_from(["users", "pairs"])
)
def test_scores_are_the_published_formula(seed, rank, alpha, route):
    data = random_interactions(seed)
    model = GFCF(rank=rank, alpha=alpha, route=route).fit(data)
    found = model.score_block(data.matrix, slice(0, len(data.items)))
    np.testing.assert_allclose(found, published(data.matrix, rank, alpha), atol=1e-4)


@pytest.mark.parametrize("route", ["users", "pairs"])
def test_what_items_add_is_what_they_score(route, data):
    model = GFCF(rank=5, route=route).fit(data)
    history = list(data.items.labels[[1, 4, 6]])
    told = model.explain(history, data.items.labels[9])
    assert set(told.parts) == {"linear", "low-pass"}
    assert told.score == pytest.approx(float(model.scores([history])[0, 9]), abs=1e-5)


def test_a_model_that_scores_through_users_needs_its_history(data, tmp_path):
    with pytest.raises(UsageError, match="fit with route='pairs'"):
        GFCF(rank=5, route="users").fit(data).save(tmp_path / "model.corml", history=False)
    kept = GFCF(rank=5, route="pairs").fit(data)
    kept.save(tmp_path / "model.corml", history=False)
    read = corml.read_model(tmp_path / "model.corml")
    assert len(read.users_) == 0
    np.testing.assert_array_equal(read.scores([["i1", "i2"]]), kept.scores([["i1", "i2"]]))


def test_a_file_that_lost_what_it_scores_through_is_refused(data, tmp_path):
    model = with_arrays(GFCF(rank=5, route="pairs").fit(data), pairs=None)
    save_model(model, tmp_path / "model.corml", history=False, evaluation={})
    with pytest.raises(ModelFileError, match="which it does not have"):
        corml.read_model(tmp_path / "model.corml")


def test_pairs_are_kept_where_users_share_most_items():
    assert GFCF().fit(random_interactions(0, 400, 20, mean=12)).settings_.route == "pairs"
    assert GFCF().fit(random_interactions(0, 40, 900, mean=3)).settings_.route == "users"


def test_without_its_weight_the_low_pass_filter_is_not_made(data):
    assert GFCF(alpha=0).fit(data).V_.shape == (25, 0)


@pytest.mark.parametrize(("users", "rank"), [(10, 16), (3200, 100), (50_000, 256)])
def test_the_rank_left_to_the_data_grows_with_the_users(users, rank):
    assert gf_cf.suggested_rank(corml.Interactions.from_pairs(range(users), range(users)).matrix) == rank
