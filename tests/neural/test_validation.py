"""Validation during training is the evaluation of the finished model."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml.errors import DataError, UsageError
from corml.models.recommender import FitCall
from support import random_interactions


def validated(model, train, valid, history=None):
    """What a fit on these data would measure for the arrays of a fitted model."""
    state = replace(model.fitted_, arrays={}, plan=None, training=None)
    call = FitCall(train=train, fitted=state, valid=valid)
    return model._validate(call, history)(dict(model.fitted_.arrays))


@pytest.mark.parametrize("name", ["bpr-mf", "lightgcn", "dpcml", "recvae"])
@pytest.mark.parametrize("items", [7, 30], ids=["fewer than 10 items", "more"])
def test_it_is_ndcg_at_10_of_the_valid_part(name, items):
    split = corml.split(random_interactions(8, 60, items, mean=4), "ratio")
    model = models.make(name, {"epochs": 2, "size": 4}).fit(split.train, valid=split.valid)
    training = model.fitted_.training
    value = corml.evaluate(model, split, "ndcg@10", part="valid", intervals=False)["ndcg@10"]
    assert value == pytest.approx(max(point.valid for point in training.curve), abs=1e-6)
    assert validated(model, split.train, split.valid) == pytest.approx(value, abs=1e-9)
    assert training.metric == "ndcg@10"


def test_pairs_of_unknown_users_and_pairs_of_the_history_do_not_count():
    split = corml.split(random_interactions(3, 40, 25), "ratio")
    odd = Interactions.from_pairs(
        [*split.valid.users.labels[split.valid.user], "nobody", "u0", split.train.users.labels[split.train.user[0]]],
        [*split.valid.items.labels[split.valid.item], "i1", "nothing", split.train.items.labels[split.train.item[0]]],
    )
    model = models.make("bpr-mf", {"epochs": 1, "size": 4}).fit(split.train)
    assert validated(model, split.train, odd) == validated(model, split.train, split.valid)


def test_pairs_of_unknown_users_alone_are_refused(data):
    unknown = Interactions.from_pairs(["x", "y"], ["i0", "i1"])
    with pytest.raises(DataError, match="No pair of valid can be found by BPRMF, which knows none of their users"):
        models.make("bpr-mf", {"epochs": 1}).fit(data, valid=unknown)


@pytest.mark.parametrize("name", ["recvae", "lightgcn", "l-cml", "simgcl"])
def test_models_that_score_histories_are_validated_by_users_they_did_not_learn_from(name):
    split = corml.split(random_interactions(8, 80, 30, mean=8), "new-users")
    model = models.make(name, {"epochs": 3, "size": 4}).fit(
        split.train, valid=split.valid, valid_history=split.valid_history
    )
    curve = [point.valid for point in model.fitted_.training.curve]
    value = corml.evaluate(model, split, "ndcg@10", part="valid", intervals=False)["ndcg@10"]
    assert value == pytest.approx(max(curve), abs=1e-6)


def test_a_model_that_cannot_score_them_says_so():
    split = corml.split(random_interactions(8, 80, 30, mean=8), "new-users")
    with pytest.raises(DataError, match=r"can be found by CML, .* to a model that scores histories"):
        models.make("cml", {"epochs": 1}).fit(split.train, valid=split.valid, valid_history=split.valid_history)
    with pytest.raises(UsageError, match=r"fit learns from Interactions, not Split: .* the \.valid_history of a split"):
        models.make("recvae").fit(split.train, valid=split.valid, valid_history=split)


def test_validation_leaves_the_model_alone(data):
    split = corml.split(data, "ratio")
    model = models.make("bpr-mf", {"epochs": 0, "size": 4}).fit(split.train)
    before, user = model.fitted_, copy.deepcopy(model.user_)
    view = model._with(before, {"user": np.ones_like(model.user_), "item": np.ones_like(model.item_)})
    validated(view, split.train, split.valid)
    assert model.fitted_ is before
    np.testing.assert_array_equal(model.user_, user)
    assert view.user_.min() == 1
