"""One frozen fitted state: what a model was fitted with is what it scores, saves and copies with."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
import sklearn.base
from scipy.sparse import csr_array

import corml
from corml import models
from corml._runtime.settings import declared
from corml.data.ids import Ids
from corml.errors import NotFittedError, SettingError
from corml.models.fitted import Certificate, Plan, Settings, on_items
from support import random_interactions, with_arrays

TRAIN = random_interactions(11, 70, 30)
VALID = random_interactions(12, 70, 30).on(TRAIN.users, TRAIN.items)


def brief(name):
    return {"epochs": 2} if "epochs" in declared(models.get(name)) else {}


@pytest.fixture(scope="module", params=models.names())
def model(request):
    return models.make(request.param, brief(request.param)).fit(TRAIN, valid=VALID, progress=lambda *step: None)


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), through_joblib])
def test_copies_answer_alike(model, copied):
    users = list(model.users_.labels[:5])
    model.recommend(users)  # what scoring prepares must not stand in the way
    again = copied(model)
    assert "_derived" not in vars(again)  # it is made from the rest, and may be large
    np.testing.assert_array_equal(again.recommend(users).items, model.recommend(users).items)
    assert dict(again.settings_) == dict(model.settings_)


def test_a_fitted_model_has_only_settings_and_state(model):
    assert set(vars(model)) - {"_derived"} == {*declared(type(model)), "fitted_"}


def test_scikit_learn_can_clone_it(model):
    clone = sklearn.base.clone(model)
    assert type(clone) is type(model)
    assert clone.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        clone.recommend(["u1"])


def test_settings_are_read_and_set_by_name():
    model = corml.CoRML(mix=0.6)
    assert model.get_params()["mix"] == 0.6
    assert model.set_params(mix=0.7, rank=8) is model
    assert (model.mix, model.rank) == (0.7, 8)
    with pytest.raises(SettingError):
        model.set_params(mix=0.9, renk=8)
    assert model.mix == 0.7  # all of it, or nothing
    with pytest.raises(SettingError, match="did you mean 'rank'"):
        model.set_params(renk=8)


def test_resolved_settings_give_the_same_model(model):
    again = type(model)(**model.settings_).fit(TRAIN, valid=VALID)
    users = list(model.users_.labels)
    np.testing.assert_array_equal(again.recommend(users).items, model.recommend(users).items)
    assert dict(again.settings_) == dict(model.settings_)


def test_a_failed_fit_leaves_an_unfitted_model(model, monkeypatch):
    again = copy.deepcopy(model)
    again.recommend(["u1"])

    def fail(*given, **how):
        raise RuntimeError("half way")

    monkeypatch.setattr(type(model), "_fit", fail)
    with pytest.raises(RuntimeError, match="half way"):
        again.fit(TRAIN)
    with pytest.raises(NotFittedError):
        again.recommend(["u1"])
    assert set(vars(again)) == set(declared(type(model)))  # nor does it hold on to what an earlier fit prepared


def test_learned_arrays_are_read_only(model):
    declared_arrays = [f"{name}_" for name in model._declared_arrays() if hasattr(type(model), f"{name}_")]
    assert declared_arrays
    for name in declared_arrays:
        with pytest.raises(AttributeError, match="cannot be set"):
            setattr(model, name, None)
    with pytest.raises(AttributeError):
        model.fitted_.items = None
    with pytest.raises(AttributeError, match="fit again"):
        model.fitted_.settings.seed = 1


def test_the_docstring_lists_every_setting(model):
    for name, spec in declared(type(model)).items():
        assert f"{name} : {spec.rule.phrase}; default {spec.default}" in type(model).__doc__
        assert spec.help in type(model).__doc__


def test_settings_are_a_frozen_mapping():
    settings = Settings({"rank": 8, "mix": 0.5})
    assert (settings.rank, settings["mix"], list(settings), len(settings)) == (8, 0.5, ["rank", "mix"], 2)
    assert repr(settings) == "Settings(rank=8, mix=0.5)"
    with pytest.raises(AttributeError, match="no setting 'rang'"):
        settings.rang  # noqa: B018


def test_a_plan_fills_in_the_settings_it_resolves():
    assert dict(Plan(predicted_bytes=7).resolved({"rank": None})) == {"rank": None}
    assert Plan(predicted_bytes=7).report()["predicted bytes"] > 7


def test_a_certificate_reports_what_its_solver_has():
    assert Certificate(steps=3, converged=True, residual=1e-5).report() == {
        "steps": 3,
        "converged": True,
        "residual": 1e-5,
    }


def test_weights_follow_item_ids_to_new_data():
    old, new = Ids(["a", "b", "c"]), Ids(["c", "d", "a"])
    W = csr_array(np.array([[0, 1, 2], [3, 0, 4], [5, 6, 0]], dtype=np.float32))
    moved = on_items(W, old, new)
    assert moved.toarray().tolist() == [[0, 0, 5], [0, 0, 0], [2, 0, 0]]
    assert moved.has_sorted_indices
    assert moved.nnz == 2


def test_derived_data_belong_to_one_fitted_state():
    model = corml.CoRML(mix=1.0).fit(TRAIN)
    before = model.scores([["i1"]])
    model.fitted_ = with_arrays(model, H=model.H_ / 2).fitted_
    np.testing.assert_allclose(model.scores([["i1"]]), before / 2, rtol=1e-6)
