"""The look at validation pairs is the evaluation everybody else makes."""

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml.errors import DataError, UsageError
from corml.neural.validation import judge
from support import random_interactions


@pytest.mark.parametrize("name", ["bpr-mf", "lightgcn", "dpcml", "recvae"])
@pytest.mark.parametrize("items", [7, 30], ids=["fewer than 10 items", "more"])
def test_it_is_ndcg_at_10_of_the_valid_part(name, items):
    split = corml.split(random_interactions(8, 60, items, mean=4), "ratio")
    model = models.make(name, {"epochs": 2, "size": 4}).fit(split.train, valid=split.valid)
    curve = [row["valid"] for row in model.notes_["training"]["curve"]]
    found = corml.evaluate(model, split, "ndcg@10", part="valid", intervals=False)["ndcg@10"]
    assert found == pytest.approx(max(curve), abs=1e-6)
    arrays = {name: getattr(model, name + "_") for name in model.STATE}
    assert judge(model, split.valid)(arrays) == pytest.approx(found, abs=1e-9)
    assert model.notes_["training"]["valid"] == "ndcg@10"


def test_pairs_of_strangers_and_pairs_already_met_do_not_count():
    split = corml.split(random_interactions(3, 40, 25), "ratio")
    odd = Interactions.from_pairs(
        [*split.valid.users.labels[split.valid.user], "nobody", "u0", split.train.users.labels[split.train.user[0]]],
        [*split.valid.items.labels[split.valid.item], "i1", "nothing", split.train.items.labels[split.train.item[0]]],
    )
    model = models.make("bpr-mf", {"epochs": 1, "size": 4}).fit(split.train)
    arrays = {"user": model.user_, "item": model.item_}
    assert judge(model, odd)(arrays) == judge(model, split.valid)(arrays)


def test_pairs_of_strangers_alone_are_refused(data):
    strangers = Interactions.from_pairs(["x", "y"], ["i0", "i1"])
    with pytest.raises(DataError, match="No pair of valid can be found by BPRMF, which knows none of their users"):
        models.make("bpr-mf", {"epochs": 1}).fit(data, valid=strangers)


@pytest.mark.parametrize("name", ["recvae", "lightgcn", "l-cml", "simgcl"])
def test_models_that_score_histories_are_judged_by_people_they_did_not_learn_from(name):
    split = corml.split(random_interactions(8, 80, 30, mean=8), "new-users")
    model = models.make(name, {"epochs": 3, "size": 4}).fit(
        split.train, valid=split.valid, valid_history=split.valid_history
    )
    curve = [row["valid"] for row in model.notes_["training"]["curve"]]
    found = corml.evaluate(model, split, "ndcg@10", part="valid", intervals=False)["ndcg@10"]
    assert found == pytest.approx(max(curve), abs=1e-6)


def test_a_model_that_cannot_score_them_says_so():
    split = corml.split(random_interactions(8, 80, 30, mean=8), "new-users")
    with pytest.raises(DataError, match=r"can be found by CML, .* to a model that scores histories"):
        models.make("cml", {"epochs": 1}).fit(split.train, valid=split.valid, valid_history=split.valid_history)
    with pytest.raises(UsageError, match=r"fit learns from Interactions, not Split: .* the \.valid_history of a split"):
        models.make("recvae").fit(split.train, valid=split.valid, valid_history=split)


def test_a_look_changes_the_model_to_what_was_looked_at(data):
    split = corml.split(data, "ratio")
    model = models.make("bpr-mf", {"epochs": 0, "size": 4}).fit(split.train)
    arrays = {"user": np.ones_like(model.user_), "item": np.ones_like(model.item_)}
    judge(model, split.valid)(arrays)
    assert model.user_ is arrays["user"]
