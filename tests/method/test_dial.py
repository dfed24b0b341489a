"""The novelty dial: a family of models in one, from popular to novel."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import corml
from corml import models
from corml.errors import ModelFileError, SettingError, UsageError
from corml.models.corml.scoring import Scoring
from support import random_interactions, with_arrays


@pytest.fixture(scope="module")
def data():
    return random_interactions(0, 300, 80, 8)


@pytest.fixture(scope="module")
def dial(data):
    return corml.CoRML.dial(data, item_norms=(-0.3, 0.0, 0.3), rank=8)


def test_each_position_is_the_model_fitted_alone(data, dial):
    for novelty, t in ((1, -0.3), (0.5, 0.0), (0, 0.3)):
        alone = corml.CoRML(rank=8, item_norm=t).fit(data)
        position = dial.at(novelty)
        assert position.item_norm == t
        np.testing.assert_allclose(position.H_.toarray(), alone.H_.toarray(), atol=1e-3 * alone.H_.data.max())


def test_higher_novelty_gives_rarer_items():
    split = corml.split(corml.load("movielens-small", at_least=4, k_core=10), "ratio")
    dial = corml.CoRML.dial(split.train, item_norms=(-0.2, 0.0, 0.2))
    found = [corml.evaluate(dial.at(novelty), split, "novelty@10", intervals=False) for novelty in (0, 0.5, 1)]
    assert found[0]["novelty@10"] < found[1]["novelty@10"] < found[2]["novelty@10"]


def test_novelty_is_rounded_to_the_nearest_operating_point(dial):
    assert dial.at(0.9) is dial.at(1)
    assert dial.at(0.6) is dial.at(0.5)
    assert dial.recommend(["u1"], k=3).items.tolist() == dial.recommend(["u1"], k=3, novelty=0.5).items.tolist()


def test_one_file_holds_all_operating_points(dial, tmp_path):
    dial.save(tmp_path / "d.corml")
    loaded = corml.read_model(tmp_path / "d.corml")
    for novelty in (0, 0.5, 1):
        expected = dial.recommend(["u1", "u2"], k=5, novelty=novelty)
        assert loaded.recommend(["u1", "u2"], k=5, novelty=novelty).items.tolist() == expected.items.tolist()
    assert loaded.explain("u1", "i3").score == pytest.approx(dial.explain("u1", "i3").score)


def test_a_position_that_is_no_metric_is_not_saved(data, tmp_path):
    dial = corml.CoRML.dial(data, item_norms=(0.0, 0.1), rank=4)
    dial = with_arrays(dial, H1=-dial.fitted_.arrays["H1"])
    with pytest.raises(ModelFileError):
        dial.save(tmp_path / "d.corml")


@pytest.mark.parametrize("novelty", [-0.1, 1.1, "much", True])
def test_novelty_outside_zero_to_one_is_refused(dial, novelty):
    with pytest.raises(UsageError, match="novelty must be a number from 0"):
        dial.recommend(["u1"], novelty=novelty)


@pytest.mark.parametrize("norms", [[0.1], [0.2, 0.1], [0.0, 2.0], [0.1, 0.1], ["a", "b"], "0.2,0.1", None])
def test_item_norms_must_ascend(norms):
    with pytest.raises(SettingError, match="ascending numbers"):
        models.make("corml-dial", {"item_norms": norms})


def test_operating_points_share_all_settings_but_item_norm(data):
    with pytest.raises(SettingError, match="leave item_norm out"):
        corml.CoRML.dial(data, item_norm=0.1)
    with pytest.raises(SettingError, match="did you mean 'ridge'"):
        corml.CoRML.dial(data, rigde=5)


def test_each_position_begins_from_the_one_before(data, monkeypatch):
    begun, plain = [], corml.CoRML.fit

    def recorded(model, train, *, warm_start=None, **how):
        begun.append((model.item_norm, None if warm_start is None else warm_start.item_norm))
        return plain(model, train, warm_start=warm_start, **how)

    monkeypatch.setattr(corml.CoRML, "fit", recorded)
    corml.CoRML.dial(data, item_norms=(-0.1, 0.0, 0.1), rank=4, adapt=False)
    assert begun == [(-0.1, None), (0.0, -0.1), (0.1, 0.0)]


def test_concurrent_first_calls_get_the_same_operating_points(dial):
    """Ten thousand first calls, in threads that start together: nobody sees a position that is being made."""
    calls, workers = 10_000, 16
    fresh = [copy.copy(dial) for _ in range(calls // workers)]
    for one in fresh:
        vars(one).pop("_derived", None)
    start = threading.Barrier(workers)

    def ask(worker):
        start.wait()
        return [one.at(worker / (workers - 1)) for one in fresh]

    with ThreadPoolExecutor(workers) as pool:
        answers = list(pool.map(ask, range(workers)))
    assert all(position.H_.shape == (80, 80) for row in answers for position in row)
    for worker, row in enumerate(answers):
        assert all(one.at(worker / (workers - 1)) is position for one, position in zip(fresh, row, strict=True))


def test_positions_share_what_their_filter_needs(dial):
    first, *others = (dial.at(novelty)._scoring for novelty in (0, 0.5, 1))
    assert all(one.left is first.left and one.right is first.right and one.own is first.own for one in others)
    alone = Scoring.of(others[0].H, others[0].V, others[0].d, others[0].weights, others[0].filter)
    np.testing.assert_array_equal(alone.left, first.left)
    np.testing.assert_array_equal(alone.right, first.right)
