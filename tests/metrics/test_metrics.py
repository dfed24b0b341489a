"""Every registered metric: its description, its range and invariances; and values by hand, by formula, by trec_eval."""

import dataclasses
import importlib
import inspect
import math
from math import log2, sqrt

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from corml import plugins
from corml.errors import UsageError
from corml.evaluation import metrics
from corml.evaluation.metrics import Lists, parse, parse_all

NAMES = metrics.names()
every_metric = pytest.mark.parametrize("name", NAMES)
seeds, lengths = st.integers(0, 2**32), st.integers(1, 30)


def value(text, lists):
    return parse(text)(lists)


def random_lists(seed, users=30, items=40, longest=20, short=False, most_relevant=25):
    """Random lists without repeats, random targets (at least one each) and skewed item degrees."""
    rng = np.random.default_rng(seed)
    ranked = np.stack([rng.permutation(items)[:longest] for _ in range(users)])
    if short:
        ranked[np.arange(longest) >= rng.integers(0, longest + 1, size=users)[:, None]] = -1
    targets = [rng.choice(items, size=rng.integers(1, most_relevant + 1), replace=False) for _ in range(users)]
    hits = np.stack([np.isin(row, held_out) for row, held_out in zip(ranked, targets, strict=True)])
    degrees = np.minimum(rng.geometric(0.2, size=items) - 1, users)
    train = np.stack([rng.permutation(users) < degree for degree in degrees], axis=1)
    return Lists(ranked, hits, np.array([len(t) for t in targets]), degrees, users, csr_array(train)), targets


@pytest.fixture(scope="module")
def by_hand():
    """Three users, four items (a b c d = 0 1 2 3), lists of three.

    user 0 is given a b c, targets b and c; user 1 is given d and a only, target d; user 2 is given b c d, target a.
    Four training users: all have a, two b, one of these c, none d.
    """
    return Lists(
        items=np.array([[0, 1, 2], [3, 0, -1], [1, 2, 3]]),
        hits=np.array([[False, True, True], [True, False, False], [False, False, False]]),
        relevant=np.array([2, 1, 1]),
        degrees=np.array([4, 2, 1, 0]),
        n_users=4,
        train=csr_array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]),
    )


# --- every metric ----------------------------------------------------------------------------------------------------


def test_the_usual_metrics_are_registered():
    usual = "ndcg mrr recall precision hit_rate map novelty self_information coverage gini popularity diversity"
    assert set(usual.split()) <= set(NAMES)


@every_metric
def test_a_metric_is_listed_by_its_file_and_described(name):
    module = importlib.import_module(plugins.own("corml.metrics")[name])
    assert name in module.__all__
    assert list(inspect.signature(getattr(module, name)).parameters) == ["lists", "k"]
    (about,) = [described for described in metrics.describe() if described.name == name]
    assert about.words.endswith(".")
    assert len(about.words) <= 120
    assert about.formula
    assert about.better.startswith(("higher, ", "lower, "))


@every_metric
@given(seed=seeds, k=lengths, short=st.booleans())
def test_a_metric_is_a_number_in_its_range_for_each_user_or_for_all(name, seed, k, short):
    lists, _ = random_lists(seed, users=5, short=short)
    result, top = value(f"{name}@{k}", lists), log2(5) if name == "self_information" else 1
    assert isinstance(result, float) or (result.shape == (5,) and result.dtype == np.float64)
    assert ((np.asarray(result) >= -1e-12) & (np.asarray(result) <= top + 1e-12)).all()  # and no NaN


def _arrays(lists):
    fields = {field.name: np.copy(getattr(lists, field.name)) for field in dataclasses.fields(lists)}
    return fields | {"train": lists.train.toarray()}


@every_metric
def test_a_metric_leaves_its_input_alone_and_repeats_itself(name):
    lists, _ = random_lists(3, short=True)
    before = _arrays(lists)
    np.testing.assert_array_equal(value(f"{name}@10", lists), value(f"{name}@10", lists))
    assert all(np.array_equal(before[field], values) for field, values in _arrays(lists).items() if field != "_shared")


@every_metric
def test_a_metric_takes_empty_lists_no_users_and_a_single_user(name):
    train = csr_array([[1, 0]])
    empty = Lists(np.full((2, 3), -1), np.zeros((2, 3), bool), np.array([0, 1]), np.array([1, 0]), 1, train)
    assert np.asarray(value(f"{name}@3", empty)) == pytest.approx(0)
    nobody = np.zeros((0, 3), int), np.zeros((0, 3), bool), np.zeros(0, int)
    assert np.size(value(f"{name}@3", Lists(*nobody, np.zeros(4, int), 0, csr_array((0, 4))))) in (0, 1)
    alone = Lists(np.array([[0, 1]]), np.array([[True, False]]), np.array([1]), np.array([1, 0]), 1, train)
    assert np.isfinite(value(f"{name}@3", alone)).all()


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("ndcg@3", [(1 / log2(3) + 1 / 2) / (1 + 1 / log2(3)), 1, 0]),
        ("ndcg@2", [(1 / log2(3)) / (1 + 1 / log2(3)), 1, 0]),
        ("ndcg@10", [(1 / log2(3) + 1 / 2) / (1 + 1 / log2(3)), 1, 0]),  # a list shorter than K
        ("ndcg@1", [0, 1, 0]),
        ("mrr@3", [1 / 2, 1, 0]),
        ("mrr@1", [0, 1, 0]),
        ("recall@3", [1, 1, 0]),
        ("recall@2", [1 / 2, 1, 0]),
        ("capped_recall@3", [1, 1, 0]),
        ("capped_recall@1", [0, 1, 0]),
        ("precision@3", [2 / 3, 1 / 3, 0]),
        ("precision@10", [0.2, 0.1, 0]),
        ("hit_rate@1", [0, 1, 0]),
        ("hit_rate@3", [1, 1, 0]),
        ("map@3", [(1 / 2 + 2 / 3) / 2, 1, 0]),
        ("map@1", [0, 1, 0]),
        # −log₂(d/4): a 0, b 1, c 2, d (no user, counts as one user) 2
        ("self_information@3", [1, 1, 5 / 3]),
        ("self_information@1", [0, 2, 1]),
        ("novelty@3", [1 / 2, 1 / 2, 5 / 6]),
        ("novelty@10", [1 / 2, 1 / 2, 5 / 6]),
        ("popularity@3", [7 / 12, 1 / 2, 1 / 4]),
        # cosine of users: a b 2/√8, a c 1/√4, b c 1/√2; d has none
        ("diversity@3", [1 - (2 / sqrt(8) + 1 / 2 + 1 / sqrt(2)) / 3, 1, 1 - 1 / sqrt(2) / 3]),
        ("diversity@2", [1 - 2 / sqrt(8), 1, 1 - 1 / sqrt(2)]),
        ("diversity@1", [0, 0, 0]),
        ("coverage@1", 3 / 4),  # a, d, b
        ("coverage@3", 1),
        ("gini@3", 0),  # each of the four items is in two lists
        ("gini@1", 3 / 12),  # c 0, a b d 1: Σ (2j − 5) c_j = −1 + 1 + 3 over 4 · 3
    ],
)
def test_values_worked_out_by_hand(by_hand, metric, expected):
    assert value(metric, by_hand) == pytest.approx(expected)


def test_diversity_needs_the_training_users_of_items(by_hand):
    with pytest.raises(UsageError, match="without training interactions"):
        value("diversity@3", dataclasses.replace(by_hand, train=None))


TWINS = {
    "ndcg": ir_measures.nDCG,
    "mrr": ir_measures.RR,
    "recall": ir_measures.R,
    "precision": ir_measures.P,
    "hit_rate": ir_measures.Success,
    "map": ir_measures.AP,
}


def trec_eval(measure, lists, targets):
    """Value of each user; trec_eval leaves out users without a list, who have 0."""
    qrels = [ir_measures.Qrel(str(u), str(i), 1) for u, held_out in enumerate(targets) for i in held_out]
    run = [
        ir_measures.ScoredDoc(str(user), str(item), float(-rank))
        for user, row in enumerate(lists.items)
        for rank, item in enumerate(row[row >= 0])
    ]
    values = np.zeros(len(targets))
    for measured in ir_measures.iter_calc([measure], qrels, run) if run else ():
        values[int(measured.query_id)] = measured.value
    return values


@pytest.mark.parametrize("name", TWINS)
@given(seed=seeds, k=st.integers(1, 25), short=st.booleans())
def test_accuracy_agrees_with_trec_eval_for_every_user(name, seed, k, short):
    """`map` divides by min(K, relevant) where trec_eval divides by `relevant`."""
    lists, targets = random_lists(seed, users=6, short=short)
    ours = value(f"{name}@{k}", lists)
    if name == "map":
        ours = ours * np.minimum(k, lists.relevant) / lists.relevant
    np.testing.assert_allclose(ours, trec_eval(TWINS[name] @ k, lists, targets), rtol=0, atol=1e-9)


@given(seed=seeds, k=st.integers(1, 25))
def test_rarity_and_catalogue_metrics_equal_their_formulas(seed, k):
    lists, _ = random_lists(seed, users=7, short=True)
    rows = [[item for item in row[:k] if item >= 0] for row in lists.items]
    for user, there in enumerate(rows):
        bits = sum(-math.log2(max(lists.degrees[item], 1) / 7) for item in there) / max(len(there), 1)
        share = sum(lists.degrees[item] / 7 for item in there) / max(len(there), 1)
        assert value(f"self_information@{k}", lists)[user] == pytest.approx(bits)
        assert value(f"novelty@{k}", lists)[user] == pytest.approx(bits / math.log2(7))
        assert value(f"popularity@{k}", lists)[user] == pytest.approx(share)
    shown = [item for row in rows for item in row]
    counts = [shown.count(item) for item in range(lists.n_items)]
    gaps = sum(abs(a - b) for a in counts for b in counts)  # Gini: half the mean difference over the mean
    assert value(f"coverage@{k}", lists) == pytest.approx(len(set(shown)) / lists.n_items)
    assert value(f"gini@{k}", lists) == pytest.approx(gaps / (2 * lists.n_items * max(sum(counts), 1)), abs=1e-12)


@given(seed=seeds, k=st.integers(1, 12), short=st.booleans())
def test_diversity_is_the_mean_distance_of_pairs(seed, k, short):
    lists, _ = random_lists(seed, users=6, short=short)
    X = lists.train.toarray().astype(int)
    expected = []
    for row in lists.items[:, :k]:
        items = row[row >= 0]
        cosines = [
            X[:, a] @ X[:, b] / max(np.sqrt(X[:, a].sum() * X[:, b].sum()), 1)
            for at, a in enumerate(items)
            for b in items[:at]
        ]
        expected.append(1 - np.mean(cosines) if cosines else 0)
    np.testing.assert_allclose(value(f"diversity@{k}", lists), expected, atol=1e-6)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["hit_rate@10", "HIT_RATE@10", " hit_rate@10 ", "hit_rate@010", "hit-rate@10"])
def test_spelling_does_not_matter(text):
    assert parse(text).label == "hit_rate@10"


@pytest.mark.parametrize(("text", "meant"), [("ndgc@10", "ndcg"), ("recal@5", "recall"), ("hitrate@5", "hit-rate")])
def test_an_unknown_metric_suggests_a_similar_one(text, meant):
    with pytest.raises(UsageError, match=f"did you mean '{meant}'"):
        parse(text)


@pytest.mark.parametrize(
    "text", ["", "@", "@5", "_lists@3", "__init__@3", "ranking@3", "os@1", "ndcg.py@1", "ndcg\n@1"]
)
def test_other_names_are_refused(text):
    with pytest.raises(UsageError, match="There is no metric"):
        parse(text)


@pytest.mark.parametrize("length", ["", "0", "-1", "1.5", "x", "10001", "9" * 50, "１０", "1e3", "10@5"])
def test_a_bad_length_is_refused_with_an_example(length):
    with pytest.raises(UsageError, match=r"from 1 to 10,000 .* write ndcg@10"):
        parse(f"ndcg@{length}")


def test_lengths_from_1_to_10_000_are_allowed_and_one_is_needed():
    assert [parse(text).k for text in ("ndcg@1", "ndcg@10000")] == [1, 10_000]
    with pytest.raises(UsageError, match="none was given"):
        parse("ndcg")


def test_several_metrics_keep_their_order_and_repeats_count_once():
    assert [metric.label for metric in parse_all(["mrr@5", "ndcg@10", "MRR@5"])] == ["mrr@5", "ndcg@10"]
    assert [metric.label for metric in parse_all("mrr@5")] == ["mrr@5"]
    with pytest.raises(UsageError, match="at least one"):
        parse_all([])
