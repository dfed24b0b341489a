"""Folders of studies with facts that no study wrote: a sentence when they are read, not a traceback when shown."""

import json
import shutil

import pytest

import corml
from corml.errors import DataError, SettingError
from support import random_interactions

DEEP = json.loads("[" * 60 + "]" * 60)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "study"
    split = corml.split(random_interactions(3, users=30, items=16), "ratio", seed=1)
    corml.compare(["popularity", "item-knn"], split, folder=folder, **HOW)
    return folder


@pytest.fixture
def study(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "study")


HOW = {"metrics": ["ndcg@5"], "primary": "ndcg@5"}


def again(folder, **how):
    """Go on with the study."""
    split = corml.split(random_interactions(3, users=30, items=16), "ratio", seed=1)
    return corml.compare(["popularity", "item-knn"], split, folder=folder, **HOW, **how)


def changed(path, *place, value):
    """Write a JSON file again with another value somewhere in it."""
    facts = json.loads(path.read_text())
    holder = facts
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    path.write_text(json.dumps(facts))


def test_an_unchanged_study_is_read_so_that_the_others_mean_something(study):
    assert "popularity" in str(corml.read_study(study))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("design", "trials"), {}), (("design", "seconds"), "long"), (("design", "metrics"), [1]),
        (("design", "metrics"), []), (("design", "primary"), "ndcg"), (("design", "confidence"), 2), (("design",), 1),
        (("models",), {}), (("models", 0, "label"), None), (("models", 0, "settings"), 3),
        (("models", 0, "runs"), ["../../x"]), (("models", 0, "runs"), []), (("models", 0, "label"), "item-knn"),
        (("splits",), 5), (("splits", 0, "procedure"), "ratio"), (("splits", 0, "fingerprint"), []),
        (("provenance",), []), (("provenance", "environment"), DEEP),
    ],
    ids=str,
)  # fmt: skip
def test_a_plan_of_another_form_is_refused(study, place, value):
    changed(study / "study.json", *place, value=value)
    with pytest.raises(DataError, match=r"study\.json' is damaged: delete it, and run again"):
        str(corml.read_study(study))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("notes",), 7), (("notes",), {"left out": "many"}), (("warnings",), [1]), (("settings",), []),
        (("means", "ndcg@5"), float("inf")), (("means",), {"recall@5": 1.0}), (("cost", "fit_seconds"), None),
        (("cost", "fit_seconds"), float("nan")), (("cost", "trials"), 0.5), (("users", 0), None), (("error",), 5),
        (("seed",), "x"), (("label",), []), (("environment",), DEEP), (("per_user", "ndcg@5", 0), float("inf")),
    ],
    ids=str,
)  # fmt: skip
def test_a_cell_of_another_form_is_refused(study, place, value):
    cell = min((study / "runs").glob("*.json"))
    changed(cell, *place, value=value)
    with pytest.raises(DataError, match=r"run again|run the study again"):
        str(corml.read_study(study))


def test_json_without_end_is_refused(study):
    (study / "study.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match="is damaged: delete it, and run again"):
        corml.read_study(study)


@pytest.mark.parametrize(
    ("place", "value"),
    [(("splits",), {}), (("splits", 0, "fingerprint"), 7), (("splits", 0, "fingerprint"), None), (("design",), [])],
    ids=str,
)
def test_a_plan_of_another_form_is_not_gone_on_with(study, place, value):
    changed(study / "study.json", *place, value=value)
    with pytest.raises(DataError, match=r"study\.json' is damaged: delete it, and run again"):
        again(study)
    (study / "study.json").unlink()
    assert "popularity" in str(again(study))


def test_a_finished_cell_without_a_metric_of_its_study_is_named(study):
    cell = min((study / "runs").glob("*.json"))
    changed(cell, "means", value={"recall@5": 1.0})
    with pytest.raises(DataError, match=f"{cell.name}' is damaged: delete it, and run again"):
        again(study)


@pytest.mark.parametrize(("fact", "value"), [("settings", 7), ("seconds", {}), ("score", None), ("state", "odd")])
def test_a_search_with_a_damaged_trial_is_not_used(study, fact, value):
    again(study, trials=2)
    changed(next((study / "searches").glob("*/runs/trial-0001.json")), fact, value=value)
    for run in (study / "runs").glob("*tuned*.json"):
        run.unlink()
    assert "is damaged: delete it, and run again" in str(again(study, trials=2))


def test_shares_of_a_split_that_are_no_numbers_are_a_sentence():
    with pytest.raises(SettingError, match="shares of the split 'ratio' must be two or three numbers"):
        corml.split(random_interactions(3), "ratio", shares=[None, 0.5])
