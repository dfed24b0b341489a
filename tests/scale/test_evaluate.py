"""A split of a store is evaluated some users at a time, with the figures of the split in memory, to the last bit."""

import warnings

import numpy as np
import pytest

import corml
from corml.errors import DataError, LeakageWarning, UsageError
from corml.evaluation import sharded
from corml.evaluation.metrics import Metric

METRICS = ["ndcg@10", "mrr@5", "recall@20", "novelty@10", "diversity@5", "coverage@10", "gini@10", "coverage@20"]
MODELS = {
    "corml": lambda: corml.CoRML(rank=8, max_steps=20),
    "clipped": lambda: corml.CoRML(rank=8, max_steps=20, filter="elementwise"),
    "ease": lambda: corml.models.make("ease", {}),
    "popularity": corml.Popularity,
}


@pytest.fixture(scope="module")
def fitted(parts_of):
    """A model fitted on the train part of a split, each once."""
    known = {}

    def fit(name, how):
        if (name, how) not in known:
            known[name, how] = MODELS[name]().fit(parts_of(how).train.interactions())
        return known[name, how]

    return fit


def assert_same(one, other):
    assert one.means == other.means
    assert one.intervals == other.intervals
    assert one.notes == other.notes
    assert one.users.tolist() == other.users.tolist()
    assert one.per_user.keys() == other.per_user.keys()
    for label, values in one.per_user.items():
        np.testing.assert_array_equal(values, other.per_user[label])


@pytest.mark.parametrize("at_once", [1 << 14, 100])
@pytest.mark.parametrize("how", ["ratio", "new-users", "temporal"])
@pytest.mark.parametrize("name", MODELS)
def test_figures_are_those_of_the_split_in_memory(fitted, parts_of, monkeypatch, name, how, at_once):
    monkeypatch.setattr(sharded, "AT_ONCE", at_once)
    model, split = fitted(name, how), parts_of(how)
    whole = split.interactions()
    for part in ("test", "valid"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made, expected = (corml.evaluate(model, one, METRICS, part=part) for one in (split, whole))
        assert_same(made, expected)


@pytest.mark.parametrize("rules", [{"diversity": 0.5}, {"boost": {"i3": 2.0}}], ids=str)
def test_so_are_those_of_lists_by_rules(fitted, parts_of, rules):
    model, split = fitted("corml", "ratio"), parts_of("ratio")
    chosen = corml.ListRules(**rules)
    made = corml.evaluate(model, split, METRICS, rules=chosen)
    assert_same(made, corml.evaluate(model, split.interactions(), METRICS, rules=chosen))
    assert made.rules == str(chosen)


def test_so_are_those_of_a_model_with_another_catalogue(in_memory, parts_of):
    known = in_memory.where(in_memory.item % 3 > 0).compact()
    model, split = corml.Popularity().fit(known), parts_of("ratio")
    with pytest.warns(LeakageWarning):
        made = corml.evaluate(model, split, METRICS)
    with pytest.warns(LeakageWarning):
        expected = corml.evaluate(model, split.interactions(), METRICS)
    assert made.notes["targets not in the catalogue"] > 0
    assert_same(made, expected)


def test_users_are_ranked_in_the_blocks_of_all_together(fitted, parts_of, monkeypatch):
    """Scores may differ in their last bits if a product has another number of rows."""
    model, split, heights = fitted("ease", "ratio"), parts_of("ratio"), {}
    monkeypatch.setenv("CORML_THREADS", "1")  # blocks in their order
    monkeypatch.setattr(sharded, "AT_ONCE", 100)
    monkeypatch.setattr(type(model), "_block_shape", lambda self, X: (X.shape[0] // 40, X.shape[1]))
    for name, one in (("store", split), ("memory", split.interactions())):
        seen = heights.setdefault(name, [])
        monkeypatch.setattr(
            type(model), "_represent", lambda self, X, users, seen=seen: seen.append(X.indices.tolist()) or X
        )
        corml.evaluate(model, one, "ndcg@10")
    assert heights["store"] == heights["memory"]
    assert len(heights["store"]) > 20


def test_a_split_is_named_by_its_folder_and_results_are_compared(fitted, parts_of):
    split = parts_of("ratio")
    one = corml.evaluate(fitted("ease", "ratio"), split, ["ndcg@10", "coverage@10"])
    other = corml.evaluate(fitted("popularity", "ratio"), str(split.path), ["ndcg@10", "coverage@10"])
    assert one.compare(other)["ndcg@10"].difference == pytest.approx(one["ndcg@10"] - other["ndcg@10"])
    frame = one.to_frame()
    assert frame["user"].to_list() == one.users.tolist()
    assert frame["ndcg@10"].mean() == pytest.approx(one["ndcg@10"])
    assert one.split == split.fingerprint
    assert one.record()["procedure"]["name"] == "ratio"


def test_no_python_object_is_kept_for_a_user(fitted, parts_of):
    assert corml.evaluate(fitted("popularity", "ratio"), parts_of("ratio"), "ndcg@10").users.dtype != object


def test_progress_counts_users(fitted, parts_of, monkeypatch):
    monkeypatch.setattr(sharded, "AT_ONCE", 100)
    told = []
    made = corml.evaluate(
        fitted("ease", "ratio"), parts_of("ratio"), "ndcg@10", progress=lambda *step: told.append(step)
    )
    assert told[-1] == ("evaluate", len(made.users), len(made.users))
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})


def test_a_model_that_knows_held_out_pairs_is_told_of(in_memory, parts_of):
    split = parts_of("ratio")
    with pytest.warns(LeakageWarning, match=f"learned from {len(split.test):,} of the {len(split.test):,} held-out"):
        corml.evaluate(corml.Popularity().fit(in_memory), split, "ndcg@10")


def test_what_needs_all_lists_at_once_is_refused(fitted, parts_of, monkeypatch):
    model, split = fitted("popularity", "ratio"), parts_of("ratio")
    with pytest.raises(UsageError, match="max_share is a rule for all lists together"):
        corml.evaluate(model, split, "ndcg@10", rules=corml.ListRules(max_share=0.5))
    longest = Metric("longest", 5, lambda lists, k: float((lists.items >= 0).sum()))
    monkeypatch.setattr("corml.evaluation.run.parse_all", lambda texts: (longest,))
    with pytest.raises(UsageError, match="needs the items of all lists together"):
        corml.evaluate(model, split, "longest@5")


def test_a_part_without_a_pair_is_an_error(fitted, shop, tmp_path):
    split = corml.split(shop, "ratio", out=tmp_path / "parts", shares=(0.8, 0.2))
    with pytest.raises(DataError, match=r"No user can be evaluated on the valid part: 1,955 users without targets"):
        corml.evaluate(corml.Popularity().fit(split.train.interactions()), split, part="valid")
