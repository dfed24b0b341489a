"""New interactions for a fitted model: they count at once, and a refit learns them."""

import numpy as np
import polars as pl
import pytest

import corml
from corml import Interactions, models
from corml.data.saved.pairs import encode_ids
from corml.errors import DataWarning, ModelFileError, UsageError
from corml.models.fitted import present
from corml.persistence import container
from support import random_interactions

DAY = 86_400


@pytest.fixture(scope="module")
def data():
    return random_interactions(3, users=60, items=30)


@pytest.fixture(scope="module")
def model(data):
    return corml.CoRML(rank=8).fit(data)


@pytest.fixture(scope="module")
def new():
    """Two known users, a new one, and an item nobody had."""
    return Interactions.from_pairs(["u1", "u1", "ann", "ann", "ann", "u2"], ["i20", "i21", "i3", "i4", "pot", "pot"])


@pytest.fixture(scope="module")
def updated(model, new):
    return model.update(new)


def items_of(data, user):
    row = data.users.rows([user])[0]
    return data.items.labels[data.item[data.user == row]].tolist()


def test_lists_are_those_of_the_longer_histories_at_once(model, updated, data):
    longer = sorted({*items_of(data, "u1"), "i20", "i21"})
    lists = updated.recommend(["u1", "ann", "u5"], k=6)
    assert lists["u1"] == model.recommend(history=[longer], k=6)["history 1"]
    assert lists["ann"] == model.recommend(history=[["i3", "i4"]], k=6)["history 1"]
    assert lists["u5"] == model.recommend(["u5"], k=6)["u5"]
    assert lists.sources == ("personal",) * 3


def test_nothing_that_was_added_is_recommended(updated, new):
    lists = updated.recommend(list(updated.users_), k=30)
    known = present(updated.fitted_)
    assert len(lists) == 61
    for user, items in lists.items():
        assert not set(items) & set(items_of(known, user))


def test_the_model_that_was_updated_stays_as_it_was(model, data, updated):
    assert len(model.users_) == 60
    assert "ann" not in model.users_
    assert model.fitted_.added is None
    assert updated.train_ is model.train_
    assert updated.H_ is model.H_
    assert updated.fitted_.fingerprint == data.fingerprint
    assert [str(user) for user in updated.users_][:60] == list(model.users_)


def test_the_record_counts_what_was_added(updated, new):
    (record,) = updated.fitted_.added.records
    assert record.pop("when") >= "2026"
    record.pop("known_before")
    assert record == {
        "fingerprint": new.fingerprint,
        "interactions": 6,
        "withdrawn": 0,
        "only_seen": 0,
        "users": 3,
        "new_users": 1,
        "unknown_items": 1,
        "with_unknown_items": 2,
    }


def test_updates_follow_each_other(updated):
    again = updated.update(Interactions.from_pairs(["ann", "bob"], ["i5", "pot"]))
    assert [record["new_users"] for record in again.fitted_.added.records] == [1, 1]
    assert [record["unknown_items"] for record in again.fitted_.added.records] == [1, 1]
    assert sorted(items_of(present(again.fitted_), "ann")) == ["i3", "i4", "i5", "pot"]
    bob = again.recommend(["bob"], k=3)
    assert bob.reasons == ("most popular items: no history",)  # of items the model knows


def test_explanations_and_times_are_of_the_longer_history():
    times = {"times": np.arange(4) * DAY}
    data = Interactions.from_pairs(list("aabb"), list("wxxy"), **times)
    model = corml.CoRML().fit(data).update(Interactions.from_pairs(["a"], ["y"], times=[100 * DAY]))
    assert model.explain("a", "x").history == ("w", "x", "y")
    recent = model.recommend(["a"], seen="only", exclude_recent="30d", k=3)
    assert sorted(recent["a"]) == ["w", "x"]


def test_a_refit_learns_everything_and_equals_a_fit_from_scratch(updated, data):
    settings = {"rank": 8, "tol": 1e-6, "max_steps": 20_000, "solver": "sparse"}
    model = corml.CoRML(**settings).fit(data)
    new = Interactions.from_pairs(["u1", "ann", "ann", "u2", "u3"], ["pot", "pot", "i4", "pot", "i0"])
    warm = model.update(new, refit=True)
    cold = corml.CoRML(**settings).fit(
        Interactions.from_pairs(
            [*data.users.labels[data.user], *new.users.labels[new.user]],
            [*data.items.labels[data.item], *new.items.labels[new.item]],
        )
    )
    assert warm.fitted_.fingerprint == cold.fitted_.fingerprint
    assert all(certificate.converged for certificate in warm.fitted_.certificates)
    assert warm.fitted_.settings == model.fitted_.settings
    order = warm.items_.rows(cold.items_.labels)
    np.testing.assert_allclose(warm.H_.toarray()[order][:, order], cold.H_.toarray(), atol=2e-5)
    lists = [one.recommend(["u1", "ann", "u7"], k=3) for one in (warm, cold)]
    assert lists[0].items.tolist() == lists[1].items.tolist()
    assert "pot" in warm.items_
    assert warm.fitted_.added is None
    assert warm.fitted_.source["updates"][0]["new_users"] == 1


def test_a_refit_needs_no_new_data(updated):
    again = updated.refitted()
    assert "pot" in again.items_
    assert again.train_.nnz == len(present(updated.fitted_))


@pytest.mark.parametrize("name", ["ease", "item-knn", "gf-cf", "popularity", "corml-dial"])
def test_every_model_that_scores_histories_can_be_updated(name, data, new, tmp_path):
    model = models.make(name).fit(data)
    after = model.update(new)
    expected = model.recommend(history=[["i3", "i4"]], k=5)
    assert after.recommend(["ann"], k=5).items.tolist() == expected.items.tolist()
    after.save(tmp_path / "m.corml")
    read = corml.read_model(tmp_path / "m.corml")
    assert read.recommend(["u1", "ann"], k=5).items.tolist() == after.recommend(["u1", "ann"], k=5).items.tolist()
    assert "pot" in model.update(new, refit=True).items_


@pytest.mark.parametrize(("name", "folds_in"), [("bpr-mf", False), ("lightgcn", True), ("recvae", True)])
def test_gradient_models_keep_their_vectors_and_fold_in_new_users_if_they_can(name, folds_in, data, new):
    pytest.importorskip("torch")
    model = models.make(name, {"epochs": 2, "size": 4}).fit(data)
    after = model.update(new)
    lists = after.recommend(["u1", "ann", "u5"], k=30)
    assert not {"i20", "i21"} & set(lists["u1"])
    assert not {"i3", "i4"} & set(lists["ann"])
    assert lists["u5"] == model.recommend(["u5"], k=30)["u5"]
    if folds_in:
        assert lists["ann"] == model.recommend(history=[["i3", "i4"]], k=30)["history 1"]
        return
    assert lists.sources == ("personal", "fallback", "personal")
    assert lists.reasons[1].startswith("most popular items: the model has no vector for a user it did not learn from")
    kept = [item for item in model.recommend(["u1"], k=30)["u1"] if item not in ("i20", "i21")]
    assert lists["u1"] == kept


# --- as if all had been loaded at once -------------------------------------------------------------------------------

KINDS = {"event": "type", "weights": {"view": 1, "cart": 3, "buy": 10}}
WAYS = {
    "pairs alone": {},
    "events": KINDS,
    "events and a transform": {**KINDS, "transform": "log1p"},
    "quantities": {"weight": "quantity", "transform": "sqrt"},
    "half-life": {"half_life": "20d"},
    "a half-life that leaves next to nothing": {"half_life": "1h"},
    "everything": {**KINDS, "weight": "quantity", "transform": "log1p", "half_life": "20d"},
    "returns": {**KINDS, "negative": ["return"]},
    "returns that age": {**KINDS, "negative": ["return"], "half_life": "20d"},
    "ratings": {"rating": "stars", "at_least": 3},
}


def events(seed, rows=400):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "user": [f"u{n}" for n in rng.integers(0, 15, rows)],
            "item": [f"i{n}" for n in rng.integers(0, 12, rows)],
            "type": rng.choice(["view", "cart", "buy", "return"], rows, p=[0.6, 0.2, 0.15, 0.05]).tolist(),
            "quantity": rng.integers(1, 5, rows),
            "stars": rng.integers(1, 6, rows),
            "time": np.sort(rng.integers(0, 100 * DAY, rows)),
        }
    )


def table(data, part=None):
    """Weights and times by labels, in an order that does not depend on how the data came together."""
    part = data if part is None else part
    if part is False:
        return {}
    weights = np.ones(len(part)) if part.weights is None else part.weights
    keys = zip(data.users.labels[part.user], data.items.labels[part.item], strict=True)
    return {key: (weight, time) for key, weight, time in zip(keys, weights.tolist(), part.times.tolist(), strict=True)}


@pytest.mark.filterwarnings("ignore:.*a millionth of the strongest:corml.errors.DataWarning")
@pytest.mark.parametrize("way", WAYS)
def test_an_update_equals_loading_all_rows_at_once(way):
    options = {"rating": False, **WAYS[way]}
    rows = events(5)
    if "return" not in options.get("negative", []) and "event" in options:
        rows = rows.filter(pl.col("type") != "return")
    first, second = rows.head(250), rows.tail(rows.height - 250)
    model = corml.CoRML(rank=4, adapt=False).fit(corml.load(first, **options))
    now = present(model.update(corml.load(second, as_update=True, **options)).fitted_)
    whole = corml.load(rows, as_update=True, **options)
    assert now.fingerprint != corml.load(first, **options).fingerprint
    for mine, theirs in (
        (table(now), table(whole)),
        (table(now, now.seen or False), table(whole, whole.seen or False)),
    ):
        assert mine.keys() == theirs.keys()
        for key, values in mine.items():
            np.testing.assert_allclose(values, theirs[key], rtol=1e-5)


def test_an_event_of_weight_zero_withdraws_nothing():
    options = {"event": "type", "weights": {"look": 0, "buy": 1}}
    first = pl.DataFrame({"user": list("aabb"), "item": list("xyyz"), "type": ["buy"] * 4})
    model = corml.CoRML().fit(corml.load(first, **options))
    look = corml.load(pl.DataFrame({"user": ["a"], "item": ["x"], "type": ["look"]}), as_update=True, **options)
    now = present(model.update(look).fitted_)
    assert len(now) == 4
    assert now.seen is None


def test_a_dislike_in_an_update_is_kept_where_another_event_type_weighs_nothing():
    options = {"event": "type", "weights": {"look": 0, "buy": 1}, "negative": ["dislike"]}
    first = pl.DataFrame({"user": list("aabb"), "item": list("xyyz"), "type": ["buy"] * 4, "time": [0, 0, 0, 0]})
    later = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "type": ["dislike", "buy"], "time": [DAY, 99 * DAY]})
    model = corml.CoRML().fit(corml.load(first, **options))
    after = model.update(corml.load(later, as_update=True, **options))
    assert len(present(after.fitted_).negative) == 1
    assert "x" not in after.recommend(["a"], k=3, seen="allow")["a"]


def test_an_older_row_does_not_override_a_later_one():
    options = {"rating": "stars", "at_least": 3}
    columns = {"user": list("aab"), "item": list("xyy"), "stars": [5, 5, 5], "time": [100, 100, 100]}
    model = corml.CoRML().fit(corml.load(pl.DataFrame(columns), **options))
    for time, withdrawn in ((50, 0), (150, 1)):
        low = pl.DataFrame({"user": ["a"], "item": ["x"], "stars": [1], "time": [time]})
        after = model.update(corml.load(low, as_update=True, **options))
        assert after.fitted_.added.records[0]["withdrawn"] == withdrawn
        assert "x" not in after.recommend(["a"], k=3)["a"]  # known all the same


def test_weights_of_another_half_life_are_refused(data, new):
    frame = pl.DataFrame({"user": list("aab"), "item": list("xyy"), "time": [1, 2, 3]})
    model = corml.CoRML().fit(corml.load(frame, half_life="90d"))
    with pytest.raises(UsageError, match="with half_life '90d' and the new ones with none: load them alike"):
        model.update(new)


def test_an_update_may_hold_nothing_to_learn_from_only_what_was_seen():
    frame = pl.DataFrame({"user": list("aabb"), "item": list("xyyz"), "rating": [5, 4, 5, 5]})
    model = corml.CoRML().fit(corml.load(frame, at_least=3))
    low = corml.load(pl.DataFrame({"user": ["a"], "item": ["z"], "rating": [1]}), at_least=3, as_update=True)
    assert len(low) == 0
    assert "z" in model.recommend(["a"], k=3)["a"]
    assert "z" not in model.update(low).recommend(["a"], k=3)["a"]
    with pytest.raises(UsageError, match="leave them out of an update"):
        corml.load(frame, at_least=3, k_core=2, as_update=True)


# --- files -----------------------------------------------------------------------------------------------------------


def test_the_file_tells_what_was_learned_from_and_what_was_added(updated, data, tmp_path):
    updated.save(tmp_path / "m.corml", evaluation={"metrics": {}})
    meta = container.read(tmp_path / "m.corml").meta
    assert meta["data"]["fingerprint"] == data.fingerprint
    assert meta["shape"] == [60, len(data.items)]
    assert meta["now"]["fingerprint"] == present(updated.fitted_).fingerprint
    assert meta["now"]["updates"][0]["new_users"] == 1
    read = corml.read_model(tmp_path / "m.corml")
    assert read.fitted_.added.records == updated.fitted_.added.records
    assert present(read.fitted_).fingerprint == present(updated.fitted_).fingerprint
    everybody = list(updated.users_)
    assert read.recommend(everybody, k=4).items.tolist() == updated.recommend(everybody, k=4).items.tolist()
    assert "pot" in read.refitted().items_


def test_weights_seen_pairs_times_and_titles_survive_a_file(tmp_path):
    options = {**KINDS, "negative": ["return"], "rating": False}
    rows = events(8)
    model = corml.CoRML(rank=4, adapt=False).fit(corml.load(rows.head(250), **options))
    new = corml.load(
        rows.tail(150).with_columns(item=pl.col("item") + "b"), titles={"i1b": "One"}, as_update=True, **options
    )
    after = model.update(new)
    after.save(tmp_path / "m.corml")
    now, read = present(after.fitted_), present(corml.read_model(tmp_path / "m.corml").fitted_)
    assert table(read) == table(now)
    assert table(read, read.seen) == table(now, now.seen)
    assert read.titles == now.titles == {"i1b": "One"}


def test_a_refit_after_an_update_knows_the_attributes_of_old_and_new_items(tmp_path):
    pairs = {"user": list("aabbcc"), "item": list("xyyzxz")}
    table = {"item": list("xyz"), "genre": ["A|B", "A", "B"], "price": [1.0, 2.0, None]}
    model = corml.Popularity().fit(corml.load(pl.DataFrame(pairs), items=pl.DataFrame(table)))
    later = {"item": list("xv"), "genre": ["C", "A"], "price": [9.0, 4.0]}
    new = corml.load(pl.DataFrame({"user": ["a"], "item": ["v"]}), items=pl.DataFrame(later), as_update=True)
    updated = model.update(new)
    updated.save(tmp_path / "m.corml")
    read = corml.read_model(tmp_path / "m.corml")
    assert read.attributes_.to_frame().equals(model.attributes_.to_frame())  # nothing is learned before a refit
    for again in (updated.refitted(), read.refitted()):
        about = again.attributes_.on(again.items_)
        assert dict(zip(about.items, about.numbers("price"), strict=True)) == pytest.approx(
            {"x": 1, "y": 2, "z": np.nan, "v": 4}, nan_ok=True
        )
        assert "v" in again.recommend(["c"], k=3, only={"genre": "A"})["c"]


def test_a_model_without_histories_cannot_be_updated(model, updated, new, tmp_path):
    updated.save(tmp_path / "m.corml", history=False)
    read = corml.read_model(tmp_path / "m.corml")
    assert read.fitted_.added is None
    assert "now" not in container.read(tmp_path / "m.corml").meta
    with pytest.raises(UsageError, match="saved without the histories of its users, so nothing can be added"):
        read.update(new)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda arrays, meta: meta.pop("now"), "its record of updates is not a list"),
        (lambda arrays, meta: meta["now"].pop("source"), "does not say where its histories came from"),
        (lambda arrays, meta: arrays.pop("now.indices"), "its matrix now is incomplete"),
        (lambda arrays, meta: arrays.update({"now.times": np.zeros(3)}), "its times of now are not one number"),
        (lambda arrays, meta: arrays.update(encode_ids("now.users", ["u1"])), "user ids that were added"),
        (lambda arrays, meta: arrays.update({"now.odd": np.zeros(3)}), "holds arrays that no corml model has"),
        (lambda arrays, meta: arrays.update(encode_ids("now.titles", ["a", "b"])), "2 titles for 1 new"),
    ],
)
def test_a_file_whose_additions_do_not_fit_is_refused(updated, tmp_path, change, sentence):
    updated.save(tmp_path / "m.corml")
    contents = container.read(tmp_path / "m.corml")
    arrays, meta = dict(contents.arrays), dict(contents.meta)
    change(arrays, meta)
    (tmp_path / "bad.corml").write_bytes(container.pack(arrays, meta))
    with pytest.raises(ModelFileError, match=sentence):
        corml.read_model(tmp_path / "bad.corml")


def test_a_dropped_row_adds_no_user():
    model = corml.CoRML().fit(corml.load(pl.DataFrame({"user": list("aabb"), "item": list("xyyz")})))
    rows = {"user": ["a", None, "c", "d"], "item": ["z", "x", None, "v"], "rating": ["5", "5", "5", "many"]}
    with pytest.warns(DataWarning, match="null ids: 2|bad rows skipped: 1"):
        new = corml.load(pl.DataFrame(rows), null_ids="drop", max_bad_rows=0.5, as_update=True)
    assert (list(new.users), list(new.items)) == (["a"], ["z"])
    assert list(model.update(new).users_) == ["a", "b"]


# --- what is odd about an update -------------------------------------------------------------------------------------

EVENTS = {"event": "event", "weights": {"view": 1, "cart": 3}}


def of_events(first=0):
    rows = range(first, first + 30)
    kinds = ["cart" if at % 3 else "view" for at in rows]
    return pl.DataFrame({"user": [f"u{at % 7}" for at in rows], "item": [f"i{at % 9}" for at in rows], "event": kinds})


@pytest.fixture(scope="module")
def of_a_shop():
    return corml.models.make("item-knn").fit(corml.load(of_events(), **EVENTS))


@pytest.mark.filterwarnings("ignore:columns ignored")
def test_data_without_event_types_are_not_added_to_events(of_a_shop):
    with pytest.raises(UsageError, match="loaded with event types, 'view', 'cart', and the new ones without: each row"):
        of_a_shop.update(corml.load(of_events(5), as_update=True))


def test_other_event_weights_warn(of_a_shop):
    other = corml.load(of_events(5), event="event", weights={"view": 1, "cart": 5}, as_update=True)
    with pytest.warns(DataWarning, match=r"with weights view=1; cart=3, and the new ones with view=1; cart=5: earlier"):
        of_a_shop.update(other)


def test_new_event_types_warn(model):
    with pytest.warns(DataWarning, match="The new data have event types, and those of the model have none"):
        model.update(corml.load(of_events(), event="event", as_update=True))


def test_the_same_update_twice_warns(of_a_shop, model, new, data):
    more = corml.load(of_events(5), **EVENTS, as_update=True)
    once = of_a_shop.update(more)
    with pytest.warns(DataWarning, match=r"added before \(2.*, from 'frame'\): their weights count twice"):
        once.update(more)
    with pytest.warns(DataWarning, match="added before .*: nothing changes"):
        model.update(new).update(new)
    with pytest.warns(DataWarning, match=r"added before \(with the fit, "):
        model.update(data)


def test_updating_with_a_frame_is_an_error(model):
    with pytest.raises(
        UsageError, match=r"update adds Interactions, not DataFrame: use corml\.load\(…, as_update=True"
    ):
        model.update(of_events())
