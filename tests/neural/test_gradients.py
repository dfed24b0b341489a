"""Gradients by short cuts are the gradients of the whole losses."""

import numpy as np
import pytest
import torch

from corml.models.neural import dpcml, simgcl, ultragcn
from corml.models.neural.training import embedding_model
from corml.models.neural.training.hard_negatives import nearest
from corml.models.neural.training.losses import covariance
from support import learner_of, one_batch, random_interactions

EMBEDDING = ("bpr-mf", "lightgcn", "simgcl", "ultragcn", "cml", "l-cml", "dpcml")


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


def gradients(learner, loss):
    """Of each table."""
    tables = learner.groups()["all"]
    for table in tables.values():
        table.grad = None
    loss.backward()
    return {name: table.grad.numpy().copy() for name, table in tables.items()}


def assert_same(ours, theirs):
    for name in ours:
        assert np.abs(theirs[name]).max() > 1e-3
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-6)


@pytest.mark.parametrize("name", EMBEDDING)
def test_gradients_by_rows_are_those_of_a_plain_index(name, tiny, monkeypatch):
    _, learner = learner_of(name, tiny)
    batch = one_batch(learner)
    ours = gradients(learner, learner.loss(batch, np.random.default_rng(0)))
    for module in (embedding_model, dpcml, simgcl, ultragcn):
        monkeypatch.setattr(module, "rows", lambda table, numbers: table[torch.from_numpy(numbers)])
    assert_same(ours, gradients(learner, learner.loss(batch, np.random.default_rng(0))))


@pytest.mark.parametrize("name", ["cml", "l-cml"])
def test_leaving_out_all_but_the_hard_negative_does_not_change_the_gradient_of_cml(name, tiny):
    model, learner = learner_of(name, tiny, negatives=4)
    batch = one_batch(learner)
    ours = gradients(learner, learner.loss(batch, None))
    users, items, negatives = learner.of_batch(learner.vectors(), batch)
    near, far = (users - items).square().sum(-1), (users[:, None] - negatives).square().sum(-1)
    rank = ((far < near[:, None] + model.margin).sum(1) * len(tiny.items) // 4).detach()
    loss = (torch.log1p(rank) * torch.relu(model.margin + near - far.amin(1))).mean()
    loss = loss + model.covariance * covariance(torch.cat([users, items]))
    assert_same(ours, gradients(learner, loss))


def test_leaving_out_all_but_the_hard_negative_does_not_change_the_gradient_of_dpcml(tiny):
    model, learner = learner_of("dpcml", tiny, negatives=4, prototypes=3)
    batch = one_batch(learner)
    ours = gradients(learner, learner.loss(batch, None))
    users = learner.U[torch.from_numpy(batch.users)].view(-1, 3, 5)
    items = learner.E[torch.from_numpy(np.column_stack([batch.items, batch.negatives]))]
    distances = nearest(users, items)
    loss = torch.relu(model.margin + distances[:, 0] - distances[:, 1:].amin(1)).mean()
    assert_same(ours, gradients(learner, loss + model.diversity * learner._out_of_bounds(users).mean()))


@pytest.mark.parametrize("layers", [1, 3])
def test_noise_may_be_taken_as_a_constant(layers, tiny):
    """Images whose every layer is differentiated, as published, have the gradient of vectors plus a constant."""
    model, learner = learner_of("simgcl", tiny, layers=layers, noise=0.05)
    nodes, aim = np.arange(14), torch.randn(14, 5, generator=torch.Generator().manual_seed(1))
    ours = gradients(learner, ((learner.vectors() + learner._noise(learner.propagate(), nodes, 7)) * aim).exp().sum())
    random, layer, images = torch.Generator().manual_seed(7), learner.E, []
    for _ in range(layers):
        layer = learner.graph(layer)
        drawn = torch.nn.functional.normalize(torch.rand(layer.shape, generator=random)) * model.noise
        layer = layer + torch.sign(layer) * drawn
        images.append(layer)
    assert_same(ours, gradients(learner, (torch.stack(images).mean(0) * aim).exp().sum()))
