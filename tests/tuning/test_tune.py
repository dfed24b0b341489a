"""corml.tune finds the best settings on held-out pairs, within its budget, and never opens the test set."""

import re

import pytest

import corml
from corml import models
from corml._runtime.settings import choice, linear
from corml.errors import DataError, NumericalError, UsageError
from corml.experiments.tuning.objective import validation_of
from corml.splits import Split
from support import random_interactions


def outcomes(tuned):
    return [(trial.number, trial.settings, trial.score, trial.state) for trial in tuned.trials]


def score(model, split, metric="ndcg@10"):
    return corml.evaluate(model.fit(split.train), split, metric, part="valid")[metric]


class Sealed(Split):
    """A split whose test set cannot be touched."""

    def __getattribute__(self, name):
        if name in ("test", "history", "fingerprint", "counts", "parts"):
            raise AssertionError(f"the {name} of the split was opened")
        return super().__getattribute__(name)


@pytest.mark.parametrize("folds", [None, 3])
def test_the_test_set_is_never_opened(split, folds):
    sealed = Sealed(train=split.train, valid=split.valid, test=split.test, procedure=split.procedure)
    with pytest.raises(AssertionError, match="opened"):
        sealed.part("test")
    assert len(corml.tune("item-knn", sealed, trials=3, folds=folds).trials) == 3


def test_scores_are_those_of_the_models(split):
    tuned = corml.tune("ease", split, trials=8)
    assert tuned.trials[0].settings == {}
    assert tuned.default_score == score(models.make("ease"), split)
    assert tuned.score == score(tuned.make(), split) == max(trial.score for trial in tuned.trials)
    assert tuned.score > tuned.default_score


@pytest.mark.parametrize("folds", [None, 3])
def test_the_gain_is_the_paired_interval_over_users(split, folds):
    tuned = corml.tune("item-knn", split, trials=8, folds=folds)
    low, high = tuned.gain
    assert low <= high
    if folds is None:
        own, default = (
            corml.evaluate(model.fit(split.train), split, "ndcg@10", part="valid")
            for model in (tuned.make(), models.make("item-knn"))
        )
        assert own.compare(default)["ndcg@10"].interval == pytest.approx(tuned.gain, abs=1e-3)
    assert all(trial.gain is None for trial in tuned.trials if trial.score <= tuned.default_score)


def test_a_metric_without_values_of_users_has_no_interval_and_a_low_one_is_minimised(split):
    tuned = corml.tune("item-knn", split, metric="coverage@10", trials=6)
    assert tuned.score > tuned.default_score
    assert (tuned.gain, tuned.within_noise) == (None, False)
    tuned = corml.tune("item-knn", split, metric="popularity@5", trials=6)
    assert tuned.score == min(trial.score for trial in tuned.trials) < tuned.default_score


def test_a_resumed_search_has_the_same_intervals(split, tmp_path):
    corml.tune("item-knn", split, trials=2, journal=tmp_path / "j")
    resumed = corml.tune("item-knn", split, trials=8, journal=tmp_path / "j")
    assert [trial.gain for trial in resumed.trials] == [
        trial.gain for trial in corml.tune("item-knn", split, trials=8).trials
    ]
    assert any(trial.gain for trial in resumed.trials[2:])


def test_equal_seeds_give_equal_searches_and_a_longer_one_begins_like_a_shorter_one(split):
    search = outcomes(corml.tune("ease", split, trials=14))
    assert outcomes(corml.tune("ease", split, trials=14)) == search
    assert outcomes(corml.tune("ease", split, trials=6)) == search[:6]
    assert outcomes(corml.tune("ease", split, trials=3, seed=1)) != search[:3]


def test_no_setting_is_tried_twice_and_a_finite_space_ends(split):
    space = {"neighbours": choice(5, 10, 20), "shrink": choice(0.0, 30.0)}
    tuned = corml.tune("item-knn", split, trials=50, space=space)
    points = [tuple(trial.point.values()) for trial in tuned.trials[1:]]
    assert sorted(points) == sorted((n, s) for n in (5, 10, 20) for s in (0.0, 30.0))
    tuned = corml.tune("popularity", split, trials=5)  # without a space
    assert (len(tuned.trials), tuned.best) == (1, {})


def test_fixed_settings_are_those_of_every_trial(split):
    tuned = corml.tune("item-knn", split, trials=4, settings={"shrink": 7})
    assert tuned.searched == ("neighbours",)
    assert all(trial.settings["shrink"] == 7 for trial in tuned.trials)
    tuned = corml.tune(models.make("item-knn", {"shrink": 7}), split, trials=3)  # differs from the defaults
    assert [trial.settings["shrink"] for trial in tuned.trials] == [7, 7, 7]


# --- what is held out ------------------------------------------------------------------------------------------------


def test_a_fifth_of_the_items_is_held_out_of_interactions(data):
    (held,) = validation_of(data).splits
    assert len(held.valid) == pytest.approx(len(data) / 5, rel=0.1)
    assert len(held.train) + len(held.valid) == len(data)
    assert outcomes(corml.tune("ease", data, trials=3)) == outcomes(corml.tune("ease", data, trials=3))


def test_folds_hold_out_every_pair_once_and_their_score_is_the_mean(split, data):
    folds = validation_of(split, 5).splits
    assert len(folds) == 5
    assert sum(len(fold.valid) for fold in folds) == len(split.train) + len(split.valid)
    assert all(len(fold.test) == 0 for fold in folds)
    scores = [score(models.make("ease"), fold) for fold in validation_of(data, 3).splits]
    assert corml.tune("ease", data, trials=1, folds=3).score == pytest.approx(sum(scores) / 3, abs=1e-12)


def test_new_users_are_scored_by_their_histories(data):
    split = corml.split(data, "new-users")
    assert corml.tune("ease", split, trials=1).score == score(models.make("ease"), split)
    with pytest.raises(UsageError, match="this split divides users"):
        corml.tune("ease", split, trials=1, folds=3)


# --- budget and progress ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["seconds", "processor_seconds"])
def test_no_trial_begins_when_the_time_is_spent(split, limit):
    tuned = corml.tune("ease", split, trials=1000, **{limit: 0.15})
    spent = [getattr(trial, limit) for trial in tuned.trials]
    assert sum(spent[:-1]) < 0.15 <= sum(spent)
    assert sum(spent) == pytest.approx(getattr(tuned, limit))


def test_progress_shows_the_best_so_far_and_estimates_the_number_of_trials(split):
    seen = []
    tuned = corml.tune("ease", split, trials=5, progress=lambda *words: seen.append(words))
    assert seen[-1] == (f"trial 4, best ndcg@10 {tuned.score:.4f}", 5, 5)
    assert all(done <= total == 5 for _, done, total in seen)
    assert not any("at most" in stage for stage, *_ in seen)
    seen.clear()
    tuned = corml.tune("ease", split, trials=1000, seconds=1e-6, progress=lambda *words: seen.append(words))
    assert seen[0][2] == 1000
    assert seen[-1][0].startswith("trial 0 of at most 1000, time for about 1")
    assert seen[-1][1:] == (len(tuned.trials), len(tuned.trials)) == (1, 1)


# --- failures --------------------------------------------------------------------------------------------------------


def failing(monkeypatch, call):
    """Let one fit of ease fail, or all of them if no number is given."""
    calls, fit = [], models.get("ease").fit

    def broken(self, *data, **how):
        calls.append(self)
        if call in (None, len(calls)):
            raise NumericalError("not finite")
        return fit(self, *data, **how)

    monkeypatch.setattr(models.get("ease"), "fit", broken)


def test_a_trial_that_fails_is_reported_and_the_others_are_run(split, monkeypatch):
    failing(monkeypatch, 3)
    tuned = corml.tune("ease", split, trials=5)
    assert [trial.state for trial in tuned.trials] == ["complete", "complete", "failed", "complete", "complete"]
    assert (tuned.trials[2].reason, tuned.trials[2].score) == ("not finite", None)
    assert "5 trials (1 failed)" in str(tuned)


def test_defaults_that_fail_end_the_search(split, monkeypatch):
    failing(monkeypatch, None)
    with pytest.raises(NumericalError, match="not finite"):
        corml.tune("ease", split, trials=5)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"trials": 0}, UsageError, "trials of tune must be a number above 0; got '0'"),
        ({"seconds": -1}, UsageError, "seconds of tune must be"),
        ({"metric": "ndgc@10"}, UsageError, "did you mean 'ndcg'"),
        ({"model": "eease"}, UsageError, "did you mean 'ease'"),
        ({"model": 7}, UsageError, "tune takes a model or its name"),
        ({"settings": {"l2": -1}}, UsageError, "l2 of EASE must be"),
        ({"data": "ratings.csv"}, UsageError, "tune takes Interactions or a Split, not str"),
        ({"data": corml.Split(train=random_interactions(0))}, DataError, "has no validation set to tune on"),
    ],
)
def test_bad_arguments_are_refused(split, given, error, message):
    arguments = {"model": "ease", "data": split, "trials": 2, **given}
    with pytest.raises(error, match=re.escape(message)):
        corml.tune(arguments.pop("model"), arguments.pop("data"), **arguments)


def test_without_optuna_the_error_names_what_to_install(split, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape("pip install 'corml[tune]'")):
        corml.tune("ease", split)


# --- CoRML, and models that learn in epochs --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_users():
    return corml.split(random_interactions(5, users=400, items=50, mean=10), "ratio")


def test_the_defaults_adapt_to_the_data_and_later_trials_do_not(many_users):
    tuned = corml.tune(corml.CoRML, many_users, trials=12)
    assert tuned.trials[0].settings == {}
    for trial in tuned.trials:
        assert trial.score == pytest.approx(score(corml.CoRML(**trial.settings), many_users), abs=2e-3)
    for trial in tuned.trials[1:]:
        assert trial.settings["adapt"] is False
        assert {"rank", "filter_power", "filter_weight"} <= trial.settings.keys()
        assert "learn_rank" not in trial.settings


def test_what_the_defaults_chose_is_given_to_trials_that_do_not_search_it(many_users):
    tuned = corml.tune(corml.CoRML, many_users, trials=3, space=["mix"])
    chosen = corml.CoRML().fit(many_users.train).settings_
    expected = {name: chosen[name] for name in ("rank", "learn_rank", "filter_power", "filter_weight")}
    for trial in tuned.trials[1:]:
        assert {k: v for k, v in trial.settings.items() if k != "mix"} == {"adapt": False, **expected}


def test_trials_share_what_their_settings_do_not_change(many_users, monkeypatch):
    import corml.models.corml.sparse.reuse as reuse

    made, singular_vectors = [], reuse.singular_vectors
    monkeypatch.setattr(reuse, "singular_vectors", lambda *given: made.append(given) or singular_vectors(*given))
    corml.tune(corml.CoRML, many_users, trials=6, space={"mix": linear(0.5, 0.9), "rank": choice(8, 16)})
    assert len(made) == 1


def test_poor_trials_of_models_that_learn_in_epochs_are_pruned(split):
    pytest.importorskip("torch")
    settings, space = {"epochs": 12, "size": 8}, {"learning_rate": choice(*(0.01 / 2**n for n in range(12)))}
    tuned = corml.tune("bpr-mf", split, trials=12, settings=settings, space=space)
    pruned = [trial for trial in tuned.trials if trial.state == "pruned"]
    assert pruned
    assert all(5 <= len(trial.curve) < 12 for trial in pruned)
    assert all(trial.score == max(value for _, value in trial.curve) for trial in pruned)
    assert tuned.best_trial.state == "complete"
    assert tuned.score > max(trial.score for trial in pruned)
