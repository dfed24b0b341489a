"""The whole workflow, from a file to lists, metrics and explanations."""

import json
from pathlib import Path

import pytest

import corml

README = Path(__file__).parents[2] / "README.md"
QUICK = ["--set", "rank=8", "--set", "max_steps=5", "--set", "tol=0", "--at-least", "4", "--k-core", "20"]


@pytest.mark.parametrize("source", ["ratings.csv", "movielens-small"])
def test_from_data_to_lists_metrics_and_explanations(run, here, shop, source):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    given = QUICK if source == "movielens-small" else []
    assert run("data", "info", source, *given[6:]).code == 0
    fitted = run("fit", source, "-o", "m.corml", "--split", "ratio", *given, "--json").json
    facts = run("inspect", "m.corml", "--json").json
    assert facts["shape"] == [fitted["users"], fitted["items"]]
    user = str(corml.read_model("m.corml").users_.labels[0])
    for ending in ("csv", "tsv", "parquet", "json"):
        assert run("recommend", "m.corml", "--all", "-o", f"lists.{ending}").code == 0
    (one,) = run("recommend", "m.corml", "-u", user, "--json").json
    best = one["items"][0]
    assert len(run("similar", "m.corml", best["item"], "--json").json) == 10
    why = run("explain", "m.corml", best["item"], "-u", user, "--json").json
    assert why["score"] == pytest.approx(best["score"], rel=1e-4)
    assert run("evaluate", "m.corml", "--json").json["metrics"] == pytest.approx(fitted["metrics"])
    assert run("verify", "m.corml").code == 0


def rows_with_intervals(text):
    """Lines of a table with ±, as words without lines and stars."""
    return [line.translate({ord(mark): " " for mark in "|*"}).split() for line in text.splitlines() if "±" in line]


def test_the_demo_leaves_a_report_and_a_model_that_verifies(run, here):
    outcome = run("demo", "--out", "shown/here")
    assert outcome.code == 0
    assert "corml recommend shown/here/movies.corml --user" in outcome.out
    report = (here / "shown" / "here" / "report.html").read_text(encoding="utf-8")
    assert "</html>" in report
    shown = rows_with_intervals(outcome.out)
    assert [row[0] for row in shown] == ["corml", "popularity"]
    assert shown == rows_with_intervals(README.read_text(encoding="utf-8"))
    assert run("verify", "shown/here/movies.corml").code == 0
    assert len(run("recommend", "shown/here/movies.corml", "--history", "318,858", "--json").json[0]["items"]) == 10


def test_the_demo_refuses_a_folder_it_cannot_write_to_before_it_begins(run, here, monkeypatch):
    monkeypatch.setattr(corml, "load", lambda *_, **__: pytest.fail("work was done"), raising=False)
    (here / "taken").write_text("")
    assert run("demo", "--out", "taken").code == 3
    (here / "shown" / "report.html").mkdir(parents=True)
    assert run("demo", "--out", "shown").code == 3


def test_json_commands_print_nothing_but_json(run, here, shop):
    model, source = shop / "split.corml", shop / "ratings.csv"
    for words in (
        ["data", "list"],
        ["data", "info", source],
        ["data", "convert", source, "b.csv"],
        ["data", "split", source, "b.split"],
        ["fit", source, "-o", "m.corml"],
        ["recommend", model, "-u", "u1"],
        ["recommend", model, "-u", "u1", "-o", "u1.csv"],
        ["similar", model, "i1"],
        ["explain", model, "i1", "-u", "u1"],
        ["evaluate", model],
        ["verify", model],
        ["inspect", model],
        ["models"],
        ["metrics"],
    ):
        outcome = run(*words, "--json")
        assert outcome.code == 0, words
        json.loads(outcome.out)


def test_an_automatic_choice_of_filter_is_shown_in_few_lines(run, here):
    fitted = run("fit", "movielens-small", "-o", "m.corml", "--at-least", "4", "--k-core", "10", "--set", "adapt=true")
    assert fitted.code == 0
    plan = run("inspect", "m.corml", "--json").json["notes"]["plan"]
    best = plan["selection"]["trials"][plan["selection"]["chosen"]]
    assert (plan["rank"], plan["filter_weight"]) == (best["rank"], best["filter_weight"])
    shown = run("inspect", "-v", "m.corml").out
    assert f"{len(plan['selection']['trials'])}, see --json" in shown
    assert len(shown.splitlines()) < 120
