"""Two models, the same users."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from corml import CoRML, Popularity, evaluate
from corml.errors import UsageError
from corml.evaluation import Result
from corml.evaluation.significance import paired_t_test


def result(values, users=None, split="s", metric="ndcg@10"):
    labels = np.array(users if users is not None else [f"u{n}" for n in range(len(values))], dtype=object)
    return Result({metric: float(np.mean(values))}, {metric: np.asarray(values, dtype=float)}, labels, split=split)


@given(seed=st.integers(0, 2**32), users=st.integers(2, 200))
def test_p_is_that_of_scipys_paired_t_test(seed, users):
    a, b = np.random.default_rng(seed).random((2, users))
    assert paired_t_test(a - b) == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue, rel=1e-9)


def test_difference_interval_and_p_of_two_models(split):
    corml, popular = (evaluate(m.fit(split.train), split) for m in (CoRML(max_steps=20, tol=0), Popularity()))
    found = corml.compare(popular)
    assert set(found) == set(corml.per_user)
    for label, one in found.items():
        assert one.difference == pytest.approx(corml[label] - popular[label])
        assert one.interval[0] <= one.difference <= one.interval[1]
        assert one.users == len(corml.users)
    turned = popular.compare(corml)["ndcg@10"]
    assert turned.difference == pytest.approx(-found["ndcg@10"].difference)
    assert turned.p == pytest.approx(found["ndcg@10"].p)


def test_users_are_paired_by_their_ids():
    one, other = result([1, 0, 0.5], ["a", "b", "c"]), result([0, 0.5, 1, 1], ["b", "c", "a", "d"])
    found = one.compare(other)["ndcg@10"]
    assert found.users == 3
    assert found.difference == 0
    assert found.interval == (0, 0)
    assert found.p == 1


def test_a_gain_that_everyone_has_is_no_chance_and_one_user_proves_nothing():
    assert result([1, 1, 1]).compare(result([0, 0, 0]))["ndcg@10"].p == 0
    assert result([1]).compare(result([0]))["ndcg@10"].p == 1


def test_results_that_cannot_be_compared_are_refused():
    with pytest.raises(UsageError, match="same split"):
        result([1]).compare(result([1], split="other"))
    with pytest.raises(UsageError, match="in common"):
        result([1]).compare(result([1], users=["stranger"]))
    with pytest.raises(UsageError, match="in common"):
        result([1]).compare(result([1], metric="mrr@10"))
