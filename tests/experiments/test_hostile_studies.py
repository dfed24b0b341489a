"""Folders of studies with facts that no study wrote: a sentence when they are read, not a traceback when shown."""

import json
import shutil

import pytest

import corml
from corml.errors import DataError
from support import random_interactions

DEEP = json.loads("[" * 60 + "]" * 60)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "study"
    split = corml.split(random_interactions(3, users=30, items=16), "ratio", seed=1)
    corml.compare(["popularity", "item-knn"], split, metrics=["ndcg@5"], primary="ndcg@5", folder=folder)
    return folder


@pytest.fixture
def study(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "study")


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
        (("entries",), {}), (("entries", 0, "label"), None), (("entries", 0, "settings"), 3),
        (("entries", 0, "cells"), ["../../x"]), (("entries", 0, "cells"), []), (("entries", 0, "label"), "item-knn"),
        (("splits",), 5), (("splits", 0, "procedure"), "ratio"), (("splits", 0, "fingerprint"), []),
        (("provenance",), []), (("provenance", "environment"), DEEP),
    ],
    ids=str,
)  # fmt: skip
def test_a_plan_of_another_form_is_refused(study, place, value):
    changed(study / "study.json", *place, value=value)
    with pytest.raises(DataError, match=r"study\.json' is damaged: run the study again"):
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
    cell = min((study / "cells").glob("*.json"))
    changed(cell, *place, value=value)
    with pytest.raises(DataError, match=r"run again|run the study again"):
        str(corml.read_study(study))


def test_json_without_end_is_refused(study):
    (study / "study.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match="is damaged: delete it, and run again"):
        corml.read_study(study)
