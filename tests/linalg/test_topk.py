import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from corml.linalg.topk import CHUNK, TopK


def brute_force(scores, k, seen, allowed):
    """Sort every row by score, then by column, leaving out what may not be listed."""
    lists = []
    for row, values in enumerate(scores):
        fine = [c for c in range(len(values)) if not seen[row, c] and (allowed is None or allowed[row, c])]
        lists.append(sorted(fine, key=lambda c: (-values[c], c))[:k])
    return lists


def pattern(mask):
    pattern = csr_array(mask.astype(np.float32))
    pattern.sort_indices()
    return pattern


@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 3 * CHUNK)),
    k=st.integers(1, 12),
    width=st.integers(1, 3 * CHUNK),
    limited=st.booleans(),
)
def test_blocks_give_what_sorting_everything_gives(seed, shape, k, width, limited):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-3, 4, size=shape).astype(np.float32)  # few values: many ties
    seen, allowed = rng.random(shape) < 0.3, (rng.random(shape) < 0.5 if limited else None)
    best = TopK(shape[0], k, pattern(seen), None if allowed is None else pattern(allowed))
    for first in range(0, shape[1], width):
        best.add(np.ascontiguousarray(scores[:, first : first + width]), first)
    expected = brute_force(scores, k, seen, allowed)
    assert [[c for c in row if c >= 0] for row in best.columns.tolist()] == expected


def test_short_lists_end_in_minus_one():
    best = TopK(1, 4, pattern(np.array([[True, False, False]])))
    best.add(np.array([[9.0, 1.0, 2.0]], dtype=np.float32), 0)
    assert best.columns.tolist() == [[2, 1, -1, -1]]
    assert best.scores.tolist() == [[2.0, 1.0, -np.inf, -np.inf]]


@pytest.mark.parametrize("allowed", [None, pattern(np.array([[True] * 6]))], ids=["any", "some"])
@pytest.mark.parametrize("k", [1, 3, 9])
@pytest.mark.parametrize("place", range(6))
def test_a_nan_score_stays_first_in_the_list(place, k, allowed):
    scores = np.arange(6, dtype=np.float32)[None]
    scores[0, place] = np.nan
    best = TopK(1, k, None, allowed)
    best.add(scores[:, :4], 0)
    best.add(scores[:, 4:], 4)
    assert best.columns[0, 0] == place
    assert np.isnan(best.scores[0, 0])


def test_nan_scores_of_excluded_columns_are_ignored():
    best = TopK(1, 3, pattern(np.array([[True, False, True]])))
    best.add(np.array([[np.nan, 1.0, np.nan]], dtype=np.float32), 0)
    assert best.columns.tolist() == [[1, -1, -1]]


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_number_of_threads_changes_nothing(threads, monkeypatch):
    scores = np.random.default_rng(3).normal(size=(300, 50)).astype(np.float32)
    expected = TopK(300, 7)
    expected.add(scores, 0)
    monkeypatch.setenv("CORML_THREADS", threads)
    lists = TopK(300, 7)
    lists.add(scores, 0)
    assert np.array_equal(lists.columns, expected.columns)
