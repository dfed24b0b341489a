import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, random_array, vstack

from corml.linalg import svd
from corml.linalg.svd import right_singular_vectors


@pytest.fixture(scope="module")
def matrix():
    return csr_array(random_array((900, 600), density=0.02, rng=np.random.default_rng(1)))


@pytest.fixture(scope="module")
def decomposed(matrix):
    """Both sides of a dense decomposition."""
    U, s, Vt = np.linalg.svd(matrix.toarray(), full_matrices=False)
    return {False: (s, Vt), True: (s, U.T)}


@pytest.mark.parametrize("transposed", [False, True], ids=["more rows", "more columns"])
@pytest.mark.parametrize("rank", [3, 20, 100])
def test_it_spans_the_same_space_as_a_dense_decomposition(matrix, decomposed, rank, transposed):
    N = matrix.T.tocsr() if transposed else matrix
    V, s = right_singular_vectors(N, rank)
    dense_s, dense_Vt = decomposed[transposed]
    np.testing.assert_allclose(s, dense_s[:rank], rtol=1e-6)
    overlap = np.linalg.svd(dense_Vt[: rank + 3] @ V)[1]  # the last of them may be nearly equal to the next
    np.testing.assert_allclose(overlap, 1, atol=1e-3)
    residual = np.linalg.norm(N.T @ (N @ V) - V * s**2, axis=0)
    assert (residual <= 2e-4 * s * s[0]).all()


def test_vectors_are_orthonormal_and_their_signs_are_fixed(matrix):
    for N in (matrix, matrix.T.tocsr()):
        V, s = right_singular_vectors(N, 20)
        np.testing.assert_allclose(V.T @ V, np.eye(20), atol=1e-5)
        assert (np.diff(s) <= 0).all()
        assert (V[np.abs(V).argmax(axis=0), range(20)] > 0).all()


@pytest.mark.parametrize("threads", ["1", "3"])
def test_equal_data_give_equal_vectors(matrix, threads, monkeypatch):
    expected, _ = right_singular_vectors(matrix, 20)
    monkeypatch.setenv("CORML_THREADS", threads)
    np.testing.assert_array_equal(right_singular_vectors(matrix, 20)[0], expected)


def test_zero_singular_values_are_dropped():
    rng = np.random.default_rng(0)
    parts = [csr_array((rng.random((90, 60)) < 0.5).astype(float)[:, :1] @ np.ones((1, 60))) for _ in range(9)]
    N = csr_array(block_diag(parts))  # nine groups, each with one direction
    V, s = right_singular_vectors(N, 30)
    assert V.shape == (540, 9)
    np.testing.assert_allclose(s, np.linalg.svd(N.toarray())[1][:9], rtol=1e-6)


def test_singular_values_below_rounding_are_dropped(matrix, monkeypatch):
    exact, _ = right_singular_vectors(matrix, 3)
    monkeypatch.setattr(svd, "right_vectors", lambda N, rank, tol: (exact, np.array([5.0, 5e-2, 5e-4])))
    V, s = right_singular_vectors(matrix, 3)
    assert s.tolist() == [5.0, 5e-2]
    np.testing.assert_array_equal(V, exact[:, :2])


def test_arpack_is_used_where_lanczos_does_not_converge(matrix, monkeypatch):
    expected, _ = right_singular_vectors(matrix, 8)
    monkeypatch.setattr(svd, "SWEEPS", 1)
    monkeypatch.setattr(svd, "RESIDUAL", 0.0)
    vectors, _ = right_singular_vectors(matrix, 8)
    np.testing.assert_allclose(vectors, expected, atol=1e-3)


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


def test_the_basis_stays_orthonormal_to_single_precision(matrix):
    normal, size = svd._Normal.of(matrix), 10 * svd.BLOCK
    Q, T = np.empty((normal.size, size + svd.BLOCK), dtype=np.float32, order="F"), np.zeros((size + 16, size + 16))
    start = np.random.default_rng(0).standard_normal((normal.size, svd.BLOCK)).astype(np.float32)
    Q[:, : svd.BLOCK] = np.linalg.qr(start)[0]
    svd._fill(normal, Q, T, 0, size)
    assert np.abs(Q.T @ Q - np.eye(Q.shape[1])).max() < 3e-6


@pytest.mark.parametrize("transposed", [False, True], ids=["more rows", "more columns"])
def test_a_basis_larger_than_the_number_of_directions_stays_orthonormal(transposed):
    """As on the train set of a split by time: some users have no pair there, some items no user."""
    distinct = random_array((170, 700), density=0.05, rng=np.random.default_rng(5))
    N = csr_array(block_diag([vstack([distinct] * 5), csr_array((300, 20))]))
    V, s = right_singular_vectors(N.T.tocsr() if transposed else N, 250)
    assert V.shape[1] == len(s) == 170
    np.testing.assert_allclose(s, np.linalg.svd(N.toarray())[1][:170], rtol=1e-6)
    np.testing.assert_allclose(V.T @ V, np.eye(170), atol=1e-5)


@pytest.mark.parametrize("change", ["wide", "mostly empty"])
def test_a_matrix_that_is_decomposed_in_another_way_has_the_same_directions(matrix, change, monkeypatch):
    N = matrix[:300]
    expected, s = right_singular_vectors(N, 20)
    if change == "wide":
        monkeypatch.setattr(svd, "WIDE", 500)
        V, found = right_singular_vectors(N, 20)
    else:
        wider = csr_array((N.data, 3 * N.indices, N.indptr), shape=(300, 3 * N.shape[1]))
        V, found = right_singular_vectors(wider, 20)
        assert not V[1::3].any()
        V = V[::3]
    np.testing.assert_allclose(found, s, rtol=1e-9)
    np.testing.assert_allclose(V, expected, atol=1e-8)
