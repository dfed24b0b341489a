"""Two models, the same users."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from corml import CoRML, Popularity, evaluate
from corml.errors import UsageError
from corml.evaluation import Result
from corml.evaluation.significance.tests import LEVEL, is_significant, paired_t_test, verdict


def result(values, users=None, split="s", metric="ndcg@10", part="test"):
    labels = np.array(users if users is not None else [f"u{n}" for n in range(len(values))], dtype=object)
    values = np.asarray(values, dtype=float)
    return Result({metric: float(np.mean(values))}, {metric: values}, labels, split=split, part=part)


@given(seed=st.integers(0, 2**32), users=st.integers(2, 200))
def test_p_is_that_of_scipys_paired_t_test(seed, users):
    a, b = np.random.default_rng(seed).random((2, users))
    assert paired_t_test(a - b) == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue, rel=1e-9)


def test_difference_interval_and_p_of_two_models(split):
    corml, popular = (evaluate(m.fit(split.train), split) for m in (CoRML(max_steps=20, tol=0), Popularity()))
    compared = corml.compare(popular)
    assert set(compared) == set(corml.per_user)
    for label, comparison in compared.items():
        assert comparison.difference == pytest.approx(corml[label] - popular[label])
        assert comparison.interval[0] <= comparison.difference <= comparison.interval[1]
        assert comparison.users == len(corml.users)
        assert comparison.significant == (comparison.p < LEVEL)
    reverse = popular.compare(corml)["ndcg@10"]
    assert reverse.difference == pytest.approx(-compared["ndcg@10"].difference)
    assert reverse.p == pytest.approx(compared["ndcg@10"].p)


def test_users_are_paired_by_their_ids():
    one, other = result([1, 0, 0.5], ["a", "b", "c"]), result([0, 0.5, 1, 1], ["b", "c", "a", "d"])
    comparison = one.compare(other)["ndcg@10"]
    assert comparison.users == 3
    assert comparison.difference == 0
    assert comparison.interval == (0, 0)
    assert comparison.p == 1


def test_a_gain_of_every_user_is_no_chance_and_one_user_proves_nothing():
    assert result([1, 1, 1]).compare(result([0, 0, 0]))["ndcg@10"].p == 0
    assert result([1]).compare(result([0]))["ndcg@10"].p == 1


def test_what_only_rounding_makes_different_is_a_tie():
    values = np.linspace(0.01, 0.99, 60)
    averaged = (values + values + values) / 3
    assert (averaged != values).any()
    comparison = result(averaged).compare(result(values))["ndcg@10"]
    assert comparison.effect.ties == 1
    assert comparison.tests.wilcoxon == comparison.tests.t == comparison.tests.permutation == 1


def test_results_that_cannot_be_compared_are_refused():
    with pytest.raises(UsageError, match="same split"):
        result([1]).compare(result([1], split="other"))
    with pytest.raises(UsageError, match="same part"):
        result([1]).compare(result([1], part="valid"))
    with pytest.raises(UsageError, match="in common"):
        result([1]).compare(result([1], users=["other"]))
    with pytest.raises(UsageError, match="in common"):
        result([1]).compare(result([1], metric="mrr@10"))


def test_one_level_decides_what_is_significant_and_what_is_said():
    rng = np.random.default_rng(0)
    clear, unclear = rng.normal(1, 1, 50), rng.normal(0, 1, 50)
    assert is_significant(clear)
    assert not is_significant(unclear)
    assert "unlikely to be chance" in verdict(significant=True)
    assert "may be chance" in verdict(significant=False)
    assert all(f"{LEVEL:g}" in verdict(significant=significant) for significant in (True, False))
