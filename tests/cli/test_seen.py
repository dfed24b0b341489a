"""Nothing that a user is known to have is recommended, and figures are those of a model that did not know it."""

import re
import shlex
from pathlib import Path

import polars
import pytest

import corml
from corml.persistence.container import read

README = Path(__file__).parents[2] / "README.md"


def shell_lines():
    (block,) = re.findall(r"## A few lines of shell\n\n```bash\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    return [shlex.split(line)[1:] for line in block.splitlines()]


def all_ratings(data):
    """Every rated pair, as the file has it."""
    rated = corml.load(data, rating=False)
    return set(zip(rated.users.labels[rated.user], rated.items.labels[rated.item], strict=True))


def listed(path):
    frame = polars.read_csv(path, schema_overrides={"user": str, "item": str}) if path.endswith("csv") else None
    frame = polars.read_parquet(path) if frame is None else frame
    return list(zip(frame["user"], frame["item"], strict=True))


def test_the_readmes_shell_lines_list_nothing_that_a_user_has_rated(run, here):
    outcomes = [run(*words) for words in shell_lines()]
    assert [outcome.code for outcome in outcomes] == [0] * len(outcomes)
    rows, known = listed("lists.parquet"), all_ratings("movielens-small")
    assert len(rows) == 10 * len(corml.read_model("movies.corml").users_)
    assert [row for row in rows if row in known] == []


@pytest.mark.parametrize("refit", [[], ["--no-refit"]])
@pytest.mark.parametrize("split", ["ratio", "leave-last", "new-users", "temporal"])
def test_neither_held_out_items_nor_low_ratings_are_listed(run, here, shop, split, refit):
    given = ["--split", split, "--at-least", "3", "--set", "rank=4", *refit]
    assert run("fit", shop / "ratings.csv", "-o", "m.corml", *given).code == 0
    assert run("recommend", "m.corml", "--all", "-k", "25", "-o", "lists.csv").code == 0
    known, rows = all_ratings(shop / "ratings.csv"), listed("lists.csv")
    assert rows
    assert not known & set(rows)


def test_the_file_is_the_one_of_a_fit_on_all_data_and_its_figures_are_labelled(run, here, shop):
    data = shop / "ratings.csv"
    outcome = run("fit", data, "-o", "m.corml", "--split", "ratio", "--at-least", "3")
    assert "note: measured on the test set after a fit on the train set, and then fitted on all data" in outcome.err
    assert run("fit", data, "-o", "whole.corml", "--at-least", "3").code == 0
    one, other = read(here / "m.corml"), read(here / "whole.corml")
    assert {name: array.tobytes() for name, array in one.arrays.items()} == {
        name: array.tobytes() for name, array in other.arrays.items()
    }
    facts = run("fit", data, "-o", "m.corml", "--split", "ratio", "--json").json
    assert facts["measured_on"] == "test set, after a fit on the train set"
    assert facts["fitted_on"] == "all data"


def test_without_a_refit_the_file_is_the_model_that_was_measured(run, here, shop):
    data = shop / "ratings.csv"
    outcome = run("fit", data, "-o", "m.corml", "--split", "ratio", "--at-least", "3", "--no-refit")
    assert "note: measured on the test set after a fit on the train set, and written as it was" in outcome.err
    model = corml.read_model("m.corml")
    split = corml.split(corml.load(data, at_least=3), "ratio")
    assert model.fitted_.fingerprint == split.train.fingerprint
    held_out = len(split.valid) + len(split.test)
    assert model.seen_.nnz == held_out + len(split.train.seen)
    assert "is repeated" not in run("verify", "m.corml").err


@pytest.mark.parametrize("model", ["corml", "ease", "popularity", "corml-dial"])
def test_the_figures_of_a_refitted_file_are_proved_by_repeating_the_measured_fit(run, here, shop, model):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    fitted = run("fit", "ratings.csv", "-o", "m.corml", "--split", "ratio", "--model", model, "--json").json
    verified = run("verify", "m.corml", "--json")
    assert verified.json == {"same": True, "differs": [], "metrics": fitted["metrics"]}
    assert "the measured fit on the train set is repeated" in verified.err
    evaluated = run("evaluate", "m.corml", "--json")
    assert evaluated.json["metrics"] == fitted["metrics"]
    assert "warning: the model" not in evaluated.err


def test_a_gradient_model_is_refitted_for_as_many_epochs_as_were_best(run, here, shop):
    pytest.importorskip("torch")
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    given = ["--model", "bpr-mf", "--set", "epochs=6", "--set", "size=4", "--split", "ratio"]
    fitted = run("fit", "ratings.csv", "-o", "m.corml", *given, "--json").json
    record = run("inspect", "m.corml", "--json").json
    assert record["evaluation"]["refit"]["settings"]["epochs"] == 6
    assert 1 <= record["settings"]["epochs"] <= 6
    assert record["settings"]["epochs"] == fitted["fit"]["training"]["epochs"]
    assert run("verify", "m.corml").code == 0


def test_a_report_measures_the_fit_on_train(run, here, shop):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    run("fit", "ratings.csv", "-o", "m.corml", "--split", "ratio")
    outcome = run("report", "m.corml")
    assert outcome.code == 0
    assert "warning" not in outcome.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--seen", "maybe"], "seen must be 'exclude', 'allow', 'only' or 'learned'; got 'maybe'."),
        (["--seen", "learned", "--exclude-recent", "30d"], "leave hide_events and exclude_recent out."),
        (["--hide-events", "buy,,view"], "hide_events must name event types, such as 'purchase,cart'"),
        (["--exclude-recent", "buy=30d,2h"], "must give each event type one length of time"),
        (
            ["--seen", "allow", "--exclude-recent", "soon"],
            "exclude_recent must be a length of time such as '30d', '12h' or '2w'",
        ),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_before_the_file_is_read(run, here, words, sentence):
    outcome = run("recommend", "no.corml", "-u", "u1", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
