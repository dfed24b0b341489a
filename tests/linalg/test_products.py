import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from corml.linalg.products import add_dense_product, add_sparse_product, dense_gram
from corml.linalg.sparse import column_degrees, normalised, row_degrees, rows_of, scaled


@pytest.fixture(scope="module")
def X():
    return csr_array(random_array((120, 30), density=0.1, rng=np.random.default_rng(2), dtype=np.float32))


def test_products_add_onto_what_is_there(X):
    S = csr_array(random_array((30, 40), density=0.2, rng=np.random.default_rng(4), dtype=np.float32))
    start = np.full((120, 40), 2.0, dtype=np.float32)
    by_sparse, by_dense = start.copy(), start.copy()
    add_sparse_product(X, S, by_sparse)
    add_dense_product(X, S.toarray(), by_dense)
    np.testing.assert_allclose(by_sparse, 2 + (X @ S).toarray(), rtol=1e-5)
    np.testing.assert_allclose(by_dense, by_sparse, rtol=1e-5)


def test_sums_below_the_noise_become_zero(X):
    S = csr_array(np.full((30, 5), 1e-9, dtype=np.float32))
    out = np.tile(np.float32([0, 1, np.nan, -1, -5e-8]), (120, 1))
    add_sparse_product(X, S, out, noise=1e-7)
    assert not out[:, [0, 4]].any()
    assert (out[:, 1] == 1).all()
    assert (out[:, 3] == -1).all()
    assert np.isnan(out[:, 2]).all()  # a fault is not noise


def test_the_gram_matrix_is_the_product(X):
    np.testing.assert_allclose(dense_gram(X, X, np.float64), (X.T @ X).toarray(), rtol=1e-6)


def test_degrees_are_at_least_one():
    X = csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    assert column_degrees(X).tolist() == [1, 1, 1]
    assert row_degrees(X).tolist() == [2, 1]
    assert rows_of(X).tolist() == [0, 0]


def test_scaling_is_multiplication_by_diagonals(X):
    rows, columns = np.arange(120.0), np.arange(30.0)
    expected = np.diag(rows) @ X.toarray() @ np.diag(columns)
    np.testing.assert_allclose(scaled(X, rows=rows, columns=columns).toarray(), expected, rtol=1e-6)


@pytest.mark.parametrize(("user_exponent", "item_exponent"), [(0.5, 0.5), (0.0, 0.4), (1.0, 0.0)])
def test_normalising_divides_by_powers_of_the_degrees(user_exponent, item_exponent):
    R = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    users, items = np.array([2.0, 1.0, 1.0]), np.array([2.0, 1.0, 1.0])  # no interaction counts as one
    expected = np.diag(users**-user_exponent) @ R @ np.diag(items**-item_exponent)
    N = normalised(csr_array(R), user_exponent, item_exponent)
    np.testing.assert_allclose(N.toarray(), expected, rtol=1e-15)
    assert N.dtype == np.float64


def test_the_usual_normalisation_has_a_largest_singular_value_of_one(X):
    R = csr_array((X != 0).astype(np.float64))
    assert np.linalg.norm(normalised(R).toarray(), 2) == pytest.approx(1)
