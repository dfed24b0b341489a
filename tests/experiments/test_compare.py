"""Models on the same split: figures that evaluate gives too, tests over the same users, and models that fail."""

import json

import numpy as np
import pytest
import scipy.stats

import corml
from corml.errors import DataError, UsageError
from corml.evaluation.significance import holm

METRICS = ["ndcg@10", "recall@5", "coverage@10"]


@pytest.fixture(scope="module")
def study(split, kinds):
    kinds["broken"].repaired = False
    models = ["popularity", "ease", kinds["dice"](), kinds["broken"]()]
    return corml.compare(models, split, metrics=METRICS, seeds=3, resamples=200)


def test_figures_are_those_of_evaluate(study, split):
    for label, model in (("popularity", corml.Popularity()), ("ease", corml.models.make("ease"))):
        alone = corml.evaluate(model.fit(split.train), split, METRICS, resamples=200)
        assert dict(study[label].means) == alone.means
        for metric, ends in alone.intervals.items():
            assert study[label].intervals[metric] == pytest.approx(ends, rel=1e-12)
        np.testing.assert_array_equal(study[label].per_user["ndcg@10"], alone.per_user["ndcg@10"])
        np.testing.assert_array_equal(study.users, alone.users)


def test_seeds_are_averaged_user_by_user_and_their_spread_is_told_apart(study, split, kinds):
    entry = study["dice"]
    alone = [corml.evaluate(kinds["dice"](seed=seed).fit(split.train), split, METRICS) for seed in range(3)]
    assert [run.seed for run in entry.runs] == [0, 1, 2]
    expected = np.mean([result.per_user["ndcg@10"] for result in alone], axis=0)
    np.testing.assert_allclose(entry.per_user["ndcg@10"], expected)
    assert entry.means["coverage@10"] == pytest.approx(np.mean([result["coverage@10"] for result in alone]))
    assert entry.run_deviation["ndcg@10"] == pytest.approx(np.std([r["ndcg@10"] for r in alone], ddof=1))
    assert study["ease"].run_deviation == {}
    assert len(study["ease"].runs) == 1


def test_every_model_is_tested_against_the_best_over_the_same_users(study):
    scores = {row.label: row.means["ndcg@10"] for row in study if row.done}
    ordered = sorted(scores, key=scores.get, reverse=True)
    assert [row.label for row in study.ranking] == ordered
    assert (study.best.label, study.runner_up.label) == tuple(ordered[:2])
    assert study.reference == study.best.label
    assert set(study.comparisons) == {entry.label for entry in study if entry.done} - {study.reference}
    base = study[study.reference].per_user
    p = {}
    for label, compared in study.comparisons.items():
        assert set(compared) == {"ndcg@10", "recall@5"}  # coverage has no value for each user
        for metric, one in compared.items():
            theirs = scipy.stats.ttest_rel(study[label].per_user[metric], base[metric]).pvalue
            assert one.tests.t == pytest.approx(theirs, rel=1e-6)
            assert one.difference == pytest.approx(study[label].means[metric] - study[study.reference].means[metric])
            p[label, metric] = one.tests.t
    assert len(p) == study.family == 4
    for (label, metric), corrected in holm(p).items():
        assert study.comparisons[label][metric].holm.t == corrected


def test_a_model_that_fails_is_reported_and_the_others_finish(study):
    (failed,) = study.failed
    assert failed.label == "broken"
    assert failed.error == "RuntimeError: 'a bolt\\nis loose'"
    assert failed.means == {}
    assert "broken" not in study.comparisons
    assert "Failed: broken: RuntimeError" in study.to_text()


def test_a_study_in_which_every_model_fails_says_so(split, kinds, tmp_path):
    study = corml.compare(kinds["broken"](), split, folder=tmp_path)
    assert (study.best, study.runner_up, study.reference, study.comparisons) == (None, None, None, {})
    for ending in ("txt", "md", "tex", "csv", "json"):
        study.save(tmp_path / f"a.{ending}")
        assert "broken" in (tmp_path / f"a.{ending}").read_text("utf-8")
    assert "broken" in study._repr_html_()
    assert repr(study) == "Study(1 models, 0 users)"


def test_a_baseline_takes_the_place_of_the_best(split, kinds):
    study = corml.compare(["ease", "popularity"], split, metrics="ndcg@10", baseline="popularity")
    assert study.reference == "popularity"
    assert set(study.comparisons) == {"ease"}
    with pytest.raises(UsageError, match="baseline 'popular' is not among the models; did you mean 'popularity'"):
        corml.compare(["ease", "popularity"], split, baseline="popular")


def test_lists_of_other_programs_are_compared_with_the_same_masks(split, tmp_path):
    model = corml.Popularity().fit(split.train)
    users = [u for u, degree in zip(split.train.users.labels, split.train.user_degrees, strict=True) if degree]
    model.recommend(users, k=40).to_frame().write_parquet(tmp_path / "theirs.parquet")
    study = corml.compare(["popularity", f"theirs={tmp_path}/theirs.parquet"], split, metrics=METRICS)
    assert study["theirs"].means == study["popularity"].means
    assert study.comparisons[next(iter(study.comparisons))]["ndcg@10"].p == 1
    (tmp_path / "empty.csv").write_text("user,item\nnobody,nothing\n")
    study = corml.compare(["popularity"], split, lists={"empty": tmp_path / "empty.csv"}, metrics=METRICS)
    assert study["empty"].means["ndcg@10"] == 0
    assert any("users without a list, counted as 0" in note for note in study["empty"].notes)


def test_several_splits_are_averaged_and_lists_belong_to_one(data, tmp_path):
    splits = [corml.split(data, seed=seed) for seed in (1, 2)]
    study = corml.compare(["popularity", "ease"], splits, metrics="ndcg@10")
    alone = [corml.evaluate(corml.Popularity().fit(one.train), one, "ndcg@10") for one in splits]
    entry = study["popularity"]
    assert entry.run_deviation["ndcg@10"] == pytest.approx(np.std([r["ndcg@10"] for r in alone], ddof=1))
    values = [dict(zip(result.users, result.per_user["ndcg@10"], strict=True)) for result in alone]
    assert set(study.users) == set(values[0]) & set(values[1])
    expected = [np.mean([one[user] for one in values]) for user in study.users]
    np.testing.assert_allclose(entry.per_user["ndcg@10"], expected)
    (tmp_path / "a.csv").write_text("user,item\n1,2\n")
    with pytest.raises(UsageError, match="Lists belong to one split"):
        corml.compare(["popularity", f"a={tmp_path}/a.csv"], splits)
    with pytest.raises(UsageError, match="Two of the splits are the same"):
        corml.compare(["popularity"], [splits[0], splits[0]])


def test_interactions_are_split_by_ratio(data):
    study = corml.compare("popularity", data, metrics="ndcg@10")
    assert study.splits[0].fingerprint == corml.split(data).fingerprint
    assert study.splits[0].procedure["name"] == "ratio"
    assert study.comparisons == {}
    assert study.runner_up is None
    study = corml.compare("popularity", data, metrics="recall@5", primary="mrr@10")
    assert study.design.metrics == ("mrr@10", "recall@5")  # the primary metric is measured though it is not listed


@pytest.mark.parametrize(
    ("given", "fragment"),
    [
        ({"primary": "coverage@10"}, "cannot decide which model is best"),
        ({"primary": "novelty@10"}, "cannot decide which model is best"),
        ({"seeds": 0}, "seeds must be a whole number of 1 or more"),
        ({"trials": -1}, "trials must be a whole number"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"confidence": 2}, "confidence must be between"),
        ({"data": [1, 2]}, "compare takes Interactions"),
        ({"data": "ratings.csv"}, "compare takes Interactions"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_fitted(split, kinds, given, fragment):
    data = given.pop("data", split)
    with pytest.raises(UsageError, match=fragment):
        corml.compare(kinds["dice"](), data, **given)
    assert kinds["dice"].fits == []


# --- folders ---------------------------------------------------------------------------------------------------------


def figures(study):
    """Everything that is not about cost or time."""
    record = study.record()
    return [{**entry, "cost": None} for entry in record["models"]], record["best"], record["tests"], record["users"]


def test_a_finished_run_is_not_run_again_and_gives_the_same_numbers(split, kinds, tmp_path):
    models = ["popularity", kinds["dice"]()]
    first = corml.compare(models, split, metrics=METRICS, seeds=2, folder=tmp_path)
    assert kinds["dice"].fits == [0, 1]
    again = corml.compare(models, split, metrics=METRICS, seeds=3, folder=tmp_path)
    assert kinds["dice"].fits == [0, 1, 2]  # only what was missing
    repeated = corml.compare(models, split, metrics=METRICS, seeds=3, folder=tmp_path)
    assert kinds["dice"].fits == [0, 1, 2]
    assert figures(repeated) == figures(again) == figures(corml.read_study(tmp_path))
    assert figures(again) == figures(corml.compare(models, split, metrics=METRICS, seeds=3))  # as without a folder
    assert first["popularity"].means == again["popularity"].means
    assert repeated.record() == again.record()  # also the cost, which was measured once


def test_every_users_values_are_in_the_files(split, tmp_path):
    study = corml.compare(["popularity"], split, metrics=METRICS, folder=tmp_path, command="corml compare …")
    (path,) = (tmp_path / "runs").iterdir()
    run = json.loads(path.read_text("utf-8"))
    assert run["per_user"]["ndcg@10"] == study["popularity"].per_user["ndcg@10"].tolist()
    assert run["users"] == list(study.users)
    assert run["split"] == split.fingerprint
    assert run["command"] == "corml compare …"
    assert run["environment"]["numpy"] == np.__version__
    assert run["cost"]["fit_processor"] >= 0


def test_a_failed_run_is_tried_again(split, kinds, tmp_path):
    broken = corml.compare(["popularity", kinds["broken"]()], split, folder=tmp_path)
    assert [entry.label for entry in broken.failed] == ["broken"]
    assert [entry.label for entry in corml.read_study(tmp_path).failed] == ["broken"]
    kinds["broken"].repaired = True
    assert corml.compare(["popularity", kinds["broken"]()], split, folder=tmp_path).failed == ()


def test_a_folder_of_another_split_or_another_primary_metric_is_refused(data, split, tmp_path):
    corml.compare("popularity", split, folder=tmp_path)
    with pytest.raises(DataError, match="holds a study of another split"):
        corml.compare("popularity", corml.split(data, seed=9), folder=tmp_path)
    with pytest.raises(DataError, match=r"primary metric of the study in .* is ndcg@10, named when it began"):
        corml.compare("popularity", split, primary="mrr@10", folder=tmp_path)
    assert corml.compare(["popularity", "ease"], split, folder=tmp_path).best  # more models may join


def test_other_settings_metrics_and_lists_are_other_runs(split, tmp_path):
    (tmp_path / "a.csv").write_text("user,item\nu1,i1\n")
    theirs = f"theirs={tmp_path}/a.csv"
    count = 0
    for models, metrics in (
        (["ease", theirs], "ndcg@10"),
        (["ease:l2=7"], "ndcg@10"),
        (["ease"], "ndcg@10,mrr@5"),
    ):
        corml.compare(models, split, metrics=metrics, folder=tmp_path / "study")
        count += len(models)
        assert len(list((tmp_path / "study/runs").iterdir())) == count
    (tmp_path / "a.csv").write_text("user,item\nu1,i2\n")
    corml.compare([theirs], split, metrics="ndcg@10", folder=tmp_path / "study")
    assert len(list((tmp_path / "study/runs").iterdir())) == count + 1


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"format": 99}', b"\xff"])
def test_a_damaged_run_is_named_and_never_taken_for_a_result(split, tmp_path, content):
    corml.compare("popularity", split, folder=tmp_path)
    (path,) = (tmp_path / "runs").iterdir()
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"is damaged: delete it"):
        corml.compare("popularity", split, folder=tmp_path)


def test_a_run_under_a_wrong_name_is_refused(split, tmp_path):
    corml.compare(["popularity", "ease"], split, folder=tmp_path)
    one, other = sorted((tmp_path / "runs").iterdir())
    one.write_bytes(other.read_bytes())
    with pytest.raises(DataError, match="is damaged: delete it"):
        corml.compare(["popularity", "ease"], split, folder=tmp_path)


def test_a_folder_without_a_study_is_refused(split, tmp_path):
    with pytest.raises(DataError, match=r"no study\.json"):
        corml.read_study(tmp_path)
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(DataError, match="damaged"):
        corml.read_study(tmp_path)
    (tmp_path / "study.json").write_text("nonsense")
    with pytest.raises(DataError, match="damaged"):
        corml.compare("popularity", split, folder=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="Cannot make the folder"):
        corml.compare("popularity", split, folder=tmp_path / "file" / "study")


def test_a_model_without_all_its_runs_is_not_finished(split, tmp_path):
    corml.compare(["popularity", "ease"], split, folder=tmp_path)
    next((tmp_path / "runs").glob("ease-*")).unlink()
    study = corml.read_study(tmp_path)
    assert study["popularity"].done
    assert "not finished" in study["ease"].error


def test_warnings_of_a_fit_are_kept_with_its_run(split, tmp_path):
    study = corml.compare([corml.CoRML(rank=4, max_steps=1)], split, metrics="ndcg@10", folder=tmp_path)
    assert any("The solver stopped" in note for note in study.models[0].notes)
    assert "The solver stopped" in corml.read_study(tmp_path).to_text()
