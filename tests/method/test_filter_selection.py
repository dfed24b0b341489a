"""Choosing a filter by held-out items: figures are those of whole rankings, and what is chosen gains twice."""

import numpy as np
import pytest

import corml
from corml._runtime.progress import silent
from corml._runtime.settings import values_of
from corml.data.strength import of_mean_square_one
from corml.linalg.sparse import column_degrees
from corml.linalg.topk import TopK
from corml.models.corml import selection
from corml.models.corml.estimator import CoRML
from corml.models.corml.hold_out import held_out, pick
from corml.models.corml.plan import SELECTED, make_plan
from corml.models.corml.problem import Weights
from corml.models.corml.scoring import Scoring
from corml.models.corml.selection import Combination, Learned, ndcg_of, select_filter
from corml.models.fitted import Settings
from support import with_weights


@pytest.fixture(scope="module")
def train():
    """Users with one of eight interests, and some chance."""
    rng = np.random.default_rng(3)
    users, items, groups = 400, 150, 8
    interest, kind = rng.integers(0, groups, users), rng.integers(0, groups, items)
    chance = np.where(interest[:, None] == kind, 0.3, 0.02) / np.arange(1, items + 1) ** 0.2
    return corml.Interactions.from_pairs(*np.nonzero(rng.random(chance.shape) < chance))


def selected(train, **settings):
    given = Settings(values_of(CoRML(adapt=True, **settings)))
    return select_filter(train.matrix, given=given, plan=make_plan(train.matrix, given), progress=silent)


def test_with_few_users_no_filter_is_selected(train):
    few = corml.Interactions.from_pairs(train.user[train.user < 150], train.item[train.user < 150])
    model = CoRML(adapt=True).fit(few)
    assert model.fitted_.plan.selection is None
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
        weights = dict(zip(held.targets[[row]].indices.tolist(), held.targets[[row]].data.tolist(), strict=True))
        gains = sum(weights.get(item, 0) / np.log2(place + 2) for place, item in enumerate(items))
        best_first = sorted(weights.values(), reverse=True)[:20]
        values.append(gains / sum(weight / np.log2(place + 2) for place, weight in enumerate(best_first)))
    return np.array(values)


@pytest.mark.parametrize("one", [Combination(8, 0.0, 1.0), Combination(16, 0.5, 0.5), Combination(16, 1.0, 1.4)])
@pytest.mark.parametrize("weighted", [False, True])
def test_ndcg_of_the_selection_equals_ndcg_of_full_rankings(train, one, weighted, monkeypatch):
    monkeypatch.setattr(selection, "PILOT", 150)
    given = Settings(values_of(CoRML(rank=8)))
    R = of_mean_square_one(with_weights(train).weighted) if weighted else train.matrix
    plan, held = make_plan(R, given), held_out(R, pick(R.indptr, np.random.default_rng(5).random(len(train))))
    settings = plan.resolved(given)
    V, sigma = selection._vectors(held.train, 16, (0.4, 0.4))
    H = selection._learn(held.train, V[:, :8], Settings({**settings, "tol": selection.TOLERANCE}), plan)
    combinations = [Combination(8, 0.0, 1.0), one]
    learned = Learned(column_degrees(held.train), V, sigma, H)
    values = ndcg_of(held, learned, combinations, Weights.of(settings))[:, 1]
    expected = whole_ranking(held, V, sigma, H, one, settings)
    assert np.abs(values - expected).mean() < 1e-3  # near-equal scores may swap
    assert np.corrcoef(values, expected)[0, 1] > 0.999


WEIGHTS = [Combination(8, 0.0, weight) for weight in (1.0, 0.5, 0.25)]


def noisy(base, *gains_and_errors):
    rng = np.random.default_rng(0)
    return np.hstack([base, *(base + rng.normal(gain, error, base.shape) for gain, error in gains_and_errors)])


def test_the_gain_must_be_larger_than_its_error():
    base = 0.2 * np.random.default_rng(1).random((1000, 1))
    values = noisy(base, (0.02, 2.0), (0.01, 0.02))
    trials, best = selection._judge(WEIGHTS, values, values)
    assert best == 2
    assert trials[0].gain == (0, 0)
    assert trials[2].gain == pytest.approx((0.1, 0.1), abs=0.03)
    assert trials[2].error == pytest.approx([0.2 / np.sqrt(1000)] * 2, rel=0.1)
    assert trials[2].ndcg == pytest.approx([0.11] * 2, abs=0.005)
    _, best = selection._judge(WEIGHTS[:2], noisy(base, (-0.01, 0.02)), noisy(base, (-0.01, 0.02)))
    assert best == 0


def test_a_filter_that_loses_in_one_group_is_not_chosen():
    base = 0.2 * np.random.default_rng(1).random((1000, 1))
    first, second = noisy(base, (0.05, 0.02), (0.01, 0.02)), noisy(base, (-0.01, 0.02), (0.01, 0.02))
    for groups in ((first, second), (second, first)):
        assert selection._judge(WEIGHTS, *groups)[1] == 2
        assert selection._judge(WEIGHTS[:2], *(group[:, :2] for group in groups))[1] == 0


def test_groups_are_compared_by_relative_gains():
    hard, easy = np.full((500, 1), 0.01), np.full((500, 1), 0.5)
    values = [np.hstack([base, base * 1.1, base * 1.2]) for base in (hard, easy)]
    values[1][:, 2] = 0.5 * 1.05  # 0.025 more: more than the hard half gains, but relatively less
    assert selection._judge(WEIGHTS, *values)[1] == 1


def test_with_times_the_latest_items_are_held_out(train):
    moments = np.random.default_rng(0).permutation(len(train)).astype(float)
    timed = corml.Interactions(train.users, train.items, train.user, train.item, moments)
    made = [CoRML().fit(data).fitted_.plan.selection for data in (train, timed)]
    assert [one.by_time for one in made] == [False, True]
    assert [one.groups[1] for one in made] == ["related items", "latest items"]
    assert made[0].trials[0].ndcg[1] != made[1].trials[0].ndcg[1]


def test_the_selected_filter_is_in_the_settings_and_its_trials_in_the_plan(train):
    model = CoRML(adapt=True, rank=8).fit(train)
    found = model.fitted_.plan.selection
    best = found.trials[found.chosen]
    settings = model.settings_
    assert (settings.filter_weight, settings.filter_power) == (best.filter_weight, best.filter_power)
    assert (settings.rank, settings.learn_rank) == (best.rank, 8) == (8, 8)
    assert 200 <= found.users <= 400
    sure = [min(gain - 2.5 * error for gain, error in zip(one.gain, one.error, strict=True)) for one in found.trials]
    assert sure[found.chosen] == max(sure) >= 0
    assert (found.trials[0].filter_weight, found.trials[0].filter_power) == (1.0, 0.0)


def test_fitting_with_the_selected_settings_gives_the_same_scores(train):
    model = CoRML(adapt=True, tol=1e-7).fit(train)
    again = CoRML(**{**model.settings_, "adapt": False}).fit(train)
    assert np.abs(again.scores(train) - model.scores(train)).max() < 1e-4 * np.abs(model.scores(train)).max()


def test_a_gain_below_two_and_a_half_standard_errors_is_ignored():
    base = 0.2 * np.random.default_rng(1).random((1000, 1))
    change = np.tile([[0.3], [-0.3]], (500, 1))
    error = 0.3 / np.sqrt(1000)
    for times, best in ((2.4, 0), (2.6, 1)):
        values = np.hstack([base, base + change + times * error])
        assert selection._judge(WEIGHTS[:2], values, values)[1] == best


def test_a_shaped_filter_explains_its_scores_and_treats_known_and_new_users_alike(train):
    model = CoRML(rank=16, learn_rank=4, filter_power=0.5, filter_weight=0.6, adapt=False).fit(train)
    row = train.matrix[[3]]
    history = train.items.labels[row.indices].tolist()
    known, new = model.recommend([train.users.labels[3]], k=5), model.recommend(history=[history], k=5)
    assert known.items.tolist() == new.items.tolist()
    for item, score in zip(new.items[0], new.scores[0], strict=True):
        assert model.explain(history, item).score == pytest.approx(score, rel=1e-5)
        parts = model._contributions(row.indices.astype(np.int64), int(train.items.rows([item])[0]))
        assert sum(part.sum() for part in parts.values()) == pytest.approx(score, rel=1e-5)


def test_given_settings_are_not_selected(train):
    given = {"filter_weight": 0.6, "filter_power": 0.3, "rank": 10, "learn_rank": 5}
    model = CoRML(adapt=True, **given).fit(train)
    assert {name: model.settings_[name] for name in given} == given
    assert len(model.fitted_.plan.selection.trials) == 1


def test_a_clipped_filter_is_not_selected(train):
    assert CoRML(adapt=True, filter="elementwise").fit(train).fitted_.plan.selection is None


def test_a_model_file_keeps_the_trials(train, tmp_path):
    model = CoRML(adapt=True).fit(train)
    model.save(tmp_path / "m.corml")
    loaded = corml.read_model(tmp_path / "m.corml")
    assert loaded.fitted_.plan == model.fitted_.plan
    assert loaded.settings_ == model.settings_
    assert loaded.recommend(history=[["1", "2"]]).items.tolist() == model.recommend(history=[["1", "2"]]).items.tolist()


def test_fewer_directions_and_steeper_filters_are_tried(train):
    chosen, found, _ = selected(train)
    assert chosen["learn_rank"] == 16  # H is learned beside the default rank
    assert [trial.rank for trial in found.trials[::20]] == [16, 8, 4]
    assert {trial.filter_power for trial in found.trials} == {0.0, 1.0, 2.0, 4.0}
    assert len(found.trials) == 3 * 4 * 5


def test_a_dial_selects_one_filter_for_all_its_positions(train):
    dial = CoRML.dial(train, (-0.1, 0.0, 0.1), adapt=True, tol=1e-6)
    found = dial.fitted_.plan.selection
    best = found.trials[found.chosen]
    for novelty, t in ((1.0, -0.1), (0.5, 0.0), (0.0, 0.1)):
        position = dial.at(novelty)
        chosen = {name: 16 if name == "learn_rank" else getattr(best, name) for name in SELECTED}
        assert {name: position.settings_[name] for name in SELECTED} == chosen
        alone = CoRML(**chosen, item_norm=t, tol=1e-6, adapt=False).fit(train)
        assert np.abs(position.scores(train) - alone.scores(train)).max() < 1e-3 * alone.scores(train).max()
