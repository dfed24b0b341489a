"""Tuned rows: the same budget for everyone, on the valid part, and both trials and processor seconds are shown."""

import pytest

import corml

pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def study(split, kinds, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    models = [kinds["dial"](), "popularity"]
    return corml.compare(models, split, metrics="ndcg@10", trials=8, seeds=2, folder=folder), folder


def test_each_model_is_shown_with_its_defaults_and_tuned(study):
    assert [entry.label for entry in study[0]] == ["dial", "dial (tuned)", "popularity"]  # popularity has no settings
    plain, tuned = study[0]["dial"], study[0]["dial (tuned)"]
    assert plain.settings["noise"] == 9
    assert tuned.settings["noise"] < 9
    assert tuned.means["ndcg@10"] > plain.means["ndcg@10"]


def test_trials_and_processor_seconds_are_those_of_the_search(study):
    cost = study[0]["dial (tuned)"].cost
    assert cost.trials == 8  # once, for both seeds
    assert cost.tuning_processor > 0
    assert study[0]["dial"].cost.trials == 0
    row = next(line for line in study[0].to_text().splitlines() if line.startswith("dial (tuned)"))
    assert row.split()[-3:-1] == ["8", f"{cost.tuning_processor:.2f}"]


def test_the_search_is_made_once_and_kept(study, split, kinds):
    before, folder = study
    (search,) = (folder / "searches").iterdir()
    content = {path: path.read_bytes() for path in search.rglob("*.json")}
    assert len(content) == 8 + 1
    for path in (folder / "runs").glob("dial-tuned-*"):
        path.unlink()
    models = [kinds["dial"](), "popularity"]
    again = corml.compare(models, split, metrics="ndcg@10", trials=8, seeds=2, folder=folder)
    assert {path: path.read_bytes() for path in search.rglob("*.json")} == content
    assert again["dial (tuned)"].means == before["dial (tuned)"].means


def test_settings_that_are_given_are_not_searched(split, kinds):
    study = corml.compare([kinds["dial"](noise=3)], split, metrics="ndcg@10", trials=2)
    assert [entry.label for entry in study] == ["dial:noise=3"]


def test_a_model_is_not_its_own_rival(split, kinds):
    study = corml.compare([kinds["dial"](), kinds["dice"]()], split, metrics="ndcg@10", trials=8)
    assert study.best.label == "dial (tuned)"
    assert study.runner_up.label == "dice"


def test_seconds_alone_are_a_budget_too(split, kinds):
    study = corml.compare([kinds["dial"]()], split, metrics="ndcg@10", seconds=0.05)
    cost = study["dial (tuned)"].cost
    assert cost.tuning_processor >= 0.05  # the trial that passes the limit is finished
    assert "at most 0.05 CPU seconds for every model" in study.to_text()


def test_without_optuna_a_sentence_says_so_before_anything_is_fitted(split, kinds, monkeypatch):
    monkeypatch.setattr("corml.experiments.tuning.lazy_optuna.importlib.util.find_spec", lambda name: None)
    with pytest.raises(corml.CormlError, match="Optuna"):
        corml.compare([kinds["dice"](), kinds["dial"]()], split, trials=2)
    assert kinds["dice"].fits == []
