"""A model that is evaluated on pairs it learned from: the figures flatter it, and a warning says so."""

import warnings

import pytest

import corml
from corml.errors import LeakageWarning
from corml.evaluation.leakage import leakage
from support import random_interactions


@pytest.fixture(scope="module")
def data():
    return random_interactions(3, users=60, items=30, mean=10)


@pytest.fixture(scope="module")
def split(data):
    return corml.split(data, "ratio")


@pytest.mark.parametrize("part", ["test", "valid"])
def test_a_model_fitted_on_all_data_is_evaluated_with_a_warning_that_counts_the_pairs(data, split, part):
    pairs = len(getattr(split, part))
    with pytest.warns(LeakageWarning, match=f"learned from {pairs:,} of the {pairs:,} held-out {part} pairs") as w:
        corml.evaluate(corml.Popularity().fit(data), split, "ndcg@10", part=part)
    assert w[0].filename == __file__  # it points at the line that evaluates


def test_a_model_fitted_on_another_split_is_evaluated_with_a_warning(data, split):
    other = corml.split(data, "ratio", seed=1)
    with pytest.warns(LeakageWarning, match="learned from"):
        corml.evaluate(corml.Popularity().fit(other.train), split, "ndcg@10")


def test_a_model_fitted_on_train_or_on_other_users_gets_no_warning(data, split):
    strangers = corml.Interactions.from_pairs([f"new {user}" for user in data.user], data.items.labels[data.item])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corml.evaluate(corml.Popularity().fit(split.train), split, "ndcg@10")
        corml.evaluate(corml.Popularity().fit(strangers), split, "ndcg@10")


def test_a_model_file_without_its_users_may_have_seen_them(data, split, tmp_path):
    for name, train in (("all", data), ("train", split.train)):
        corml.Popularity().fit(train).save(tmp_path / name, history=False)
    assert "may have learned" in leakage(corml.read_model(tmp_path / "all"), split, "test")
    assert leakage(corml.read_model(tmp_path / "train"), split, "test") is None
