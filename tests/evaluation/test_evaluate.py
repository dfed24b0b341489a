"""Results of an evaluation, on random data."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

import corml
from corml import CoRML, Popularity, Split, evaluate
from corml.errors import DataWarning, UsageError
from corml.evaluation import evaluate_lists, measure, metrics
from corml.evaluation.run import DEFAULT_METRICS
from corml.linalg.closeness import Closeness
from corml.recommend.options import ListRules

EVERYTHING = [f"{name}@{k}" for name, k in itertools.product(metrics.names(), (5, 10, 20))]


@pytest.fixture(scope="module")
def model(split):
    return CoRML(rank=8, max_steps=20, tol=0).fit(split.train)


@pytest.fixture(scope="module")
def result(model, split):
    return evaluate(model, split, EVERYTHING)


def brute_force(model, split, k):
    """Recall@k of each user who has test items, from a full sort of dense scores."""
    scores = model.score_block(split.train.matrix, slice(0, len(model.items_))).astype(float)
    scores[split.train.matrix.toarray() > 0] = -np.inf
    scores[split.valid.matrix.toarray() > 0] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    targets = split.test.matrix.toarray()
    hits = np.take_along_axis(targets, best, axis=1).sum(axis=1)
    known = split.train.user_degrees > 0
    counts = targets.sum(axis=1)
    return (hits / np.maximum(counts, 1))[(counts > 0) & known]


def test_equals_a_full_sort_of_dense_scores(model, split, result):
    for k in (5, 10, 20):
        np.testing.assert_allclose(result.per_user[f"recall@{k}"], brute_force(model, split, k))


def test_values_of_users_average_to_the_mean(result):
    for label, values in result.per_user.items():
        assert values.shape == result.users.shape
        assert result[label] == pytest.approx(values.mean(), abs=1e-15)


def test_only_metrics_about_single_lists_have_values_and_intervals(result):
    together = {f"{name}@{k}" for name in ("coverage", "gini") for k in (5, 10, 20)}
    assert set(result) == set(EVERYTHING)
    assert set(result.per_user) == set(result.intervals) == set(EVERYTHING) - together


def test_a_single_length_gives_the_same(model, split, result):
    alone = evaluate(model, split, ["ndcg@5", "gini@5"])
    assert alone["ndcg@5"] == result["ndcg@5"]
    assert alone["gini@5"] == result["gini@5"]
    assert alone.intervals["ndcg@5"] == pytest.approx(result.intervals["ndcg@5"], abs=1e-12)


def test_the_order_of_users_does_not_matter(model, split):
    order = np.random.default_rng(4).permutation(split.train.users.labels)
    users = type(split.train.users)(order, kind="user")
    moved = {name: part.on(users, part.items) for name, part in split.parts().items()}
    assert evaluate(model, Split(**moved)).means == pytest.approx(evaluate(model, split).means)


def test_the_default_metrics_measure_accuracy_novelty_and_coverage(split):
    result = evaluate(Popularity().fit(split.train), split)
    assert tuple(result) == DEFAULT_METRICS
    assert {"ndcg@10", "mrr@5", "recall@20", "novelty@10", "coverage@20"} <= set(result)


@pytest.mark.parametrize("threads", ["1", "5"])
def test_the_number_of_threads_changes_nothing(model, split, result, monkeypatch, threads):
    monkeypatch.setenv("CORML_THREADS", threads)
    again = evaluate(model, split, EVERYTHING)
    assert again.record() == result.record()
    for label, values in result.per_user.items():
        np.testing.assert_array_equal(again.per_user[label], values)


def test_intervals_are_drawn_from_the_seed_and_can_be_left_out(model, split):
    first, same, other = (evaluate(model, split, "ndcg@10", seed=seed).intervals for seed in (1, 1, 2))
    assert first == same != other
    result = evaluate(model, split, "ndcg@10", intervals=False)
    assert result.intervals == {}
    assert "interval" not in result.table()


def test_a_model_from_a_file_gives_the_same(model, split, result, tmp_path):
    model.save(str(tmp_path / "model.corml"), history=False, evaluation=result.record())
    loaded = corml.read_model(str(tmp_path / "model.corml"))
    assert evaluate(loaded, split, EVERYTHING).record() == result.record()
    assert loaded.fitted_.evaluation == json.loads(json.dumps(result.record()))


def test_a_result_is_saved_with_its_model_as_its_record_is(model, result, tmp_path):
    model.save(tmp_path / "model.corml", history=False, evaluation=result)
    assert corml.read_model(tmp_path / "model.corml").fitted_.evaluation == json.loads(json.dumps(result.record()))
    with pytest.raises(UsageError, match=r"evaluation= takes what corml\.evaluate returned; got a float"):
        model.save(tmp_path / "model.corml", evaluation=0.25)


def test_metrics_are_looked_up_in_any_spelling(result):
    assert result["NDCG@10"] == result["ndcg@10"]
    assert "ndcg@10" in result
    assert "ndcg@7" not in result
    with pytest.raises(UsageError, match="was not measured; did you mean 'ndcg@"):
        result["ndcg@7"]


def test_importing_evaluation_stays_light():
    heavy = "{'polars', 'numba', 'pandas', 'matplotlib', 'narwhals'}"
    code = f"import sys, corml.evaluation; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("users", [1, 7])
@pytest.mark.parametrize("rules", [None, corml.ListRules(diversity=0.4)])
def test_blocks_of_users_do_not_change_a_value(model, split, monkeypatch, users, rules):
    whole = evaluate(model, split, EVERYTHING, rules=rules)
    monkeypatch.setattr(measure, "BLOCK", users)
    monkeypatch.setattr("corml.evaluation.metrics._lists.COUNTED", users)
    parts = evaluate(model, split, EVERYTHING, rules=rules)
    assert len(whole.users) > 7
    assert parts.means == whole.means
    assert parts.intervals == whole.intervals
    for label, values in whole.per_user.items():
        assert parts.per_user[label].tobytes() == values.tobytes()


def test_closeness_of_items_is_computed_once(model, split, monkeypatch):
    made, by_users = [], Closeness.by_users
    monkeypatch.setattr(measure, "BLOCK", 5)
    monkeypatch.setattr(Closeness, "by_users", lambda train: made.append(1) or by_users(train))
    evaluate(model, split, ["diversity@5", "diversity@10"])
    assert len(made) == 1


def found_first(lists, k):
    """Whether the first item is right, whatever the length."""
    return lists.hits[:, 0]


def test_a_function_is_a_metric_at_the_lengths_of_the_others(model, split):
    result = evaluate(model, split, ["hit_rate@1", "hit_rate@5", found_first])
    assert list(result) == ["hit_rate@1", "hit_rate@5", "found_first@1", "found_first@5"]
    assert result["found_first@5"] == result["hit_rate@1"]
    assert "found_first@5" in result
    assert "found_first@5" in result.intervals
    assert result.to_frame().columns[-1] == "found_first@5"
    assert "found_first" in str(result)
    assert "found_first@5" in result.plot(["found_first@5"]).svg()
    assert list(evaluate(model, split, found_first)) == ["found_first@10"]
    about_all = evaluate(model, split, [lambda lists, k: int(lists.counts(k).max())])
    assert about_all["<lambda>@10"] > 1
    assert not about_all.intervals


def test_a_function_must_return_a_number_per_user_or_one(model, split):
    with pytest.raises(UsageError, match=r"metric <lambda> must give one number, or one for each of the .* lists"):
        evaluate(model, split, [lambda lists, k: lists.hits])
    with pytest.raises(UsageError, match="Two metrics are called <lambda>"):
        evaluate(model, split, [lambda lists, k: 0, lambda lists, k: 1])


def test_recommendations_are_evaluated_as_lists(model, split):
    lists = model.recommend(list(split.train.users), k=10)
    assert evaluate(lists, split, ["ndcg@5"]).means == evaluate_lists(lists, split, ["ndcg@5"]).means
    with pytest.warns(DataWarning, match=r"lists have 10 items, and ndcg@20 counts what is missing as misses.*k=20"):
        evaluate(lists, split, ["ndcg@5", "ndcg@20"])
    with pytest.raises(UsageError, match="already made"):
        evaluate(lists, split, rules=ListRules(diversity=0.5))


@pytest.mark.parametrize("given", [corml.CoRML, "model.corml", {"u1": ["i1"]}, None])
def test_other_objects_are_refused(given, split):
    with pytest.raises(UsageError, match=r"evaluate takes a fitted model or Recommendations; got (a|the class) \w+\."):
        evaluate(given, split)
