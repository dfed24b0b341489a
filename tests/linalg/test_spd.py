import tracemalloc

import numpy as np
import pytest

from corml.errors import NumericalError
from corml.linalg import spd
from corml.linalg.spd import spd_inverse


def definite(n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 5)).astype(dtype)
    return A @ A.T + np.eye(n, dtype=dtype)


@pytest.mark.parametrize("n", [1, 2, 37, 300])
@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 1e-3), (np.float64, 1e-9)])
def test_the_inverse_is_an_inverse_and_symmetric(n, dtype, close, monkeypatch):
    monkeypatch.setattr(spd, "TILE", 64)
    M = definite(n, dtype)
    X = spd_inverse(M.copy())
    np.testing.assert_allclose(X @ M, np.eye(n), atol=close)
    assert np.array_equal(X, X.T)


def test_it_works_in_place():
    M = definite(20)
    assert spd_inverse(M) is M


@pytest.mark.parametrize("panel", [7, 30, 64, 99])
def test_panels_agree_with_one_piece(panel, monkeypatch):
    M = definite(100)
    whole = spd_inverse(M.copy())
    monkeypatch.setattr(spd, "LARGEST_LAPACK", panel)
    monkeypatch.setattr(spd, "TILE", 32)
    inverse = spd_inverse(M.copy())
    np.testing.assert_allclose(inverse, whole, atol=1e-10)
    assert np.array_equal(inverse, inverse.T)


def test_panels_lose_no_more_to_rounding_than_one_piece(monkeypatch):
    M = definite(400, np.float32)
    exact = np.linalg.inv(M.astype(np.float64))
    whole = np.abs(spd_inverse(M.copy()) - exact).max()
    monkeypatch.setattr(spd, "LARGEST_LAPACK", 64)
    assert np.abs(spd_inverse(M.copy()) - exact).max() <= 5 * whole


def test_panels_work_in_place_with_little_beside(monkeypatch):
    monkeypatch.setattr(spd, "LARGEST_LAPACK", 64)
    monkeypatch.setattr(spd, "TILE", 64)
    M = definite(1500, np.float32)
    tracemalloc.start()
    inverse = spd_inverse(M)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert inverse is M
    assert peak < 0.3 * M.nbytes


def test_a_nearly_definite_matrix_gets_jitter_once(monkeypatch):
    monkeypatch.setattr(spd, "TILE", 3)
    v = np.arange(1.0, 9.0)
    M = np.outer(v, v) / 10
    X = spd_inverse(M.copy())
    assert np.isfinite(X).all()
    jittered = M + spd.JITTER * np.diag(M).mean() * np.eye(8)
    np.testing.assert_allclose(X @ jittered, np.eye(8), atol=1e-6)


@pytest.mark.parametrize("largest", [2, 30_000])
def test_an_indefinite_matrix_is_refused_with_advice(largest, monkeypatch):
    monkeypatch.setattr(spd, "LARGEST_LAPACK", largest)
    with pytest.raises(NumericalError, match="raise `ridge`"):
        spd_inverse(np.diag([1.0, -5.0, 1.0]))
