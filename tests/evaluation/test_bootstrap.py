"""Intervals over users."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from corml.evaluation.significance import bootstrap
from corml.evaluation.significance.bootstrap import Bootstrap, intervals


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(0)
    return {"skewed": rng.exponential(size=400), "rare": (rng.random(400) < 0.1).astype(float)}


@given(seed=st.integers(0, 2**32), users=st.integers(2, 60))
def test_the_mean_lies_within(seed, users):
    column = np.random.default_rng(seed).random(users)
    low, high = intervals({"x": column}, Bootstrap(seed=seed))["x"]
    assert column.min() <= low <= column.mean() <= high <= column.max()


def test_agrees_with_scipy(values):
    ours = intervals(values, Bootstrap(resamples=4000, confidence=0.9))
    for label, column in values.items():
        theirs = scipy.stats.bootstrap(
            (column,), np.mean, n_resamples=4000, confidence_level=0.9, method="percentile", rng=1
        ).confidence_interval
        assert ours[label] == pytest.approx(tuple(theirs), abs=0.1 * (theirs.high - theirs.low))


def test_more_confidence_is_wider_and_more_users_narrower(values):
    column = values["skewed"]

    def width(users, **settings):
        low, high = intervals({"x": users}, Bootstrap(**settings))["x"]
        return high - low

    assert width(column, confidence=0.99) > width(column, confidence=0.8)
    assert width(np.tile(column, 9)) == pytest.approx(width(column) / 3, rel=0.15)


def test_all_metrics_see_the_same_draws(values):
    column = values["skewed"]
    spans = intervals({"x": column, "y": 2 * column}, Bootstrap())
    assert spans["y"] == pytest.approx(tuple(2 * end for end in spans["x"]))


def test_the_size_of_a_block_changes_nothing(values, monkeypatch):
    whole = intervals(values, Bootstrap())
    monkeypatch.setattr(bootstrap, "BLOCK", 1)
    assert intervals(values, Bootstrap())["skewed"] == pytest.approx(whole["skewed"], abs=1e-12)


def test_a_constant_has_no_width_and_nothing_has_no_interval():
    assert intervals({"x": np.full(5, 0.5)}, Bootstrap())["x"] == (0.5, 0.5)
    assert intervals({}, Bootstrap()) == {}
    assert intervals({"x": np.ones(2)}, Bootstrap(enabled=False)) == {}
