import numpy as np
import pytest

from corml.linalg.sparse import normalised
from corml.models.corml.problem import filter_block, shaped, singular_vectors, unshaped
from support import random_interactions


@pytest.fixture(scope="module")
def V():
    return singular_vectors(random_interactions(5, 80, 30).matrix, 6)


def test_g_is_symmetric_hollow_and_where_clipped_not_negative(V):
    items = np.arange(30)
    G = filter_block(V, items, items, clip=True)
    assert np.allclose(G, G.T)
    assert not np.diag(G).any()
    assert (G >= 0).all()
    factored = filter_block(V, items, items, clip=False)
    assert (factored < 0).any()
    np.testing.assert_array_equal(np.maximum(factored, 0), G)


def test_a_block_of_g_is_a_piece_of_the_whole(V):
    items = np.arange(30)
    whole = filter_block(V, items, items, clip=True)
    rows, columns = np.array([2, 5, 9]), np.array([0, 5, 28])
    np.testing.assert_allclose(filter_block(V, rows, columns, clip=True), whole[np.ix_(rows, columns)], atol=1e-15)


@pytest.mark.parametrize("norms", [(0.5, 0.5), (0.4, 0.4), (0.1, 0.3), (0.0, 1.0)])
def test_v_are_the_singular_vectors_of_the_graph_with_these_exponents(norms):
    R = random_interactions(5, 80, 30).matrix
    dense, (a, b) = R.toarray().astype(float), norms
    graph = dense * np.maximum(dense.sum(1), 1)[:, None] ** -a * np.maximum(dense.sum(0), 1) ** -b
    expected = np.linalg.svd(graph)[2][:6]
    found = singular_vectors(R, 6, norms)
    np.testing.assert_allclose(found @ found.T, expected.T @ expected, atol=1e-6)


def test_an_item_without_users_has_a_zero_row_in_v():
    R = random_interactions(4, 60, 25).matrix.tolil()
    R[:, 3] = 0
    assert not singular_vectors(R.tocsr(), 16)[3].any()


def test_a_filter_with_a_shape_weighs_directions_by_their_singular_values(data):
    R, norms = data.matrix, (0.4, 0.4)
    V = singular_vectors(R, 6, norms)
    sigma = np.linalg.svd(normalised(R, *norms).toarray(), compute_uv=False)[:6]
    lengths = np.linalg.norm(shaped(V, R, norms, 1.5), axis=0) ** 2
    assert lengths == pytest.approx((sigma**1.5) / (sigma**1.5).mean(), rel=1e-4)
    assert shaped(V, R, norms, 0.0) is V
    assert np.abs(unshaped(shaped(V, R, norms, 1.5)) - V).max() < 1e-6
