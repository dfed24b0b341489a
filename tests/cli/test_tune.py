"""corml tune: from data to a settings file that fit takes, with a journal to go on from."""

import tomllib

import pytest

import corml
from corml.cli._inputs import read_settings

FEW = ("--model", "item-knn", "--trials", "3")


@pytest.fixture
def source(here, run):
    run("data", "convert", "movielens-small", "ratings.csv", "--at-least", "4", "--k-core", "30")
    return "ratings.csv"


def test_the_best_settings_are_written_for_a_fit(run, source):
    tuned = run("tune", source, *FEW, "--split", "ratio", "--split-set", "seed=7", "--out", "best.toml")
    assert tuned.code == 0
    assert "ndcg@10" in tuned.out
    given = read_settings("best.toml")
    assert given["data"] == {"source": "ratings.csv"}
    assert given["split"] == {"how": "ratio", "seed": "7"}
    fitted = run("fit", "--settings", "best.toml", "--out", "m.corml", "--json")
    assert fitted.code == 0
    assert corml.read_model("m.corml").NAME == "item-knn"
    settings = {name: value for name, value in given["model"].items() if name != "name"}
    assert settings.items() <= corml.read_model("m.corml").settings_.items()


@pytest.mark.parametrize("noise", [True, False])
def test_the_defaults_are_written_where_the_gain_is_noise(run, source, monkeypatch, noise):
    monkeypatch.setattr(corml.experiments.tuning.Tuned, "within_noise", noise)
    tuned = run("tune", source, *FEW, "--out", "best.toml")
    assert ("within noise: keep the defaults" in tuned.out) == noise
    assert (
        "wrote best.toml: the defaults, because the gain of the best settings is within noise" in tuned.out
    ) == noise
    assert (read_settings("best.toml")["model"] == {"name": "item-knn"}) == noise
    assert "next: corml fit --settings best.toml --out model.corml" in tuned.err


def test_the_best_trials_are_printed_with_verbose_only(run, source):
    brief, verbose = run("tune", source, *FEW).out, run("tune", source, *FEW, "--verbose").out
    assert "2nd" in verbose
    assert "2nd" not in brief
    assert len(brief.splitlines()) <= 6


def test_json_has_what_python_gives(run, source):
    outcome = run("tune", source, *FEW, "--json").json
    tuned = corml.tune("item-knn", corml.load(source), trials=3)
    assert outcome["score"] == tuned.score
    assert [trial["settings"] for trial in outcome["trials"]] == [dict(trial.settings) for trial in tuned.trials]
    assert outcome["scored on"] == "20% of each user's items, held out"


def test_options_of_loading_are_in_the_settings_file(run, source):
    run("tune", source, *FEW, "--min-user", "3", "--no-time", "--out", "best.toml")
    with open("best.toml", "rb") as file:
        assert tomllib.load(file)["data"] == {"source": source, "min_user": 3, "time": False}


def test_settings_are_searched_or_fixed_as_asked(run, source):
    asked = ("--search", "shrink=5..10", "--set", "neighbours=20")
    trials = run("tune", source, *FEW, *asked, "--json").json["trials"]
    assert [trial["settings"]["neighbours"] for trial in trials] == [20, 20, 20]
    assert all(5 <= trial["settings"]["shrink"] <= 10 for trial in trials[1:])


def test_the_same_command_continues(run, source):
    first = run("tune", source, *FEW, "--journal", "j", "--json").json
    assert run("tune", source, *FEW, "--journal", "j", "--json").json == first
    more = run("tune", source, "--model", "item-knn", "--trials", "5", "--journal", "j", "--json").json
    assert more["trials"][:3] == first["trials"]
    assert len(more["trials"]) == 5


def test_a_journal_of_another_model_is_refused_in_a_sentence(run, source):
    run("tune", source, *FEW, "--journal", "j")
    refused = run("tune", source, "--model", "ease", "--journal", "j")
    assert refused.code == 2
    assert "The journal 'j' is for another model ('item-knn', not 'ease')" in refused.err


def test_folds_are_scored(run, source):
    assert run("tune", source, *FEW, "--folds", "3", "--json").json["scored on"] == "3-fold cross-validation"


def test_a_model_without_a_search_space_is_named(run, source):
    outcome = run("tune", source, "--model", "popularity")
    assert "note: popularity has no setting to search" in outcome.err
    assert outcome.code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--search", "shrink="), "is not NAME or NAME=RANGE"),
        (("--search", "shrinc"), "did you mean 'shrink'"),
        (("--set", "shrink=-1"), "shrink of ItemKNN must be"),
        (("--metric", "ndcg"), "ndcg needs a list length"),
        (("--split", "ratioo"), "did you mean 'ratio'"),
        (("--out", "ratings.csv"), "is the file to read"),
        (("--trials", "0"), "trials of tune must be"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(run, source, words, sentence):
    refused = run("tune", source, "--model", "item-knn", *words)
    assert refused.code == 2
    assert sentence in refused.err


def test_charts_are_drawn_into_a_folder(run, here, source):
    outcome = run("tune", source, *FEW, "--plots", "charts")
    assert outcome.code == 0
    assert "wrote charts to charts" in outcome.err
    assert sorted(path.name for path in (here / "charts").iterdir()) == ["history.svg", "importance.svg", "slices.svg"]
    assert all(path.read_text().startswith("<svg ") for path in (here / "charts").iterdir())


def test_of_a_model_without_settings_only_the_history_is_drawn(run, here, source):
    assert run("tune", source, "--model", "popularity", "--plots", "charts").code == 0
    assert [path.name for path in (here / "charts").iterdir()] == ["history.svg"]


def test_a_file_is_no_folder_for_charts(run, source):
    assert "'ratings.csv' is a file, not a folder: choose another name." in run("tune", source, "--plots", source).err


def test_the_best_settings_go_to_standard_output_alone(run, source):
    outcome = run("tune", source, *FEW, "--out", "-")
    assert tomllib.loads(outcome.out)["model"]["name"] == "item-knn"
