"""corml fit --plan: the plan of a fit, without fitting."""

import json

import pytest

from corml.cli._plans import _shown


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    rows = [f"u{user},i{item}" for user in range(30) for item in range(user % 7, 20, 3)]
    path.write_text("user,item\n" + "\n".join(rows) + "\n")
    return str(path)


def test_the_plan_is_printed_and_nothing_written(run, ratings, tmp_path):
    before = sorted(tmp_path.iterdir())
    outcome = run("fit", ratings, "--plan")
    assert outcome.code == 0
    for word in ("solver", "rank", "ridge", "predicted bytes", "predicted seconds"):
        assert word in outcome.out
    assert "with --split, a second fit (on all data) and the evaluation" in outcome.err  # are not predicted
    assert sorted(tmp_path.iterdir()) == before


def test_scripts_get_the_plan_as_json(run, ratings):
    plan = json.loads(run("fit", ratings, "--plan", "--json", "--split", "ratio", "--set", "solver=sparse").out)
    assert plan["solver"] == "sparse"
    assert plan["predicted bytes"] > 0


def test_a_plan_that_does_not_fit_is_refused(run, ratings):
    outcome = run("fit", ratings, "--plan", "--set", "max_memory=10k")
    assert outcome.code == 4
    assert "in addition to what is in memory, needs" in outcome.err
    assert "the budget is 10.0 KiB" in outcome.err


def test_a_memory_limit_must_be_a_size(run, ratings):
    outcome = run("fit", ratings, "--plan", "--set", "max_memory=lots")
    assert outcome.code == 2
    assert "a size such as '8GB'" in outcome.err


def test_a_model_without_choices_says_only_what_memory_it_takes(run, ratings):
    outcome = run("fit", ratings, "--plan", "--model", "popularity")
    assert outcome.code == 0
    assert outcome.out.split()[:2] == ["predicted", "bytes"]
    assert len(outcome.out.splitlines()) == 1


def test_a_fit_with_a_maximum_of_pairs_per_item_says_so(run, ratings, tmp_path):
    model = str(tmp_path / "capped.corml")
    assert "3 candidate pairs per item were used" in run("fit", ratings, "--set", "candidates=3", "--out", model).err
    assert "pairs per item" not in run("fit", ratings, "--set", "solver=sparse", "--out", model).err


def test_a_dial_is_fitted_saved_and_turned(run, ratings, tmp_path):
    model = str(tmp_path / "dial.corml")
    assert run("fit", ratings, "--model", "corml-dial", "--set", "item_norms=-0.4,0.4", "--out", model).code == 0
    lists = [json.loads(run("recommend", model, "--user", "u1", "--novelty", n, "--json").out) for n in ("0", "1")]
    assert all(len(outcome[0]["items"]) == 10 for outcome in lists)
    assert run("recommend", model, "--user", "u1", "--novelty", "2").code == 2
    plain = str(tmp_path / "plain.corml")
    run("fit", ratings, "--out", plain)
    refused = run("recommend", plain, "--user", "u1", "--novelty", "1")
    assert refused.code == 2
    assert "needs a model with several operating points" in refused.err


@pytest.mark.parametrize(
    ("value", "words"),
    [(1336790, "1,336,790"), (33.17943, "33.2"), (12345.6, "12,346"), (True, "True"), ("sparse", "sparse")],
)
def test_numbers_of_a_plan_are_rounded_and_have_separators_of_thousands(value, words):
    assert _shown("a fact", value) == words
