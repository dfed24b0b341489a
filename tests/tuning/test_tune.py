"""corml.tune finds the best settings on held-out pairs, within its budget, and never opens the test part."""

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


class Sealed(Split):
    """A split whose test part cannot be touched."""

    def __getattribute__(self, name):
        if name in ("test", "history", "fingerprint", "counts", "parts"):
            raise AssertionError(f"the {name} of the split was opened")
        return super().__getattribute__(name)


@pytest.mark.parametrize("folds", [None, 3])
def test_the_test_part_is_never_opened(split, folds):
    sealed = Sealed(train=split.train, valid=split.valid, test=split.test, procedure=split.procedure)
    with pytest.raises(AssertionError, match="opened"):
        sealed.part("test")
    assert len(corml.tune("item-knn", sealed, trials=3, folds=folds).trials) == 3


def test_the_first_trial_has_the_untouched_defaults(split):
    tuned = corml.tune("item-knn", split, trials=2)
    expected = corml.evaluate(models.make("item-knn").fit(split.train), split, "ndcg@10", part="valid")
    assert tuned.trials[0].settings == {}
    assert tuned.default_score == expected["ndcg@10"]


def test_the_best_score_is_that_of_the_model_with_the_best_settings(split):
    tuned = corml.tune("ease", split, trials=8)
    again = corml.evaluate(tuned.make().fit(split.train), split, "ndcg@10", part="valid")
    assert tuned.score == again["ndcg@10"] == max(trial.score for trial in tuned.trials)
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


def test_a_metric_without_values_of_users_has_no_interval(split):
    tuned = corml.tune("item-knn", split, metric="coverage@10", trials=6)
    assert tuned.score > tuned.default_score
    assert (tuned.gain, tuned.within_noise) == (None, False)


def test_a_continued_search_has_the_same_intervals(split, tmp_path):
    corml.tune("item-knn", split, trials=2, journal=tmp_path / "j")
    continued = corml.tune("item-knn", split, trials=8, journal=tmp_path / "j")
    whole = corml.tune("item-knn", split, trials=8)
    assert [trial.gain and tuple(trial.gain) for trial in continued.trials] == [trial.gain for trial in whole.trials]
    assert any(trial.gain for trial in continued.trials[2:])


def test_a_metric_that_should_be_low_is_made_low(split):
    tuned = corml.tune("item-knn", split, metric="popularity@5", trials=6)
    assert tuned.score == min(trial.score for trial in tuned.trials) < tuned.default_score


def test_equal_seeds_give_equal_searches(split):
    assert outcomes(corml.tune("ease", split, trials=14)) == outcomes(corml.tune("ease", split, trials=14))
    assert outcomes(corml.tune("ease", split, trials=3)) != outcomes(corml.tune("ease", split, trials=3, seed=1))


def test_a_longer_search_begins_like_a_shorter_one(split):
    assert outcomes(corml.tune("ease", split, trials=12))[:6] == outcomes(corml.tune("ease", split, trials=6))


def test_no_setting_is_tried_twice_and_a_finite_space_ends(split):
    space = {"neighbours": choice(5, 10, 20), "shrink": choice(0.0, 30.0)}
    tuned = corml.tune("item-knn", split, trials=50, space=space)
    points = [tuple(trial.point.values()) for trial in tuned.trials[1:]]
    assert sorted(points) == sorted((n, s) for n in (5, 10, 20) for s in (0.0, 30.0))


def test_a_model_without_a_search_space_is_scored_with_its_defaults(split):
    tuned = corml.tune("popularity", split, trials=5)
    assert len(tuned.trials) == 1
    assert tuned.best == {}


def test_fixed_settings_are_those_of_every_trial(split):
    tuned = corml.tune("item-knn", split, trials=4, settings={"shrink": 7})
    assert tuned.searched == ("neighbours",)
    assert all(trial.settings["shrink"] == 7 for trial in tuned.trials)


def test_a_model_given_as_an_object_keeps_what_differs_from_the_defaults(split):
    model = models.make("item-knn", {"shrink": 7})
    tuned = corml.tune(model, split, trials=3)
    assert [trial.settings["shrink"] for trial in tuned.trials] == [7, 7, 7]


def test_every_model_class_can_be_tuned_by_itself(data):
    tuned = corml.tune("ease", data, trials=3)
    assert tuned.model == "ease"
    assert outcomes(tuned) == outcomes(corml.tune("ease", data, trials=3))


def test_of_interactions_a_fifth_of_the_items_is_held_out(data):
    parts = validation_of(data).splits
    assert len(parts) == 1
    assert len(parts[0].valid) == pytest.approx(len(data) / 5, rel=0.1)
    assert len(parts[0].train) + len(parts[0].valid) == len(data)


def test_folds_hold_out_every_pair_of_train_and_valid_once(split):
    parts = validation_of(split, 5).splits
    assert len(parts) == 5
    assert sum(len(part.valid) for part in parts) == len(split.train) + len(split.valid)
    assert all(len(part.test) == 0 for part in parts)


def test_the_score_of_folds_is_their_mean(data):
    tuned, scores = corml.tune("ease", data, trials=1, folds=3), []
    for part in validation_of(data, 3).splits:
        model = models.make("ease").fit(part.train)
        scores.append(corml.evaluate(model, part, "ndcg@10", part="valid")["ndcg@10"])
    assert tuned.score == pytest.approx(sum(scores) / 3, abs=1e-12)


def test_new_users_are_scored_by_their_histories(data):
    split = corml.split(data, "new-users")
    tuned = corml.tune("ease", split, trials=1)
    expected = corml.evaluate(models.make("ease").fit(split.train), split, "ndcg@10", part="valid")
    assert tuned.score == expected["ndcg@10"]
    with pytest.raises(UsageError, match="this split divides users"):
        corml.tune("ease", split, trials=1, folds=3)


@pytest.mark.parametrize("limit", ["seconds", "processor_seconds"])
def test_no_trial_begins_when_the_time_is_spent(split, limit):
    tuned = corml.tune("ease", split, trials=1000, **{limit: 0.15})
    spent = [getattr(trial, limit) for trial in tuned.trials]
    assert sum(spent[:-1]) < 0.15 <= sum(spent)
    assert sum(spent) == pytest.approx(getattr(tuned, limit))


def test_progress_tells_the_best_so_far(split):
    heard = []
    tuned = corml.tune("ease", split, trials=5, progress=lambda *words: heard.append(words))
    assert heard[-1] == (f"trial 4, best ndcg@10 {tuned.score:.4f}", 5, 5)
    assert all(done <= total == 5 for _, done, total in heard)


def test_with_time_as_a_budget_the_number_of_trials_is_estimated(split):
    heard = []
    tuned = corml.tune("ease", split, trials=1000, seconds=0.3, progress=lambda *words: heard.append(words))
    assert heard[0][2] == 1000
    assert heard[-1][1:] == (len(tuned.trials), len(tuned.trials))


def test_a_trial_that_fails_is_reported_and_the_others_go_on(split, monkeypatch):
    EASE, calls = models.get("ease"), []
    fit = EASE.fit

    def failing(self, *data, **how):
        calls.append(self)
        if len(calls) == 3:
            raise NumericalError("not finite")
        return fit(self, *data, **how)

    monkeypatch.setattr(EASE, "fit", failing)
    tuned = corml.tune("ease", split, trials=5)
    assert [trial.state for trial in tuned.trials] == ["complete", "complete", "failed", "complete", "complete"]
    assert (tuned.trials[2].reason, tuned.trials[2].score) == ("not finite", None)
    assert "5 trials (1 failed)" in str(tuned)


def test_defaults_that_fail_end_the_search(split, monkeypatch):
    def failing(self, *data, **how):
        raise NumericalError("not finite")

    monkeypatch.setattr(models.get("ease"), "fit", failing)
    with pytest.raises(NumericalError, match="not finite"):
        corml.tune("ease", split, trials=5)


@pytest.mark.parametrize(
    ("asked", "error", "sentence"),
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
def test_what_cannot_be_meant_is_refused_in_a_sentence(split, asked, error, sentence):
    arguments = {"model": "ease", "data": split, "trials": 2, **asked}
    with pytest.raises(error, match=re.escape(sentence)):
        corml.tune(arguments.pop("model"), arguments.pop("data"), **arguments)


def test_without_optuna_a_sentence_says_what_to_install(split, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape("pip install 'corml[tune]'")):
        corml.tune("ease", split)


# --- CoRML -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_users():
    return corml.split(random_interactions(5, users=400, items=50, mean=10), "ratio")


def test_the_defaults_look_at_the_data_and_later_trials_do_not(many_users):
    tuned = corml.tune(corml.CoRML, many_users, trials=4)
    assert tuned.trials[0].settings == {}
    for trial in tuned.trials[1:]:
        assert trial.settings["adapt"] is False
        assert {"rank", "filter_power", "filter_weight"} <= trial.settings.keys()
        assert "learn_rank" not in trial.settings


def test_what_the_defaults_chose_is_given_to_trials_that_do_not_search_it(many_users):
    tuned = corml.tune(corml.CoRML, many_users, trials=3, space=["mix"])
    chosen = corml.CoRML().fit(many_users.train).settings_
    for trial in tuned.trials[1:]:
        assert {name: value for name, value in trial.settings.items() if name != "mix"} == {
            "adapt": False,
            **{name: chosen[name] for name in ("rank", "learn_rank", "filter_power", "filter_weight")},
        }


def test_a_trial_gives_what_a_fit_without_a_workspace_gives(many_users):
    tuned = corml.tune(corml.CoRML, many_users, trials=12)
    for trial in tuned.trials:
        model = corml.CoRML(**trial.settings).fit(many_users.train)
        alone = corml.evaluate(model, many_users, "ndcg@10", part="valid")["ndcg@10"]
        assert trial.score == pytest.approx(alone, abs=2e-3)


def test_trials_share_what_their_settings_do_not_change(many_users, monkeypatch):
    made = []
    import corml.models.corml.sparse.reuse as reuse

    singular_vectors = reuse.singular_vectors
    monkeypatch.setattr(reuse, "singular_vectors", lambda *given: made.append(given) or singular_vectors(*given))
    corml.tune(corml.CoRML, many_users, trials=6, space={"mix": linear(0.5, 0.9), "rank": choice(8, 16)})
    assert len(made) == 1


# --- models that learn in epochs -------------------------------------------------------------------------------------


def test_poor_trials_of_models_that_learn_in_epochs_are_pruned(split):
    pytest.importorskip("torch")
    settings, space = {"epochs": 12, "size": 8}, {"learning_rate": choice(*(0.01 / 2**n for n in range(12)))}
    tuned = corml.tune("bpr-mf", split, trials=12, settings=settings, space=space)
    pruned = [trial for trial in tuned.trials if trial.state == "pruned"]
    assert pruned
    assert all(5 <= len(trial.curve) < 12 and trial.score == max(score for _, score in trial.curve) for trial in pruned)
    assert tuned.best_trial.state == "complete"
    assert tuned.score > max(trial.score for trial in pruned)


def test_progress_names_the_trials_asked_for_where_time_ends_the_search_sooner(split):
    seen = []
    corml.tune("ease", split, trials=6, seconds=1e-6, progress=lambda stage, done, total: seen.append((stage, total)))
    assert seen[-1][0].startswith("trial 0 of at most 6, time for about 1")
    seen.clear()
    corml.tune("ease", split, trials=1, progress=lambda stage, done, total: seen.append((stage, total)))
    assert not any("at most" in stage for stage, _ in seen)
