"""Whatever `corml models` lists survives a working week on weighted data: fit, save, read, lists, reasons, update.

The models come from the registry, so a new one is walked through here without another line; settings that choose how
a fit is computed make a variant each.
"""

import warnings

import numpy as np
import pytest

import corml
from corml import models
from corml._runtime.settings import declared
from corml.errors import UsageError, WeightsWarning
from corml.models.neural.training.gradient_model import GradientModel
from journeys.shop import NEGATIVE, WEIGHTS, make_shop

LOADING = {
    "event": "event",
    "weights": WEIGHTS,
    "negative": {NEGATIVE},
    "rating": False,
    "half_life": "90d",
    "null_ids": "drop",
}
WAYS = {"solver": ("admm", "sparse"), "route": ("dense", "local", "users", "pairs")}  # the same model, other arithmetic


def walkers():
    """List each model with its defaults, and with each way to compute it that it knows."""
    for name in models.names():
        yield pytest.param(name, {}, id=name)
        for setting, ways in WAYS.items():
            spec = declared(models.get(name)).get(setting)
            for way in ways if spec else ():
                if spec.rule.holds(way):
                    yield pytest.param(name, {setting: way}, id=f"{name}-{way}")


def brief(name):
    """A few epochs are enough to walk through."""
    return {"epochs": 2, "size": 8} if "epochs" in declared(models.get(name)) else {}


@pytest.fixture(scope="module")
def small_shop():
    return make_shop(5_000)


@pytest.fixture(scope="module")
def year(small_shop):
    """What is known two weeks before the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", corml.errors.DataWarning)
        return corml.load(small_shop.before(small_shop.weeks_before_the_end(2)), **LOADING, k_core=2)


@pytest.fixture(scope="module")
def weeks(small_shop):
    """What happens in the two last weeks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", corml.errors.DataWarning)
        return corml.load(small_shop.since(small_shop.weeks_before_the_end(2)), **LOADING, as_update=True)


@pytest.mark.parametrize(("name", "settings"), list(walkers()))
def test_a_model_survives_fit_save_read_recommend_explain_and_update_on_weighted_data(
    name, settings, year, weeks, tmp_path
):
    if issubclass(models.get(name), GradientModel):
        pytest.importorskip("torch")
    made = models.make(name, {**brief(name), **settings})
    fitted = fit(made, year)
    fitted.save(tmp_path / "year.corml")
    model = corml.read_model(tmp_path / "year.corml")

    users = list(model.users_)
    lists = model.recommend(users, k=10)
    assert_same(lists, fitted.recommend(users, k=10))
    assert_good(lists, model, year)
    assert_explained(model, lists)

    updated = model.update(weeks)
    updated.save(tmp_path / "weeks.corml")
    again = corml.read_model(tmp_path / "weeks.corml")
    newcomers = [user for user in weeks.users.labels.tolist() if user not in set(users)]
    assert newcomers
    later = updated.recommend([*users, *newcomers], k=10)
    assert_same(again.recommend([*users, *newcomers], k=10), later)
    assert_good(later, again, year, weeks)
    assert_explained(again, later)

    refitted = fit_again(again)
    learned = {item for item in weeks.items.labels if item not in set(model.items_.labels)}
    assert learned & set(refitted.items_.labels)
    assert_good(refitted.recommend([*users, *newcomers], k=10), refitted, year, weeks)


def fit(model, data):
    """A fit; a model that counts all pairs alike says that it does."""
    if model.LEARNS_WEIGHTS:
        return model.fit(data)
    with pytest.warns(WeightsWarning):
        return model.fit(data)


def fit_again(model):
    if model.LEARNS_WEIGHTS:
        return model.refitted()
    with pytest.warns(WeightsWarning):
        return model.refitted()


def known_to(user, *parts):
    """What anyone's data say of a user: likes, and what was only seen."""
    items = set()
    for data in parts:
        for part in (data, data.seen, data.others, data.elsewhere, data.others and data.others.seen):
            row = -1 if part is None else part.users.find([user])[0]
            if row >= 0:
                items |= set(part.items.labels[part.item[part.user == row]])
    return items


def assert_same(lists, others):
    np.testing.assert_array_equal(lists.items, others.items)
    np.testing.assert_array_equal(lists.scores, others.scores)
    assert lists.sources == others.sources


def assert_good(lists, model, *parts):
    """Full, falling in score, of finite numbers, without anything known; personal ones are not all alike."""
    for user, items, scores in zip(lists.users, lists.values(), lists.scores, strict=True):
        assert len(items) == 10
        assert not known_to(user, *parts) & set(items), user
        assert np.isfinite(scores).all()
        assert (np.diff(scores) <= 0).all()
    assert lists.sources.count("personal") > 0
    assert model.NAME == "popularity" or len({tuple(items) for items in lists.values()}) > len(lists) / 4


def assert_explained(model, lists):
    """The contributions of a history sum to the score in the list, or the model says that it cannot tell."""
    personal = [row for row, source in enumerate(lists.sources) if source == "personal"][::20]
    if not model.LEARNS_WEIGHTS:
        with pytest.raises(UsageError, match="so there is nothing to explain"):
            model.explain(lists.users[personal[0]], lists.items[personal[0], 0])
        return
    for row in personal:
        why = model.explain(lists.users[row], lists.items[row, 0])
        assert why.score == pytest.approx(lists.scores[row, 0], rel=2e-4, abs=2e-6)
        assert set(why.history) <= set(model.items_.labels)
