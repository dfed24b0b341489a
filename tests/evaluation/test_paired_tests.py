"""Each test on the same arrays as scipy.stats, by enumeration, or by an example worked by hand."""

from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from corml.evaluation.significance.bootstrap import Bootstrap, intervals
from corml.evaluation.significance.effect_size import effect_size
from corml.evaluation.significance.holm import holm
from corml.evaluation.significance.sign_flip import DRAWS, sign_flip
from corml.evaluation.significance.signed_rank import wilcoxon
from corml.evaluation.significance.tests import compare, corrected


def differences(seed, users, *, steps=None):
    """Random differences; with steps, few different values, so that there are ties and zeros."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 1, users)
    return values if steps is None else np.round(values * steps) / steps


def enumerated(values, statistic):
    """Two-sided p of a statistic over all patterns of signs."""
    sizes = np.abs(values)
    observed = abs(statistic(values))
    patterns = [statistic(sizes * signs) for signs in product((-1, 1), repeat=len(values))]
    return np.mean([abs(value) >= observed - 1e-9 for value in patterns])


@given(seed=st.integers(0, 2**32), users=st.integers(1, 50))
def test_signed_ranks_of_few_users_are_those_of_scipys_exact_test(seed, users):
    values = differences(seed, users)
    assert wilcoxon(values) == pytest.approx(scipy.stats.wilcoxon(values, method="exact").pvalue, rel=1e-9)


@given(seed=st.integers(0, 2**32), users=st.integers(120, 400), steps=st.sampled_from([None, 2, 10]))
def test_signed_ranks_of_many_users_are_those_of_scipys_normal_approximation(seed, users, steps):
    values = differences(seed, users, steps=steps)
    assert wilcoxon(values) == pytest.approx(scipy.stats.wilcoxon(values, method="asymptotic").pvalue, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_signed_ranks_with_ties_are_those_of_all_patterns_of_signs(seed):
    values = differences(seed, 11, steps=2)
    values = values[values != 0]
    ranks = scipy.stats.rankdata(np.abs(values))
    expected = enumerated(values, lambda flipped: float((np.sign(flipped) * ranks).sum()))
    assert wilcoxon(values) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("steps", [None, 2])
def test_sign_flips_of_few_users_are_all_patterns(seed, steps):
    values = differences(seed, 10, steps=steps)
    assert sign_flip({"m": values})["m"] == pytest.approx(enumerated(values, np.sum))


def test_sign_flips_of_few_users_are_those_of_scipys_permutation_test():
    values = differences(3, 12)
    theirs = scipy.stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert sign_flip({"m": values})["m"] == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_sign_flips_agree_with_exact_enumeration(seed, monkeypatch):
    values = differences(seed, 14)
    exact = sign_flip({"m": values})["m"]
    monkeypatch.setattr("corml.evaluation.significance.sign_flip.EXACT", 0)
    drawn = sign_flip({"m": values}, seed=seed)["m"]
    assert drawn != exact
    assert abs(drawn - exact) < 4 * np.sqrt(exact * (1 - exact) / DRAWS) + 1 / DRAWS


def test_drawn_sign_flips_are_the_same_for_the_same_seed_and_never_zero():
    values, clear = differences(0, 300), np.random.default_rng(1).normal(5, 1, 300)
    together = sign_flip({"a": values, "b": clear}, seed=7)
    assert together == sign_flip({"a": values, "b": clear}, seed=7)
    assert together["a"] == sign_flip({"a": values}, seed=7)["a"]  # the draws do not depend on the metrics
    assert together["a"] != sign_flip({"a": values}, seed=8)["a"]
    assert together["b"] == 1 / (DRAWS + 1)


def test_blocks_of_draws_add_up(monkeypatch):
    values = differences(0, 100)
    whole = sign_flip({"m": values}, draws=997)["m"]
    monkeypatch.setattr("corml.evaluation.significance.sign_flip.BLOCK", 100 * 10)
    assert sign_flip({"m": values}, draws=997)["m"] == pytest.approx(whole, abs=0.1)


def test_where_nobody_differs_every_test_says_so():
    nobody = np.zeros(30)
    assert wilcoxon(nobody) == 1
    assert sign_flip({"m": nobody}) == {"m": 1.0}
    effect = effect_size(nobody)
    assert (effect.d_z, effect.rank_biserial, effect.ties) == (0, 0, 1)


def test_holm_on_a_worked_example():
    """Four tests at .01, .04, .03 and .005: 4 × .005, 3 × .01, 2 × .03, and .04 may not fall below that."""
    given_p = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    assert holm(given_p) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(holm(given_p)) == list(given_p)
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1, "b": 1}
    assert holm({}) == {}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_what_the_step_down_procedure_rejects(values):
    p = dict(enumerate(values))
    rejected = set()
    for step, key in enumerate(sorted(p, key=p.get)):
        if p[key] * (len(p) - step) >= 0.05:
            break
        rejected.add(key)
    assert {key for key, value in holm(p).items() if value < 0.05} == rejected


def test_a_family_of_true_hypotheses_raises_few_false_alarms():
    rng, alarms, families = np.random.default_rng(0), 0, 400
    for _ in range(families):
        p = {n: scipy.stats.ttest_1samp(rng.normal(size=40), 0).pvalue for n in range(8)}
        alarms += min(holm(p).values()) < 0.05
    assert alarms / families < 0.05 + 3 * np.sqrt(0.05 * 0.95 / families)


def test_effect_sizes_by_hand():
    effect = effect_size(np.array([3.0, 1.0, -2.0, 0.0]))
    assert effect.d_z == pytest.approx(0.5 / np.std([3, 1, -2, 0], ddof=1))
    assert effect.rank_biserial == pytest.approx((3 + 1 - 2) / 6)
    assert (effect.wins, effect.ties, effect.losses) == (0.5, 0.25, 0.25)
    assert effect_size(np.array([1.0, 1.0])).d_z == np.inf
    assert effect_size(np.array([-1.0])).d_z == -np.inf


@given(seed=st.integers(0, 2**32), users=st.integers(3, 100), steps=st.sampled_from([None, 2]))
def test_rank_biserial_follows_from_scipys_rank_sums(seed, users, steps):
    values = differences(seed, users, steps=steps)
    differing = values[values != 0]
    ranks = scipy.stats.rankdata(np.abs(differing))
    expected = (ranks * np.sign(differing)).sum() / ranks.sum() if len(differing) else 0
    assert effect_size(values).rank_biserial == pytest.approx(expected)


def test_intervals_of_differences_cover_the_truth_as_often_as_they_say():
    """Skewed differences with mean .2, 150 users: about 95 of 100 intervals must hold it."""
    rng, covered, studies = np.random.default_rng(5), 0, 500
    for number in range(studies):
        drawn = rng.exponential(1, 150) - 0.8
        low, high = intervals({"m": drawn}, Bootstrap(resamples=500, seed=number))["m"]
        covered += low <= 0.2 <= high
    assert 0.915 < covered / studies < 0.975


def test_comparisons_of_a_family_are_corrected_for_each_test_by_itself():
    rng = np.random.default_rng(2)
    base = rng.random(80)
    paired = {f"m{n}@10": (base + rng.normal(0.02 * n, 0.3, 80), base) for n in range(4)}
    plain = compare(paired, Bootstrap())
    family = corrected(plain)
    for test in ("t", "wilcoxon", "permutation"):
        expected = holm({label: getattr(plain[label].tests, test) for label in plain})
        assert {label: getattr(family[label].holm, test) for label in family} == expected
    for label in plain:
        a, b = paired[label]
        assert plain[label].p == plain[label].tests.t == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue)
        assert family[label].p == family[label].holm.t
        assert family[label].tests == plain[label].tests
