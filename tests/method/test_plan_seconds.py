"""Seconds are predicted as a sum over stages, so that each kind of work counts."""

from dataclasses import replace

import pytest

import corml
from corml.models.corml.cost import PairCount, Size, dense_seconds, sparse_seconds
from support import random_interactions

COUNT = PairCount(pairs=40_000, work=4e6, squares=1e6)
HOW = {"keep_gram": False, "excluding": False, "clip": False}


@pytest.fixture(scope="module")
def X():
    return random_interactions(0, 3000, 1500, 8).matrix


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "2")


def seconds(X, rank=16, count=COUNT, every=80_000, **how):
    return sparse_seconds(Size.of(X), rank, count, every, **{**HOW, **how}).with_threads()


def dense(X, *sizes):
    return dense_seconds(Size.of(X), *sizes).with_threads()


def test_every_kind_of_work_takes_time(X):
    least = seconds(X)
    assert least > 0
    assert seconds(X, rank=64) > least
    assert seconds(X, every=200_000) > least
    assert seconds(X, count=replace(COUNT, pairs=60_000)) > least
    assert seconds(X, count=replace(COUNT, work=8e6)) > least
    assert seconds(X, excluding=True) > least
    assert seconds(X, clip=True) > least
    assert seconds(X, keep_gram=True) < least  # here it has fewer multiplications


def test_dense_rows_are_predicted_for_a_small_catalogue_of_which_a_good_part_co_occurs(X):
    crowded = replace(COUNT, pairs=X.shape[1] * sum(X.shape) // 4 + 1)
    assert seconds(X, count=replace(crowded, work=8e9)) == seconds(X, count=crowded)  # no pair is gathered


def test_more_threads_take_less_time_and_more_data_take_more(X, monkeypatch):
    larger = random_interactions(0, 6000, 3000, 8)
    assert corml.CoRML().plan(larger).predicted_seconds > 1.5 * seconds(X)
    two = seconds(X), dense(X, 16, 1500, 1.0)
    monkeypatch.setenv("CORML_THREADS", "1")
    assert two[0] < seconds(X)
    assert two[1] < dense(X, 16, 1500, 1.0)


def test_smaller_blocks_of_the_dense_solver_take_less_time(X):
    assert dense(X, 16, 300, 0.2) < 0.5 * dense(X, 16, 1500, 1.0)
