"""Paired tests, effect sizes and intervals: against scipy.stats, by enumeration, or by hand."""

from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from corml import CoRML, Popularity, evaluate
from corml.errors import UsageError
from corml.evaluation import Result, resampling
from corml.evaluation.resampling import DRAWS, Bootstrap, intervals, sign_flip
from corml.evaluation.significance import (
    LEVEL,
    compare,
    corrected,
    effect_size,
    holm,
    paired_t_test,
    wilcoxon,
)

seeds = st.integers(0, 2**32)


def differences(seed, users, *, steps=None):
    """Random differences; with steps, few different values, so that there are ties and zeros."""
    values = np.random.default_rng(seed).normal(0.1, 1, users)
    return values if steps is None else np.round(values * steps) / steps


def enumerated(values, statistic):
    """Two-sided p of a statistic over all patterns of signs."""
    observed = abs(statistic(values))
    patterns = [statistic(np.abs(values) * signs) for signs in product((-1, 1), repeat=len(values))]
    return np.mean([abs(value) >= observed - 1e-9 for value in patterns])


# --- tests -----------------------------------------------------------------------------------------------------------


@given(seed=seeds, users=st.integers(2, 200))
def test_p_equals_scipys_paired_t_test(seed, users):
    a, b = np.random.default_rng(seed).random((2, users))
    assert paired_t_test(a - b) == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue, rel=1e-9)


@given(seed=seeds, users=st.integers(1, 50))
def test_wilcoxon_of_few_users_equals_scipys_exact_test(seed, users):
    values = differences(seed, users)
    assert wilcoxon(values) == pytest.approx(scipy.stats.wilcoxon(values, method="exact").pvalue, rel=1e-9)


@given(seed=seeds, users=st.integers(120, 400), steps=st.sampled_from([None, 2, 10]))
def test_wilcoxon_of_many_users_equals_scipys_normal_approximation(seed, users, steps):
    values = differences(seed, users, steps=steps)
    assert wilcoxon(values) == pytest.approx(scipy.stats.wilcoxon(values, method="asymptotic").pvalue, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("steps", [None, 2])
def test_exact_tests_enumerate_all_patterns_of_signs(seed, steps):
    values = differences(seed, 10, steps=steps)
    values = values[values != 0]
    ranks = scipy.stats.rankdata(np.abs(values))
    expected = enumerated(values, lambda flipped: float((np.sign(flipped) * ranks).sum()))
    assert wilcoxon(values) == pytest.approx(expected)
    assert sign_flip({"m": values})["m"] == pytest.approx(enumerated(values, np.sum))


@pytest.mark.parametrize("seed", range(4))
def test_drawn_sign_flips_agree_with_exact_enumeration(seed, monkeypatch):
    values = differences(seed, 14)
    exact = sign_flip({"m": values})["m"]
    monkeypatch.setattr(resampling, "EXACT", 0)
    drawn = sign_flip({"m": values}, seed=seed)["m"]
    assert drawn != exact
    assert abs(drawn - exact) < 4 * np.sqrt(exact * (1 - exact) / DRAWS) + 1 / DRAWS


def test_drawn_sign_flips_depend_on_the_seed_alone_and_are_never_zero(monkeypatch):
    values, clear = differences(0, 300), np.random.default_rng(1).normal(5, 1, 300)
    together = sign_flip({"a": values, "b": clear}, seed=7)
    assert together == sign_flip({"a": values, "b": clear}, seed=7)
    assert together["a"] == sign_flip({"a": values}, seed=7)["a"]  # the draws do not depend on the metrics
    assert together["a"] != sign_flip({"a": values}, seed=8)["a"]
    assert together["b"] == 1 / (DRAWS + 1)
    monkeypatch.setattr(resampling, "BLOCK", 300 * 10)
    assert sign_flip({"a": values}, seed=7)["a"] == pytest.approx(together["a"], abs=0.1)


def test_without_a_difference_every_test_gives_one():
    same = np.zeros(30)
    assert wilcoxon(same) == paired_t_test(same) == 1
    assert sign_flip({"m": same}) == {"m": 1.0}
    effect = effect_size(same)
    assert (effect.d_z, effect.rank_biserial, effect.ties) == (0, 0, 1)


def test_holm_on_a_worked_example():
    """Four tests at .01, .04, .03 and .005: 4 × .005, 3 × .01, 2 × .03, and .04 may not fall below that."""
    given_p = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    assert holm(given_p) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(holm(given_p)) == list(given_p)
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1, "b": 1}
    assert holm({}) == {}


def test_effect_sizes_by_hand():
    effect = effect_size(np.array([3.0, 1.0, -2.0, 0.0]))
    assert effect.d_z == pytest.approx(0.5 / np.std([3, 1, -2, 0], ddof=1))
    assert effect.rank_biserial == pytest.approx((3 + 1 - 2) / 6)
    assert (effect.wins, effect.ties, effect.losses) == (0.5, 0.25, 0.25)
    assert effect_size(np.array([1.0, 1.0])).d_z == np.inf
    assert effect_size(np.array([-1.0])).d_z == -np.inf


@given(seed=seeds, users=st.integers(3, 100), steps=st.sampled_from([None, 2]))
def test_rank_biserial_follows_from_scipys_rank_sums(seed, users, steps):
    differing = (values := differences(seed, users, steps=steps))[values != 0]
    ranks = scipy.stats.rankdata(np.abs(differing))
    expected = (ranks * np.sign(differing)).sum() / ranks.sum() if len(differing) else 0
    assert effect_size(values).rank_biserial == pytest.approx(expected)


def test_a_family_of_comparisons_is_corrected_separately_for_each_test():
    rng = np.random.default_rng(2)
    base = rng.random(80)
    paired = {f"m{n}@10": (base + rng.normal(0.02 * n, 0.3, 80), base) for n in range(4)}
    plain = compare(paired, Bootstrap())
    family = corrected(plain)
    for test in ("t", "wilcoxon", "permutation"):
        expected = holm({label: getattr(plain[label].tests, test) for label in plain})
        assert {label: getattr(family[label].holm, test) for label in family} == expected
    for label, (a, b) in paired.items():
        assert plain[label].p == plain[label].tests.t == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue)
        assert family[label].p == family[label].holm.t
        assert family[label].tests == plain[label].tests


# --- intervals -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(0)
    return {"skewed": rng.exponential(size=400), "rare": (rng.random(400) < 0.1).astype(float)}


def test_intervals_agree_with_scipy_whatever_the_size_of_a_block(values, monkeypatch):
    ours = intervals(values, Bootstrap(resamples=4000, confidence=0.9))
    for label, column in values.items():
        theirs = scipy.stats.bootstrap(
            (column,), np.mean, n_resamples=4000, confidence_level=0.9, method="percentile", rng=1
        ).confidence_interval
        assert ours[label] == pytest.approx(tuple(theirs), abs=0.1 * (theirs.high - theirs.low))
    monkeypatch.setattr(resampling, "BLOCK", 1)
    small = intervals(values, Bootstrap(resamples=4000, confidence=0.9))
    assert small["skewed"] == pytest.approx(ours["skewed"], abs=1e-12)


def test_more_users_have_narrower_intervals_and_all_metrics_see_the_same_draws(values):
    column = values["skewed"]
    spans = intervals({"x": column, "y": 2 * column}, Bootstrap())
    assert spans["y"] == pytest.approx(tuple(2 * end for end in spans["x"]))
    narrow = intervals({"x": np.tile(column, 9)}, Bootstrap())["x"]
    assert narrow[1] - narrow[0] == pytest.approx((spans["x"][1] - spans["x"][0]) / 3, rel=0.15)


def test_a_constant_has_no_width_and_no_metric_has_no_interval():
    assert intervals({"x": np.full(5, 0.5)}, Bootstrap())["x"] == (0.5, 0.5)
    assert intervals({}, Bootstrap()) == intervals({"x": np.ones(2)}, Bootstrap(enabled=False)) == {}


# --- results ---------------------------------------------------------------------------------------------------------


def result(values, users=None, split="s", metric="ndcg@10", part="test"):
    labels = np.array(users if users is not None else [f"u{n}" for n in range(len(values))], dtype=object)
    values = np.asarray(values, dtype=float)
    return Result({metric: float(np.mean(values))}, {metric: values}, labels, split=split, part=part)


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
    assert (comparison.users, comparison.difference, comparison.interval, comparison.p) == (3, 0, (0, 0), 1)


def test_a_gain_of_every_user_is_certain_and_one_user_proves_nothing():
    assert result([1, 1, 1]).compare(result([0, 0, 0]))["ndcg@10"].p == 0
    assert result([1]).compare(result([0]))["ndcg@10"].p == 1


def test_differences_from_rounding_are_ties():
    values = np.linspace(0.01, 0.99, 60)
    averaged = (values + values + values) / 3
    assert (averaged != values).any()
    comparison = result(averaged).compare(result(values))["ndcg@10"]
    assert comparison.effect.ties == 1
    assert comparison.tests.wilcoxon == comparison.tests.t == comparison.tests.permutation == 1


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"split": "other"}, "same split"),
        ({"part": "valid"}, "same part"),
        ({"users": ["other"]}, "in common"),
        ({"metric": "mrr@10"}, "in common"),
    ],
)
def test_results_that_cannot_be_compared_are_refused(other, message):
    with pytest.raises(UsageError, match=message):
        result([1]).compare(result([1], **other))
