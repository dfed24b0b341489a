"""Fits of the same data share what their settings leave alone, and find what they would find by themselves."""

import numpy as np
import pytest

import corml
from corml.errors import UsageError
from corml.method.sparse.fit_cache import Workspace
from corml.method.sparse.solver import fit_cache as room
from support import random_interactions

NORMS = {"graph_user_norm": 0.4, "graph_item_norm": 0.4, "filter_norm": 0.4}  # of a fit without a ridge of its own
FIRST = {"solver": "sparse", "rank": 8, "candidates": 69, "pair_tol": 1.0}  # all pairs: no choice among equals


@pytest.fixture(scope="module")
def train():
    return random_interactions(1, 200, 70, 7)


@pytest.fixture
def made(monkeypatch):
    """What was made anew, in order."""
    names = []
    for name in ("singular_vectors", "co_occurring", "cross_term"):
        plain = getattr(room, name)

        def counted(*given, name=name, plain=plain, **more):
            names.append(name)
            return plain(*given, **more)

        monkeypatch.setattr(room, name, counted)
    return names


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"mix": 0.5}, []),
        ({"item_norm": -0.2}, []),
        ({"scale": 2.0}, []),
        ({"l2": 1.0, "ridge": 3.0, "user_balance": 0.25, **NORMS}, []),
        ({"ridge": 3.0, "user_balance": 0.25}, ["singular_vectors", "cross_term"]),
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
def test_a_refit_makes_only_what_its_settings_change(train, made, change, again):
    work = Workspace(train)
    corml.CoRML(**FIRST).fit(train, workspace=work)
    assert made == ["singular_vectors", "co_occurring", "cross_term"]
    made.clear()
    shared = corml.CoRML(**{**FIRST, **change}).fit(train, workspace=work)
    assert made == again
    alone = corml.CoRML(**{**FIRST, **change}).fit(train)
    assert np.abs((shared.H_ - alone.H_).toarray()).max() <= 1e-5 * alone.H_.data.max()  # users in another order
    np.testing.assert_allclose(shared.V_, alone.V_, atol=1e-5)


def test_a_dial_makes_everything_but_h_once(train, made):
    corml.CoRML.dial(train, item_norms=(-0.1, 0.0, 0.1), **FIRST)
    assert sorted(made) == ["co_occurring", "cross_term", "singular_vectors"]


def test_other_data_are_refused(train):
    with pytest.raises(UsageError, match="other interactions"):
        corml.CoRML().fit(train, workspace=Workspace(random_interactions(2, 200, 70, 7)))


def test_something_else_is_refused_by_name(train):
    with pytest.raises(UsageError, match="workspace must be a corml"):
        corml.CoRML().fit(train, workspace={"V": 1})
