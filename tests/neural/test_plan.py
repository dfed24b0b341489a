"""Before a fit, gradient models say how much they learn and the memory it takes."""

import pytest
import torch

from corml import memory, models
from corml.errors import NumericalError, ResourceError, SettingError
from corml.neural.gradient_model import Stepwise
from support import random_interactions

NEURAL = [name for name in models.names() if issubclass(models.get(name), Stepwise)]


@pytest.mark.parametrize("name", NEURAL)
def test_a_plan_counts_what_is_learned(name):
    data = random_interactions(3, 40, 25)
    model = models.make(name, {"size": 6})
    plan = model.plan(data)
    learner = model._learner(data.matrix, torch.device("cpu"))
    assert plan["numbers to learn"] == sum(
        part.numel() for group in learner.groups().values() for part in group.values()
    )
    assert plan["predicted bytes"] > 16 * plan["numbers to learn"]


@pytest.mark.parametrize("name", NEURAL)
def test_what_does_not_fit_is_refused_before_it_begins(name, data, monkeypatch):
    monkeypatch.setattr(memory, "budget", lambda: 1 << 20)
    model = models.make(name)
    sentence = r"with .* numbers to learn needs .*, the budget is 1\.0 MiB; lower size or batch\."
    with pytest.raises(ResourceError, match=sentence):
        model.plan(data)
    with pytest.raises(ResourceError, match=sentence):
        model.fit(data, progress=lambda *_: pytest.fail("it began"))


def test_memory_that_ends_in_the_middle_is_told_in_a_sentence(data, monkeypatch):
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


def test_settings_that_no_single_number_can_hold_are_named_or_told(data):
    with pytest.raises(SettingError, match="start of BPRMF must be a number above 0 and at most 100"):
        models.make("bpr-mf", {"start": 1e30})
    with pytest.raises(NumericalError, match="The first loss is not finite: a setting is too large or too small"):
        models.make("bpr-mf", {"l2": 1e300}).fit(data)
