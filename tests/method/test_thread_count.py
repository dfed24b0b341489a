"""What is learned, and what is recommended, is the same for any number of threads, to the last bit."""

import numpy as np
import pytest

import corml
from corml._runtime.parallel import each
from corml.models.corml import plan as planning
from corml.models.corml.cost import Seconds
from support import random_interactions

SETTINGS = {
    "untouched": {},
    "all pairs": {"adapt": False, "solver": "sparse"},
    "some candidates": {"adapt": False, "candidates": 30, "pair_tol": 0.01},
    "weights of users": {"adapt": False, "candidates": 30, "user_norm": 0.5},
    "clipped": {"adapt": False, "filter": "elementwise", "solver": "sparse", "rank": 32},
}


@pytest.fixture(scope="module")
def sample():
    return random_interactions(0, 1500, 600, 12)


def bits(model):
    users = list(model.users_)[:200]
    lists = model.recommend(users, k=20)
    H = model.H_
    return lists.items.tolist(), *(x.tobytes() for x in (model.V_, H.indptr, H.indices, H.data, lists.scores))


@pytest.mark.parametrize("name", SETTINGS)
def test_one_two_and_five_threads_learn_the_same(sample, monkeypatch, name):
    learned = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("CORML_THREADS", count)
        learned.append(bits(corml.CoRML(**SETTINGS[name]).fit(sample)))
    assert learned[0] == learned[1] == learned[2]


def test_the_solver_is_not_chosen_by_the_number_of_threads(sample, monkeypatch):
    # with one thread the sparse solver would be the faster one, with eight the dense
    monkeypatch.setattr(planning, "sparse_seconds", lambda *_, **__: Seconds(3.0, 0.0))
    monkeypatch.setattr(planning, "dense_seconds", lambda *_, **__: Seconds(0.0, 0.0, 8.0))
    chosen = set()
    for count in ("1", "2", "8"):
        monkeypatch.setenv("CORML_THREADS", count)
        chosen.add(corml.CoRML().plan(sample).solver)
    assert chosen == {"sparse"}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("ahead", [1, 2, 4, 30])
def test_each_starts_no_more_than_ahead_results(monkeypatch, count, ahead):
    monkeypatch.setenv("CORML_THREADS", "3")
    begun, done = [], []

    def work(number):
        begun.append(number)
        assert number < len(done) + ahead
        return np.full(3, number)

    for part in each(work, count, ahead=ahead):
        done.append(int(part[0]))
    assert done == list(range(count))
    assert sorted(begun) == done
