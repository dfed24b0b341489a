"""Users who are alike: exact, against every pair of users compared one by one."""

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml.errors import NotFittedError, UnknownIdError, UsageError
from support import random_interactions


@pytest.fixture(scope="module")
def data():
    return random_interactions(7, users=50, items=30)


@pytest.fixture(scope="module")
def model(data):
    return corml.CoRML(rank=8).fit(data)


def brute_force(products):
    """Cosines from a users × users matrix of products, nobody with themselves."""
    lengths = np.sqrt(np.diag(products))
    cosines = products / np.outer(lengths, lengths)
    np.fill_diagonal(cosines, 0)
    return cosines


def expected(cosines, users, row, k):
    order = sorted(np.flatnonzero(cosines[row] > 1e-12), key=lambda other: (-cosines[row, other], other))[:k]
    return [users[other] for other in order], cosines[row, order]


def metric_products(model, X):
    d = model.degrees_
    P = X * d**-model.settings_.item_norm
    return P @ model.metric_matrix("h") @ P.T


@pytest.mark.parametrize("k", [1, 5, 49])
def test_corml_compares_histories_in_its_metric_exactly(model, data, k):
    cosines = brute_force(metric_products(model, data.matrix.toarray().astype(np.float64)))
    found = model.similar_users(list(model.users_), k=k)
    for row, user in enumerate(model.users_):
        users, values = expected(cosines, list(model.users_), row, k)
        assert found.names[row] == user
        mine = [other for other in found.users[row] if other is not None]
        np.testing.assert_allclose(found.similarities[row, : len(mine)], values, rtol=1e-5)
        if len(set(np.round(values, 6))) == len(values):
            assert mine == users
    assert np.nanmax(found.similarities) <= 1 + 1e-9


def test_links_are_the_items_that_add_most(model, data):
    found = model.similar_users(["u3"], k=4)
    X, M = data.matrix.toarray().astype(np.float64), model._user_metric().toarray()
    for other, links in zip(found.users[0], found.links[0], strict=True):
        me, them = X[model.users_.rows(["u3"])[0]], X[model.users_.rows([other])[0]]
        added = (me @ M) * them
        best = model.items_.labels[np.argsort(-added, kind="stable")[:3]].tolist()
        assert list(links) == [item for item in best if added[model.items_.rows([item])[0]] > 0]


def test_somebody_with_the_same_items_is_at_distance_zero(model, data):
    row = data.matrix[[model.users_.rows(["u4"])[0]]]
    history = data.items.labels[row.indices].tolist()
    found = model.similar_users(history=[history], k=1)
    assert found.users[0, 0] == "u4"
    assert found.similarities[0, 0] == pytest.approx(1, abs=1e-6)


def test_items_that_go_together_make_users_alike_who_share_none():
    pairs = [(f"a{n}", item) for n in range(30) for item in ("tea", "cup")] + [("x", "tea"), ("y", "cup")]
    pairs += [(f"b{n}", item) for n in range(30) for item in ("nail", "saw")]
    model = corml.CoRML().fit(Interactions.from_pairs(*zip(*pairs, strict=True)))
    found = model.similar_users(["x"], k=200).rows()
    alike = {row["similar"]: row for row in found}
    assert alike["y"]["similarity"] > 0
    assert alike["y"]["links"] == ("cup",)
    assert "b1" not in alike
    shared = models.make("item-knn").fit(Interactions.from_pairs(*zip(*pairs, strict=True)))
    assert "y" not in {row["similar"] for row in shared.similar_users(["x"], k=200).rows()}


@pytest.mark.parametrize("name", ["ease", "item-knn", "gf-cf", "popularity", "slim"])
def test_other_models_compare_histories_by_what_is_shared(name, data):
    X = data.matrix.toarray().astype(np.float64)
    cosines = brute_force(X @ X.T)
    model = models.make(name).fit(data)
    found = model.similar_users(["u1", "u2"], k=5)
    for row in range(2):
        number = model.users_.rows([found.names[row]])[0]
        np.testing.assert_allclose(found.similarities[row], -np.sort(-cosines[number])[:5], rtol=1e-6)


@pytest.mark.parametrize("name", ["bpr-mf", "lightgcn", "recvae"])
def test_models_with_vectors_compare_these(name, data):
    pytest.importorskip("torch")
    model = models.make(name, {"epochs": 1, "size": 4}).fit(data)
    vectors = model._represent(data.matrix, np.arange(50)).astype(np.float64)
    cosines = brute_force(vectors @ vectors.T)
    found = model.similar_users(["u1"], k=3)
    users, values = expected(cosines, list(model.users_), model.users_.rows(["u1"])[0], 3)
    assert found.users[0].tolist() == users
    np.testing.assert_allclose(found.similarities[0], values, rtol=1e-5)
    assert found.links[0] == ((),) * 3


def test_weights_count():
    data = Interactions.from_pairs(list("aabbcc"), list("xyxyxy"), weights=[9, 1, 9, 1, 1, 9])
    found = models.make("ease").fit(data).similar_users("a", k=2)
    assert found.users[0].tolist() == ["b", "c"]
    np.testing.assert_allclose(found.similarities[0], [1, 18 / 82], rtol=1e-6)


def test_users_that_were_added_are_compared_too(model):
    after = model.update(Interactions.from_pairs(["ann", "bob", "bob"], ["i3", "i3", "nothing known"]))
    (first,) = after.similar_users(["ann"], k=1).rows()
    assert first["similar"] == "bob"
    assert first["similarity"] == pytest.approx(1, abs=1e-6)
    assert "ann" not in {row["similar"] for row in model.similar_users(history=[["i3"]], k=49).rows()}


def test_the_dial_compares_at_its_middle(data):
    dial = corml.CoRML.dial(data, [-0.1, 0.0, 0.1], rank=8)
    middle = dial.at(0.5).similar_users(["u1"], k=3)
    assert dial.similar_users(["u1"], k=3).users.tolist() == middle.users.tolist()


def test_lists_become_frames_and_text(model):
    found = model.similar_users(["u1", "u2"], k=2)
    frame = found.to_frame()
    assert frame.columns == ["user", "rank", "similar", "similarity", "links"]
    assert frame["user"].to_list() == ["u1", "u1", "u2", "u2"]
    assert frame["links"].to_list()[0] == list(found.links[0][0])
    assert str(found).splitlines()[0] == "u1"
    assert len(str(found).splitlines()) == 6
    assert len(found) == 2
    assert "2 lists of 2" in repr(found)
    assert "<table" in found._repr_html_()


def test_questions_that_cannot_be_meant_are_refused(model, tmp_path):
    with pytest.raises(UnknownIdError, match="'ghost'"):
        model.similar_users(["ghost"])
    with pytest.raises(UsageError, match="Say for whom"):
        model.similar_users()
    with pytest.raises(UsageError, match="k must be"):
        model.similar_users(["u1"], k=0)
    with pytest.raises(NotFittedError):
        corml.CoRML().similar_users(["u1"])
    model.save(tmp_path / "bare.corml", history=False)
    with pytest.raises(UsageError, match="there is nobody to compare with"):
        corml.read_model(tmp_path / "bare.corml").similar_users(history=[["i1"]])


def test_it_is_made_once_for_a_fitted_model(model, monkeypatch):
    from corml.recommend import neighbours

    model.similar_users(["u1"])
    monkeypatch.setattr(neighbours.Alike, "of", None)
    model.similar_users(["u2"])
