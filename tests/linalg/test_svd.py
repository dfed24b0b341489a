import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from corml.linalg import svd
from corml.linalg.svd import right_singular_vectors


@pytest.fixture(scope="module")
def matrix():
    return csr_array(random_array((900, 600), density=0.02, rng=np.random.default_rng(1)))


def test_it_spans_the_same_space_as_a_dense_decomposition(matrix):
    V, s = right_singular_vectors(matrix, 20)
    _, dense_s, dense_Vt = np.linalg.svd(matrix.toarray())
    np.testing.assert_allclose(s, dense_s[:20], rtol=1e-10)
    np.testing.assert_allclose(V @ V.T, dense_Vt[:20].T @ dense_Vt[:20], atol=1e-8)


def test_vectors_are_orthonormal_and_their_signs_are_fixed(matrix):
    V, s = right_singular_vectors(matrix, 20)
    np.testing.assert_allclose(V.T @ V, np.eye(20), atol=1e-10)
    assert (np.diff(s) <= 0).all()
    assert (V[np.abs(V).argmax(axis=0), range(20)] > 0).all()


def test_arpack_takes_over_when_propack_is_not_believed(matrix, monkeypatch):
    expected, _ = right_singular_vectors(matrix, 8)
    monkeypatch.setattr(svd, "RESIDUAL", 0.0)
    found, _ = right_singular_vectors(matrix, 8)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_a_rank_above_the_matrix_is_clamped_and_empty_directions_are_left_out():
    ones = csr_array(np.ones((5, 3)))
    V, s = right_singular_vectors(ones, 256)
    assert V.shape == (3, 1)
    np.testing.assert_allclose(V[:, 0], np.full(3, 1 / np.sqrt(3)))
    np.testing.assert_allclose(s, [np.sqrt(15)])


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (3, 4)])
def test_a_matrix_of_nothing_has_no_directions(shape):
    V, s = right_singular_vectors(csr_array(shape, dtype=np.float64), 4)
    assert V.shape == (shape[1], 0)
    assert s.shape == (0,)


def test_numbers_that_are_not_finite_are_refused(matrix, monkeypatch):
    monkeypatch.setattr(svd, "_sparse", lambda N, k: (np.full((600, k), np.nan), np.ones(k)))
    with pytest.raises(ArithmeticError, match="lower `rank`"):
        right_singular_vectors(matrix, 8)
