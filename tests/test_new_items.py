"""Items that nobody has: linked to the items that they are like, scored as these in the mean, explained by them."""

import numpy as np
import pytest

import corml
from corml import models
from corml.data import likeness as content
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.errors import ModelFileError, UsageError
from corml.persistence import container

GROUPS = {"a": "Action", "d": "Drama"}  # two groups of items, each with its own users


def world(rng):
    """Twenty users of ten items each, half of them of action, half of drama; some of each group also look elsewhere."""
    pairs = []
    for user in range(20):
        group = "a" if user < 10 else "d"
        pairs += [(f"u{user}", f"{group}{item}") for item in rng.choice(8, 5, replace=False)]
        pairs += [(f"u{user}", f"{'d' if group == 'a' else 'a'}{rng.integers(8)}")]
    return Interactions.from_pairs(*zip(*pairs, strict=True))


TABLE = {
    "item": [f"{group}{item}" for group in GROUPS for item in range(8)],
    "genre": [genre for genre in GROUPS.values() for _ in range(8)],
    "year": [1990 + item for _ in GROUPS for item in range(8)],
}
NEW = {"item": ["new-a", "new-d", "alien"], "genre": ["Action", "Drama", None], "year": [1992, 1997, None]}


@pytest.fixture(scope="module")
def data():
    return world(np.random.default_rng(3))


def fitted(name, data):
    return models.make(name).fit(data).with_items(TABLE)


LINKED = ("corml", "corml-dial", "ease", "item-knn", "slim", "admm-slim")


@pytest.mark.parametrize("name", LINKED)
def test_new_items_are_recommended_to_users_of_similar_items(name, data):
    model = fitted(name, data).with_new_items(NEW)
    assert model.new_items_.labels.tolist() == ["new-a", "new-d"]  # nothing is known of the third
    action, drama = model.scores([["a0", "a1", "a2"], ["d0", "d1", "d2"]])
    rows = model.items_.rows(["new-a", "new-d"])
    assert action[rows[0]] > action[rows[1]]
    assert drama[rows[1]] > drama[rows[0]]


@pytest.mark.parametrize("name", LINKED)
def test_scores_of_old_items_do_not_change(name, data):
    model = fitted(name, data)
    wider = model.with_new_items(NEW)
    history = [["a0", "d1"], ["a5"]]
    np.testing.assert_allclose(wider.scores(history)[:, : len(model.items_)], model.scores(history), atol=1e-6)
    assert wider.items_.labels[: len(model.items_)].tolist() == model.items_.labels.tolist()


@pytest.mark.parametrize("name", [name for name in LINKED if name != "corml-dial"])
def test_explanations_of_new_items_sum_up_and_name_similar_items(name, data):
    model = fitted(name, data).with_new_items(NEW)
    history = ["a0", "a3", "d1"]
    why = model.explain(history, "new-a")
    assert why.score == pytest.approx(model.scores([history])[0][model.items_.rows(["new-a"])[0]], abs=1e-6)
    assert why.like[0][0].startswith("a")
    assert sum(weight for item, weight in why.like if item.startswith("a")) > 0.75  # the rest is of the same years
    assert sum(weight for _, weight in why.like) == pytest.approx(1, abs=1e-5)
    assert [weight for _, weight in why.like] == sorted((weight for _, weight in why.like), reverse=True)
    assert f"new; it is like {why.like[0][0]} ({why.like[0][1]:.2f})" in str(why)
    assert "it is like" in why._repr_html_()
    assert model.explain(history, "a1").like == ()


def test_the_score_of_a_new_item_is_the_mean_of_similar_items(data):
    model = fitted("corml", data)
    wider = model.with_new_items(NEW)
    like = dict(wider.explain(["a0"], "new-a").like)
    history = [item for item in model.items_ if item not in like][:2]  # so that none is its own neighbour
    assert len(history) == 2
    scores = dict(zip(model.items_, model.scores([history])[0], strict=True))
    mean = sum(weight * scores[item] for item, weight in wider.explain(history, "new-a").like)
    assert wider.explain(history, "new-a").score == pytest.approx(mean, abs=1e-6)


def test_an_owned_item_counts_as_its_nearest_neighbour(data):
    model = fitted("item-knn", data)
    wider = model.with_new_items(NEW)
    weights = dict(wider.explain(["a0"], "new-a").like)
    W, rows = model.weights_.toarray(), model.items_.rows
    column = {
        item: W[rows(["a0"])[0], rows([item])[0]] if item != "a0" else W[:, rows(["a0"])[0]].max() for item in weights
    }
    expected = sum(weight * column[item] for item, weight in weights.items())
    assert wider.explain(["a0"], "new-a").score == pytest.approx(expected, abs=1e-6)


def test_lift_multiplies_the_scores_of_new_items_alone(data):
    model = fitted("corml", data)
    once, twice = (model.with_new_items(NEW, lift=lift).scores([["a0", "d1"]])[0] for lift in (1, 2))
    np.testing.assert_allclose(twice[:-3], once[:-3], atol=1e-6)
    np.testing.assert_allclose(twice[-3:], 2 * once[-3:], atol=1e-6)
    for wrong in (0, -1, "much", True, float("nan")):
        with pytest.raises(UsageError, match="lift must be a number above 0"):
            model.with_new_items(NEW, lift=wrong)


def test_a_corml_with_new_items_is_still_a_metric(data):
    model = fitted("corml", data).with_new_items(NEW)
    model._check_state()  # symmetric, hollow, no negative entry
    assert np.linalg.eigvalsh(model.metric_matrix()).min() > -1e-6  # and so its distances are those of a metric
    assert 0 < model.distance(["a0"], "new-a") < np.inf


def test_lists_say_which_items_are_new(data):
    lists = fitted("corml", data).with_new_items(NEW, lift=50).recommend(history=[["a0", "a1"]], k=3)
    assert lists.items[0, 0] == "new-a"
    assert "new-a  (new)" in str(lists)
    assert lists.to_frame()["new"][0]
    assert lists.rows()[0]["new"]
    assert "new" not in fitted("corml", data).recommend(history=[["a0"]], k=3).to_frame().columns


def test_new_items_can_be_added_again(data):
    model = fitted("corml", data)
    once = model.with_new_items(NEW)
    again = once.with_new_items({"item": ["later"], "genre": ["Drama"], "year": [1991]})
    direct = model.with_new_items({column: [*NEW[column], *more] for column, more in
                                   {"item": ["later"], "genre": ["Drama"], "year": [1991]}.items()})  # fmt: skip
    np.testing.assert_allclose(again.scores([["d0", "d3"]]), direct.scores([["d0", "d3"]]), atol=1e-6)
    assert len(again.new_items_) == 3


def test_an_item_is_linked_alike_alone_and_among_others(data):
    model = fitted("corml", data)
    alone = model.with_new_items({"item": ["new-a"], "genre": ["Action"], "year": [1992]})
    assert alone.explain(["a0"], "new-a").like == model.with_new_items(NEW).explain(["a0"], "new-a").like


def test_catalogue_items_without_users_are_new_items():
    data = corml.load("movielens-small", at_least=4, k_core=30)
    split = corml.split(data, "new-items", seed=1)
    model = corml.models.make("item-knn").fit(split.train).with_new_items()
    assert set(model.new_items_) == {data.items[row] for row in np.flatnonzero(split.train.item_degrees == 0)}


@pytest.mark.parametrize("history", [True, False])
def test_a_model_file_keeps_new_items(data, tmp_path, history):
    model = fitted("corml", data).with_new_items(NEW)
    model.save(tmp_path / "m.corml", history=history)
    again = corml.read_model(tmp_path / "m.corml")
    assert np.array_equal(again.scores([["a0"]]), model.scores([["a0"]]))
    assert again.explain(["a0"], "new-a").like == model.explain(["a0"], "new-a").like
    assert again.new_items_ == model.new_items_


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.update({"link.data": -a["link.data"]}),
        lambda a: a.update({"link.data": a["link.data"] * 2}),
        lambda a: a.update({"counts": np.maximum(a["counts"], 1)}),
    ],
)
def test_a_forged_link_is_refused(data, tmp_path, change):
    path = tmp_path / "m.corml"
    fitted("item-knn", data).with_new_items(NEW).save(path, history=False)
    contents = container.read(path)
    arrays, meta = dict(contents.arrays), {key: value for key, value in contents.meta.items() if key != "format"}
    change(arrays)
    path.write_bytes(container.pack(arrays, meta))
    with pytest.raises(ModelFileError, match="new items are not weighted means of known ones"):
        corml.read_model(path)


def test_items_that_cannot_be_linked_raise(data):
    model = fitted("corml", data)
    with pytest.raises(UsageError, match="There are no new items"):
        model.with_new_items()
    with pytest.raises(UsageError, match=r"No new item shares an attribute .* 'genre', 'year'"):
        model.with_new_items({"item": ["x"], "genre": ["Western"]})
    with pytest.raises(UsageError, match=r"must describe known items too, or .* items= \(--items\)"):
        models.make("corml").fit(data).with_new_items(NEW)
    with pytest.raises(UsageError, match="popularity cannot score items that nobody has: corml and the item-item"):
        corml.Popularity().fit(data).with_items(TABLE).with_new_items(NEW)


def test_the_table_may_contain_all_items(data):
    both = {column: [*TABLE[column], *NEW[column]] for column in TABLE}
    model = models.make("corml").fit(data).with_new_items(both)
    assert model.new_items_.labels.tolist() == ["new-a", "new-d"]


# --- the link ---------------------------------------------------------------------------------------------------------


def test_weights_solve_the_regression():
    """No weight can be changed to a smaller loss: the gradient is zero where weights are, and not below elsewhere."""
    rng = np.random.default_rng(5)
    tags = [[str(tag) for tag in rng.choice(12, 4, replace=False)] for _ in range(40)]
    table = corml.load_items({"item": [str(n) for n in range(40)], "tag": tags})
    known, new = np.arange(35), np.arange(35, 40)
    F = content.features(table, known).toarray()
    link = content.likeness(table, known, new, ridge=0.5).toarray()
    for item in new:
        weights = link[item, :35]
        sizes = np.linspace(0.1, 5, 2000)  # the sum 1 was made afterwards: find the size it had
        losses = [np.sum((F[item] - s * weights @ F[:35]) ** 2) + 0.5 * s**2 * weights @ weights for s in sizes]
        a = sizes[np.argmin(losses)] * weights
        slope = F[:35] @ (a @ F[:35] - F[item]) + 0.5 * a
        assert np.abs(slope[a > 0]).max() < 2e-3
        assert slope[a == 0].min() > -2e-3


def test_features_of_all_items_have_no_weight():
    table = corml.load_items({"item": list("abcd"), "tag": ["x|y", "x|y", "x|z", "x|z"]}, kinds={"tag": "category"})
    F = content.features(table, np.arange(4)).toarray()
    at = table.values("tag").index("x")
    assert not F[:, at].any()
    np.testing.assert_allclose(np.linalg.norm(F, axis=1), 1)


def test_near_numbers_are_alike():
    table = corml.load_items({"item": list(range(20)), "price": list(range(20))})
    F = content.features(table, np.arange(20))
    cosines = (F @ F.T).toarray()
    assert cosines[0, 1] > cosines[0, 3] > cosines[0, 10] == 0


def test_words_ignore_case():
    assert list(content.words("Star Wars: Episode IV (1977)")) == ["star", "wars", "episode", "iv", "1977"]


def test_no_more_items_are_named_than_asked_for():
    table = corml.load_items({"item": list(range(30)), "price": [1.0] * 30, "tag": ["x"] * 15 + ["y"] * 15})
    assert np.diff(content.likeness(table, np.arange(29), np.array([29]), most=3).indptr)[29] == 3


def test_a_table_without_columns_has_no_features():
    assert content.features(corml.Attributes(Ids(["a", "b"])), np.arange(2)).nnz == 0
