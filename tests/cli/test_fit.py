"""corml fit: flags, settings files, and refusing early."""

import json
import os

import pytest

import corml
from corml.cli import _work


@pytest.fixture
def csv(here, shop):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    return "ratings.csv"


def settings_of(path):
    return corml.read_model(path)


def test_fit_says_what_it_wrote_and_what_to_do_next(run, here, csv):
    outcome = run("fit", csv, "-o", "m.corml")
    assert outcome.out.startswith("wrote m.corml: corml on 40 users x 25 items")
    assert "next: corml recommend m.corml --user u0" in outcome.err


def test_the_next_step_works_for_odd_ids_and_without_users(run, here):
    (here / "a.csv").write_text("user,item\nit's me,x y\nit's me,z\nb,z\n")
    assert "--user 'it'\"'\"'s me'" in run("fit", "a.csv", "-o", "m.corml").err
    assert "--history 'x y'" in run("fit", "a.csv", "-o", "m.corml", "--no-history").err


def test_fit_with_a_split_shows_and_records_the_metrics(run, here, csv):
    assert "ndcg@10" in run("fit", csv, "-o", "m.corml", "--split", "ratio").out
    outcome = run("fit", csv, "-o", "m.corml", "--split", "ratio", "--json").json
    assert outcome["metrics"] == corml.read_model("m.corml").fitted_.evaluation["metrics"]
    assert outcome["file"] == "m.corml"


def test_flags_win_over_the_settings_file(run, here, csv):
    (here / "fit.toml").write_text(
        "[data]\nsource = 'nothing.csv'\nat_least = 5\n"
        "[split]\nhow = 'ratio'\nseed = 7\nshares = [0.8, 0.1, 0.1]\n"
        "[model]\nname = 'corml'\nmix = 0.5\nscale = 0.9\nrank = 'auto'\nrho = 'none'\nbudget = 'none'\n"
    )
    given = ["--settings", "fit.toml", "-o", "m.corml"]
    assert run("fit", csv, *given, "--at-least", "2", "--set", "mix=0.6", "--split-set", "seed=8").code == 0
    model = corml.read_model("m.corml")
    assert (model.mix, model.scale, model.rank, model.rho, model.budget) == (0.6, 0.9, None, None, None)
    assert model.fitted_.source["options"] == {"at_least": 2.0}
    procedure = model.fitted_.evaluation["procedure"]
    assert (procedure["seed"], procedure["shares"]) == (8, [0.8, 0.1, 0.1])
    assert model.fitted_.source["from"] == csv


def test_options_of_another_split_or_model_do_not_carry_over(run, here, csv):
    (here / "fit.toml").write_text("[split]\nhow = 'ratio'\nshares = [0.8, 0.2]\n[model]\nmix = 0.5\n")
    given = ["fit", csv, "--settings", "fit.toml", "-o", "m.corml"]
    assert run(*given, "--split", "k-fold", "--split-set", "folds=4", "--model", "popularity").code == 0
    model = corml.read_model("m.corml")
    assert model.NAME == "popularity"
    assert model.fitted_.evaluation["procedure"]["folds"] == 4


def test_a_settings_file_may_say_everything(run, here, csv):
    (here / "fit.toml").write_text("[data]\nsource = 'ratings.csv'\nrating = false\n[model]\nname = 'popularity'\n")
    assert run("fit", "--settings", "fit.toml", "-o", "m.corml").code == 0
    assert corml.read_model("m.corml").fitted_.source["options"] == {"rating": False}


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("[modle]\nmix = 1\n", "no section 'modle'; did you mean 'model'"),
        ("model = 3\n", "written [model]"),
        ("[data]\nat_leest = 4\n", "did you mean 'at_least'"),
        ("[data]\nnotify = 4\n", "no option 'notify'"),
        ("[data]\ntrim = 'yes'\n", "trim must be true or false"),
        ("[data]\nuser = 1.5\n", "user must be a column's name"),
        ("[data]\ntitles = 3\n", "titles must be the name of a file"),
        ("[data]\nat_least = 'four'\n", "--at-least must be a finite number"),
        ("[split]\nhow = 'ration'\n", "did you mean 'ratio'"),
        ("[split]\nhow = 'ratio'\nsed = 1\n", "no option 'sed'; did you mean 'seed'"),
        ("[split]\nhow = 'ratio'\nseed = 'x'\n", "seed of the split 'ratio' must be"),
        ("[split]\nseed = 1\n", "Say how to split as well"),
        ("[model]\nname = 3\n", "no model '3'"),
        ("[model]\nmics = 1\n", "no setting 'mics'; did you mean 'mix'"),
        ("[model]\nmix = [1]\n", "mix of CoRML must be"),
        ("x\n", "is not TOML"),
        ("a = " + 5000 * "[" + 5000 * "]", "is nested too deeply"),
    ],
)
def test_a_mistake_in_a_settings_file_is_named_before_the_data_are_read(run, here, csv, monkeypatch, text, fragment):
    if "at_least = " not in text:
        monkeypatch.setattr("corml.cli._work.corml.load", lambda *_, **__: pytest.fail("the data were read"))
    (here / "fit.toml").write_text(text)
    outcome = run("fit", csv, "--settings", "fit.toml", "-o", "m.corml")
    assert outcome.code == 2
    assert fragment in outcome.err
    assert not (here / "m.corml").exists()


def test_a_settings_file_that_cannot_be_read_is_named(run, here, csv):
    (here / "latin.toml").write_bytes(b"# caf\xe9")
    assert "Cannot read the settings file 'none.toml'" in run("fit", csv, "--settings", "none.toml", "-o", "m").err
    assert "'latin.toml' is not TOML" in run("fit", csv, "--settings", "latin.toml", "-o", "m").err


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (["--set", "rank"], "'rank' is not NAME=VALUE"),
        (["--set", "=3"], "'=3' is not NAME=VALUE"),
        (["--set", "rnk=3"], "did you mean 'rank'"),
        (["--model", "corlm"], "did you mean 'corml'"),
        (["--model", "popularity", "--set", "rank=3"], "no setting 'rank'"),
        (["--split", "ration"], "did you mean 'ratio'"),
        (["--split", "ratio", "--split-set", "shares=.9,.9"], "shares of the split 'ratio' must be"),
        (["--split", "k-fold", "--split-set", "fold=7"], "fold of the split 'k-fold' must be"),
        (["--split", "new-users", "--split-set", "given=2"], "given of the split 'new-users' must be"),
        (["--split", "temporal", "--split-set", "moments=soon"], "moments of the split 'temporal' must be"),
        (["--split-set", "seed=1"], "Say how to split as well"),
        (["--rating", "rating", "--no-rating"], "contradict each other"),
    ],
)
def test_a_mistake_in_the_flags_is_named_before_the_data_are_read(run, here, csv, monkeypatch, flags, fragment):
    monkeypatch.setattr("corml.cli._work.corml.load", lambda *_, **__: pytest.fail("the data were read"))
    outcome = run("fit", csv, "-o", "m.corml", *flags)
    assert outcome.code == 2
    assert fragment in outcome.err


@pytest.mark.parametrize(
    ("out", "code", "fragment"),
    [
        (".", 3, "is a folder"),
        ("none/m.corml", 3, "does not exist: create it first"),
        ("ratings.csv", 2, "is the file to read"),
        ("./ratings.csv", 2, "is the file to read"),
        ("titles.csv", 2, "is the file to read"),
    ],
)
def test_a_file_that_must_not_be_written_is_refused_before_the_data_are_read(
    run, here, shop, csv, monkeypatch, out, code, fragment
):
    (here / "titles.csv").write_text((shop / "titles.csv").read_text())
    monkeypatch.setattr(_work.corml, "load", lambda *_, **__: pytest.fail("the data were read"), raising=False)
    outcome = run("fit", csv, "-o", out, "--titles", "titles.csv")
    assert outcome.code == code
    assert fragment in outcome.err


def test_nothing_to_learn_from_is_a_mistake(run, here):
    assert "Say what to learn from" in run("fit", "-o", "m.corml").err


def test_a_failed_fit_leaves_the_earlier_model_as_it_was(run, here, csv):
    run("fit", csv, "-o", "m.corml")
    before = (here / "m.corml").read_bytes()
    assert run("fit", csv, "-o", "m.corml", "--k-core", "99").code == 3
    assert (here / "m.corml").read_bytes() == before
    assert sorted(os.listdir(here)) == ["m.corml", "ratings.csv"]


def test_a_solver_that_stops_early_warns_in_one_line(run, here, csv):
    outcome = run("fit", csv, "-o", "m.corml", "--set", "max_steps=1", "--set", "tol=1e-9", "--json")
    assert outcome.code == 0
    assert len([line for line in outcome.err.splitlines() if line.startswith("warning: ")]) == 1
    json.loads(outcome.out)


def test_a_threshold_of_zero_is_a_threshold(run, here):
    (here / "a.csv").write_text("user,item,rating\na,x,0\na,y,3\nb,y,0\nb,z,1\n")
    assert run("fit", "a.csv", "-o", "m.corml", "--json").json["items"] == 2
    assert run("fit", "a.csv", "-o", "m.corml", "--json", "--at-least", "0").json["items"] == 3
    assert run("fit", "a.csv", "-o", "m.corml", "--json", "--no-rating").json["items"] == 3


def test_columns_without_names_are_counted(run, here):
    (here / "a.csv").write_text("9,u1,i1\n9,u1,i2\n9,u2,i2\n")
    outcome = run("fit", "a.csv", "-o", "m.corml", "--no-header", "--user", "1", "--item", "2", "--json").json
    assert (outcome["users"], outcome["items"]) == (2, 2)
