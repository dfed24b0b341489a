"""Gradient models plan before they fit, and a fit leaves one frozen state and nothing of the call."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import corml
from corml import models
from corml._runtime import memory
from corml._runtime.settings import values_of
from corml.errors import NumericalError, ResourceError, SettingError
from corml.models.fitted import Training
from corml.models.neural.training.gradient_model import GradientModel, GradientPlan
from support import new_learner, random_interactions

NEURAL = [name for name in models.names() if issubclass(models.get(name), GradientModel)]
HARD = ("cml", "l-cml", "dpcml")
QUICK = {"size": 4, "epochs": 2, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def parts():
    return corml.split(random_interactions(5, 50, 20, mean=8), "ratio")


@pytest.mark.parametrize("name", NEURAL)
def test_a_plan_counts_what_is_learned(name):
    data = random_interactions(3, 40, 25)
    model = models.make(name, {"size": 6})
    plan = model.plan(data)
    parameters = [tensor for group in new_learner(model, data.matrix).groups().values() for tensor in group.values()]
    assert type(plan) is model.PLAN
    assert isinstance(plan, GradientPlan)
    assert plan.parameters == sum(tensor.numel() for tensor in parameters)
    assert plan.predicted_bytes > 16 * plan.parameters
    assert hasattr(plan, "negatives") == (name in HARD)


@pytest.mark.parametrize("name", NEURAL)
def test_a_fit_keeps_its_plan_and_how_it_was_trained(name, parts):
    model = models.make(name, QUICK).fit(parts.train, valid=parts.valid)
    assert model.fitted_.plan == models.make(name, QUICK).plan(parts.train)
    training = model.fitted_.training
    assert isinstance(training, Training)
    assert (training.epochs, training.stopped, training.metric) == (2, "all epochs done", "ndcg@10")
    assert [point.epoch for point in training.curve] == [1, 2]


@pytest.mark.parametrize("name", NEURAL)
def test_the_resolved_settings_give_the_same_model(name, parts):
    model = models.make(name, QUICK).fit(parts.train)
    resolved = model.settings_
    assert model.batch is None
    assert resolved.batch == model.fitted_.plan.batch > 0
    if name in HARD:
        assert (model.negatives, resolved.negatives) == (None, 10)
    again = type(model)(**resolved).fit(parts.train)
    assert dict(again.settings_) == dict(resolved)
    for array in model._declared_arrays():
        np.testing.assert_array_equal(again.fitted_.arrays[array], model.fitted_.arrays[array])


@pytest.mark.parametrize("name", NEURAL)
def test_nothing_of_the_call_outlives_it(name, parts, tmp_path):
    """Neither data, nor a callback that cannot be pickled, nor the path of a checkpoint."""
    model = models.make(name, QUICK)
    model.fit(parts.train, valid=parts.valid, checkpoint=tmp_path / "state.ck", progress=lambda *_: None)
    assert set(vars(model)) == {*values_of(model), "fitted_"}
    users = list(model.users_.labels[:5])
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        np.testing.assert_array_equal(other.recommend(users).items, model.recommend(users).items)


def test_joblib_keeps_a_fitted_model(parts, tmp_path):
    joblib = pytest.importorskip("joblib")
    model = models.make("lightgcn", QUICK).fit(parts.train, progress=lambda *_: None)
    joblib.dump(model, tmp_path / "model.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").user_, model.user_)


def test_what_was_learned_cannot_be_set_and_a_changed_setting_waits_for_the_next_fit(parts):
    model = models.make("dpcml", QUICK).fit(parts.train)
    with pytest.raises(AttributeError, match="user_ is what a fit learned: it cannot be set"):
        model.user_ = model.user_
    with pytest.raises(FrozenInstanceError):
        model.fitted_.training = None
    before = model.recommend(["u1"]).scores
    model.set_params(size=3, prototypes=2)
    np.testing.assert_array_equal(model.recommend(["u1"]).scores, before)
    assert (model.settings_.size, model.settings_.prototypes) == (4, 4)


def test_a_failed_fit_leaves_no_state(parts, monkeypatch):
    model = models.make("bpr-mf", QUICK).fit(parts.train)
    overflowing(monkeypatch)
    with pytest.raises(NumericalError):
        model.fit(parts.train)
    assert "fitted_" not in vars(model)


@pytest.mark.parametrize("name", NEURAL)
def test_help_names_every_setting(name):
    model = models.get(name)
    assert all(f"    {setting} : " in model.__doc__ for setting in values_of(model()))


@pytest.mark.parametrize("name", NEURAL)
def test_what_does_not_fit_is_refused_before_it_begins(name, data, monkeypatch):
    monkeypatch.setattr(memory, "budget", lambda: 1 << 20)
    model = models.make(name)
    sentence = r"with .* numbers to learn needs .*, the budget is 1\.0 MiB; lower size or batch\."
    with pytest.raises(ResourceError, match=sentence):
        model.plan(data)
    with pytest.raises(ResourceError, match=sentence):
        model.fit(data, progress=lambda *_: pytest.fail("it began"))


def test_memory_that_ends_in_the_middle_is_one_sentence(data, monkeypatch):
    model = models.make("bpr-mf")

    def full(*_):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(type(model), "_learner", full)
    with pytest.raises(ResourceError, match=r"not enough memory to learn with these settings: lower size or batch\."):
        model.fit(data)


def test_other_faults_of_pytorch_stay_what_they_are(data, monkeypatch):
    model = models.make("bpr-mf")

    def broken(*_):
        raise RuntimeError("size mismatch")

    monkeypatch.setattr(type(model), "_learner", broken)
    with pytest.raises(RuntimeError, match="size mismatch"):
        model.fit(data)


def overflowing(monkeypatch):
    """Losses beyond single precision, as no setting gives them."""
    from corml.models.neural.bpr_mf import _Learner

    loss = _Learner.loss
    monkeypatch.setattr(_Learner, "loss", lambda self, *batch: loss(self, *batch) * 1e30 * 1e30)


def test_settings_beyond_single_precision_are_refused_and_losses_reported(data, monkeypatch):
    with pytest.raises(SettingError, match="init_std of BPRMF must be a number above 0 and at most 100"):
        models.make("bpr-mf", {"init_std": 1e30})
    with pytest.raises(SettingError, match=r"l2 of BPRMF must be a number from 0 to 1e\+12"):
        models.make("bpr-mf", {"l2": 1e300})
    overflowing(monkeypatch)
    with pytest.raises(NumericalError, match="The first loss is not finite: a setting is too large or too small"):
        models.make("bpr-mf").fit(data)
