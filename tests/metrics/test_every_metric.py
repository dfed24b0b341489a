"""What every file in the room promises; a new metric is tested by being there."""

import dataclasses
import importlib
import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from corml.evaluation import metrics
from corml.evaluation.metrics import Lists

NAMES = metrics.names()
every_metric = pytest.mark.parametrize("name", NAMES)


def test_the_room_has_the_metrics_people_ask_for():
    usual = "ndcg mrr recall precision hit_rate map novelty self_information coverage gini popularity diversity"
    assert set(usual.split()) <= set(NAMES)


@every_metric
def test_file_and_function_bear_the_typed_name(name):
    module = importlib.import_module(f"corml.evaluation.metrics.{name}")
    assert module.__all__ == [name]
    assert list(inspect.signature(getattr(module, name)).parameters) == ["lists", "k"]


@every_metric
def test_says_what_it_means_by_which_formula_and_which_way_is_better(name):
    (about,) = [described for described in metrics.describe() if described.name == name]
    assert about.words.endswith(".")
    assert len(about.words) <= 120
    assert about.formula
    assert about.better.startswith(("higher, ", "lower, "))


@every_metric
@given(seed=st.integers(0, 2**32), k=st.integers(1, 30), short=st.booleans())
def test_gives_a_finite_number_for_each_user_or_for_all(random_lists, value, name, seed, k, short):
    lists, _ = random_lists(seed, users=5, short=short)
    result = value(f"{name}@{k}", lists)
    assert isinstance(result, float) or (result.shape == (5,) and result.dtype == np.float64)
    assert np.isfinite(result).all()


@every_metric
@given(seed=st.integers(0, 2**32), k=st.integers(1, 30), short=st.booleans())
def test_keeps_within_its_range(random_lists, value, name, seed, k, short):
    lists, _ = random_lists(seed, users=5, short=short)
    top = np.log2(lists.n_users) if name == "self_information" else 1
    result = np.asarray(value(f"{name}@{k}", lists))
    assert (result >= -1e-12).all()
    assert (result <= top + 1e-12).all()


@every_metric
@given(seed=st.integers(0, 2**32))
def test_who_comes_first_and_how_items_are_numbered_do_not_matter(random_lists, value, name, seed):
    lists, _ = random_lists(seed, users=8, short=True)
    rng = np.random.default_rng(seed)
    users, numbers = rng.permutation(8), rng.permutation(lists.n_items)
    renumbered = np.where(lists.items >= 0, numbers[lists.items], -1)
    back = np.argsort(numbers)
    ranked = renumbered[users], lists.hits[users], lists.relevant[users]
    shuffled = Lists(*ranked, lists.degrees[back], lists.n_users, csr_array(lists.train.toarray()[:, back]))
    before, after = value(f"{name}@10", lists), value(f"{name}@10", shuffled)
    np.testing.assert_array_equal(before if isinstance(before, float) else before[users], after)


@every_metric
def test_leaves_its_input_alone_and_gives_the_same_again(random_lists, value, name):
    lists, _ = random_lists(3, short=True)
    before = {name: np.copy(values) for name, values in _arrays(lists).items()}
    first, again = value(f"{name}@10", lists), value(f"{name}@10", lists)
    np.testing.assert_array_equal(first, again)
    assert all(np.array_equal(before[name], values) for name, values in _arrays(lists).items())


def _arrays(lists):
    fields = {field.name: getattr(lists, field.name) for field in dataclasses.fields(lists)}
    return fields | {"train": lists.train.toarray()}


@every_metric
def test_no_user_no_item_and_a_single_user_are_all_right(value, name):
    train = csr_array([[1, 0]])
    empty = Lists(np.full((2, 3), -1), np.zeros((2, 3), bool), np.array([0, 1]), np.array([1, 0]), 1, train)
    assert np.asarray(value(f"{name}@3", empty)) == pytest.approx(0)
    nobody = np.zeros((0, 3), int), np.zeros((0, 3), bool), np.zeros(0, int)
    no_users = Lists(*nobody, np.zeros(4, int), 0, csr_array((0, 4)))
    assert np.size(value(f"{name}@3", no_users)) in (0, 1)
    alone = Lists(np.array([[0, 1]]), np.array([[True, False]]), np.array([1]), np.array([1, 0]), 1, train)
    assert np.isfinite(value(f"{name}@3", alone)).all()
