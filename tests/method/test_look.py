"""Choosing a filter by held-out items: what is held out, that figures are those of whole rankings, and the choice."""

import numpy as np
import pytest

import corml
from corml.fitted import Settings
from corml.linalg.scaling import column_degrees
from corml.linalg.topk import TopK
from corml.method import look as looking
from corml.method.estimator import CoRML
from corml.method.look import Combination, hold_out, look
from corml.method.plan.plan import LOOKED_AT, make_plan
from corml.method.problem import Weights
from corml.method.scoring import Scoring
from corml.progress import silent
from corml.settings import values_of


@pytest.fixture(scope="module")
def train():
    """Users with one of eight interests, and some chance."""
    rng = np.random.default_rng(3)
    users, items, groups = 400, 150, 8
    interest, kind = rng.integers(0, groups, users), rng.integers(0, groups, items)
    chance = np.where(interest[:, None] == kind, 0.3, 0.02) / np.arange(1, items + 1) ** 0.2
    return corml.Interactions.from_pairs(*np.nonzero(rng.random(chance.shape) < chance))


def looked(train, **settings):
    given = Settings(values_of(CoRML(adapt=True, **settings)))
    return look(train.matrix, given=given, plan=make_plan(train.matrix, given), progress=silent)


def test_a_fifth_of_the_items_of_some_users_is_held_out_and_nothing_is_lost(train, monkeypatch):
    monkeypatch.setattr(looking, "USERS", 250)
    X, held = train.matrix, hold_out(train.matrix)
    targets = np.zeros(X.shape, dtype=bool)
    targets[held.users] = held.targets.toarray() > 0
    assert len(held.users) == 250
    assert not (targets & (held.train.toarray() > 0)).any()
    assert np.array_equal(targets | (held.train.toarray() > 0), X.toarray() > 0)
    degrees = np.diff(X.indptr)[held.users]
    assert (degrees >= 3).all()
    assert np.array_equal(np.diff(held.targets.indptr), np.maximum(1, np.rint(0.2 * degrees)))


def test_equal_data_have_equal_items_held_out(train):
    first, second = hold_out(train.matrix), hold_out(train.matrix)
    assert np.array_equal(first.users, second.users)
    assert (first.targets != second.targets).nnz == 0


def test_which_items_are_held_out_is_left_to_chance(train):
    held = hold_out(train.matrix)
    positions = [
        np.searchsorted(train.matrix[[user]].indices, held.targets[[row]].indices).mean() / train.matrix[[user]].nnz
        for row, user in enumerate(held.users)
    ]
    assert 0.35 < np.mean(positions) < 0.6


def test_few_users_are_not_looked_at(train):
    few = corml.Interactions.from_pairs(train.user[train.user < 150], train.item[train.user < 150])
    assert hold_out(few.matrix) is None
    model = CoRML(adapt=True).fit(few)
    assert model.fitted_.plan.look is None
    assert (model.settings_.filter_weight, model.settings_.filter_power) == (1.0, 0.0)


def whole_ranking(held, V, sigma, H, one, settings):
    """NDCG@20 with every item scored."""
    d, X = column_degrees(held.train), held.train[held.users]
    X.sort_indices()
    weights = (sigma[: one.rank] / sigma[0]) ** one.filter_power
    V = V[:, : one.rank] * np.sqrt(weights / weights.mean())
    numbers = Weights.of(Settings({**settings, "filter_weight": one.filter_weight}))
    scores = Scoring.of(H, V, d, numbers, "factored").block(X, slice(0, X.shape[1]))
    best = TopK(len(held.users), 20, X)
    best.add(scores, 0)
    values = []
    for row, items in enumerate(best.columns):
        targets = set(held.targets[[row]].indices.tolist())
        gains = sum(1 / np.log2(place + 2) for place, item in enumerate(items) if item in targets)
        values.append(gains / sum(1 / np.log2(place + 2) for place in range(min(20, len(targets)))))
    return np.array(values)


@pytest.mark.parametrize(
    "one", [Combination(8, 8, 0.0, 1.0), Combination(16, 8, 0.5, 0.5), Combination(16, 2, 1.0, 1.4)]
)
def test_figures_are_those_of_ranking_every_item(train, one, monkeypatch):
    monkeypatch.setattr(looking, "PILOT", 150)
    given = Settings(values_of(CoRML(rank=8)))
    plan, held = make_plan(train.matrix, given), hold_out(train.matrix)
    V, sigma = looking._vectors(held.train, 16, (0.4, 0.4))
    matrices = looking._learn(held.train, V, (8, 2), given, plan)
    combinations = [Combination(8, 8, 0.0, 1.0), one]
    values = looking._compare(held, V, sigma, matrices, combinations, plan.resolved(given))[:, 1]
    expected = whole_ranking(held, V, sigma, matrices[one.learn_rank], one, plan.resolved(given))
    assert np.abs(values - expected).mean() < 1e-3  # near-equal scores may change places
    assert np.corrcoef(values, expected)[0, 1] > 0.999


def test_the_gain_must_be_larger_than_its_error():
    combinations = [Combination(8, 8, 0.0, weight) for weight in (1.0, 0.5, 0.25)]
    rng = np.random.default_rng(0)
    base = rng.random((1000, 1))
    noisy, sure = base + rng.normal(0.02, 2.0, (1000, 1)), base + rng.normal(0.01, 0.02, (1000, 1))
    trials, best = looking._judge(combinations, np.hstack([base, noisy, sure]))
    assert best == 2
    assert trials[0].gain == 0
    assert trials[2].gain == pytest.approx(0.01, abs=0.003)
    assert trials[2].error == pytest.approx(0.02 / np.sqrt(1000), rel=0.1)
    _, best = looking._judge(combinations[:2], np.hstack([base, base - 0.01]))
    assert best == 0


def test_what_was_chosen_is_in_the_settings_and_why_is_in_the_plan(train):
    model = CoRML(adapt=True, rank=8).fit(train)
    found = model.fitted_.plan.look
    best = found.trials[found.chosen]
    settings = model.settings_
    assert (settings.filter_weight, settings.filter_power) == (best.filter_weight, best.filter_power)
    assert (settings.rank, settings.learn_rank) == (best.rank, best.learn_rank) == (8, best.learn_rank)
    assert 200 <= found.users <= 400
    assert best.gain - best.error == max(trial.gain - trial.error for trial in found.trials)
    assert (found.trials[0].filter_weight, found.trials[0].filter_power, found.trials[0].learn_rank) == (1.0, 0.0, 8)


def test_fitting_with_what_was_chosen_gives_the_same_lists(train):
    model = CoRML(adapt=True, tol=1e-7).fit(train)
    again = CoRML(**{**model.settings_, "adapt": False}).fit(train)
    assert np.abs(again.scores(train) - model.scores(train)).max() < 1e-4 * np.abs(model.scores(train)).max()


def test_settings_that_are_given_stay(train):
    given = {"filter_weight": 0.6, "filter_power": 0.3, "rank": 10, "learn_rank": 5}
    model = CoRML(adapt=True, **given).fit(train)
    assert {name: model.settings_[name] for name in given} == given
    assert len(model.fitted_.plan.look.trials) == 1


def test_a_clipped_filter_is_not_looked_at(train):
    assert CoRML(adapt=True, filter="elementwise").fit(train).fitted_.plan.look is None


def test_a_model_file_keeps_the_look(train, tmp_path):
    model = CoRML(adapt=True).fit(train)
    model.save(tmp_path / "m.corml")
    loaded = corml.read_model(tmp_path / "m.corml")
    assert loaded.fitted_.plan == model.fitted_.plan
    assert loaded.settings_ == model.settings_
    assert loaded.recommend(history=[["1", "2"]]).items.tolist() == model.recommend(history=[["1", "2"]]).items.tolist()


def test_higher_ranks_are_tried_up_to_a_limit(train):
    _, found, _ = looked(train)
    assert {trial.rank for trial in found.trials} == {16, 32}
    assert {trial.learn_rank for trial in found.trials} == {16, 4}
    assert {trial.filter_power for trial in found.trials} == {0.0, 0.5, 1.0}
    assert len(found.trials) == 2 * 2 * 3 * 6


def test_a_dial_looks_once_for_all_its_positions(train):
    dial = CoRML.dial(train, (-0.1, 0.0, 0.1), adapt=True, tol=1e-6)
    found = dial.fitted_.plan.look
    best = found.trials[found.chosen]
    for novelty, t in ((1.0, -0.1), (0.5, 0.0), (0.0, 0.1)):
        position = dial.at(novelty)
        assert {name: position.settings_[name] for name in LOOKED_AT} == {
            name: getattr(best, name) for name in LOOKED_AT
        }
        alone = CoRML(**{name: getattr(best, name) for name in LOOKED_AT}, item_norm=t, tol=1e-6).fit(train)
        assert np.abs(position.scores(train) - alone.scores(train)).max() < 1e-3 * alone.scores(train).max()
