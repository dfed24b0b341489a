"""Fits of the same data share what their settings leave alone, and find what they would find by themselves."""

import numpy as np
import pytest

import corml
from corml.errors import UsageError
from corml.models.corml.sparse import column_generation as pair_work
from corml.models.corml.sparse import reuse
from corml.models.corml.sparse.reuse import Workspace
from support import random_interactions

FIRST = {"solver": "sparse", "rank": 8, "candidates": 69, "pair_tol": 1.0}  # all pairs: no choice among equals


@pytest.fixture(scope="module")
def train():
    return random_interactions(1, 200, 70, 7)


@pytest.fixture
def computed(monkeypatch):
    """What was computed, in order."""
    names = []
    for module, name in ((reuse, "singular_vectors"), (pair_work, "co_occurring"), (pair_work, "cross_term")):
        plain = getattr(module, name)

        def counted(*given, name=name, plain=plain, **more):
            names.append(name)
            return plain(*given, **more)

        monkeypatch.setattr(module, name, counted)
    return names


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"mix": 0.5}, []),
        ({"item_norm": -0.2}, []),
        ({"scale": 2.0}, []),
        ({"l2": 1.0, "ridge": 3.0}, []),
        ({"graph_user_norm": 0.2}, ["singular_vectors", "cross_term"]),
        ({"rank": 5}, ["cross_term"]),
        ({"rank": 12}, ["singular_vectors", "cross_term"]),
        ({"filter": "elementwise"}, ["cross_term"]),
        ({"filter_norm": 0.3}, ["cross_term"]),
        ({"candidates": 20}, ["co_occurring", "cross_term"]),
        ({"user_norm": 0.5}, ["co_occurring", "cross_term"]),
        ({"user_balance": 0.6}, ["co_occurring", "cross_term"]),
        ({"mix": 1.0}, []),
    ],
    ids=str,
)
def test_a_workspace_recomputes_only_what_settings_change(train, computed, change, again):
    work = Workspace(train)
    corml.CoRML(**FIRST).fit(train, workspace=work)
    assert computed == ["singular_vectors", "co_occurring", "cross_term"]
    computed.clear()
    shared = corml.CoRML(**{**FIRST, **change}).fit(train, workspace=work)
    assert computed == again
    alone = corml.CoRML(**{**FIRST, **change}).fit(train)
    assert np.abs((shared.H_ - alone.H_).toarray()).max() <= 1e-5 * alone.H_.data.max()  # users in another order
    np.testing.assert_allclose(shared.V_, alone.V_, atol=1e-5)


def test_a_dial_makes_everything_but_h_once(train, computed):
    corml.CoRML.dial(train, item_norms=(-0.1, 0.0, 0.1), **FIRST)
    assert sorted(computed) == ["co_occurring", "cross_term", "singular_vectors"]


CHANGES = [
    {"mix": 0.5},
    {"item_norm": -0.2},
    {"ridge": 3.0},
    {"graph_user_norm": 0.1},
    {"graph_item_norm": 0.5},
    {"rank": 5},
    {"rank": 12},
    {"filter": "elementwise"},
    {"filter_norm": 0.3},
    {"candidates": 20},
    {"user_norm": 0.5},
    {"user_balance": 0.6},
]


@pytest.mark.parametrize("of_start", [{}, *CHANGES], ids=str)
@pytest.mark.parametrize(
    "of_workspace", [{}, {"graph_user_norm": 0.1}, {"rank": 12}, {"filter": "elementwise"}], ids=str
)
def test_a_workspace_and_a_warm_start_of_other_settings_do_not_change_the_answer(train, of_workspace, of_start):
    exact = FIRST | {"tol": 3e-7, "max_steps": 3000}
    start = corml.CoRML(**exact | of_start).fit(train)
    work = Workspace(train)
    corml.CoRML(**exact | of_workspace).fit(train, workspace=work)
    for change in ({}, of_start, of_workspace, {"rank": 6}):
        settings = exact | change
        shared = corml.CoRML(**settings).fit(train, warm_start=start, workspace=work)
        alone = corml.CoRML(**settings).fit(train)
        assert shared.fitted_.certificates[0].converged
        assert np.abs((shared.H_ - alone.H_).toarray()).max() <= 2e-4 * alone.H_.data.max()
        np.testing.assert_allclose(np.abs(shared.V_), np.abs(alone.V_), atol=1e-4)


def test_the_same_data_in_another_order_are_refused(train):
    users, items = train.users.labels[train.user][::-1], train.items.labels[train.item][::-1]
    turned = corml.Interactions.from_pairs(users, items)
    assert turned.fingerprint == train.fingerprint
    with pytest.raises(UsageError, match="in another order"):
        corml.CoRML().fit(turned, workspace=Workspace(train))


def test_other_data_are_refused(train):
    with pytest.raises(UsageError, match="other interactions"):
        corml.CoRML().fit(train, workspace=Workspace(random_interactions(2, 200, 70, 7)))


def test_a_workspace_of_another_type_is_refused(train):
    with pytest.raises(UsageError, match="workspace must be a corml"):
        corml.CoRML().fit(train, workspace={"V": 1})


def test_in_a_search_a_fit_does_not_depend_on_earlier_fits(monkeypatch):
    """To the last digit: a search that goes on after a kill begins with an empty workspace."""
    monkeypatch.setattr("corml.models.corml.sparse.reuse.FEW", 0)
    train = random_interactions(2, 200, 70, 7)
    last = {**FIRST, "rank": 6, "graph_user_norm": 0.3}
    befores = ([], [FIRST], [{**FIRST, "rank": 12}], [{**last, "rank": 12}, FIRST, {**FIRST, "user_norm": 0.5}])
    found = []
    for before in befores:
        work = Workspace(train, rank=16)
        for settings in before:
            corml.CoRML(**settings).fit(train, workspace=work)
        found.append(corml.CoRML(**last).fit(train, workspace=work))
    for model in found[1:]:
        assert np.array_equal(model.V_, found[0].V_)
        assert np.array_equal(model.H_.toarray(), found[0].H_.toarray())


def test_a_search_keeps_the_last_two_v(computed):
    train = random_interactions(1, 200, 70, 7)
    work = Workspace(train, rank=12)
    for norm in (0.4, 0.3, 0.4, 0.2, 0.4, 0.3):
        corml.CoRML(**FIRST, graph_user_norm=norm).fit(train, workspace=work)
    assert computed.count("singular_vectors") == 4  # 0.3 had to go for 0.2
