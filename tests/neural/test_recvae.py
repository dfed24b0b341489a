"""RecVAE: the bound it raises, its composite prior, turns of encoder and decoder, and an encoder that serves."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm

from corml import models
from corml.models.neural import recvae
from support import new_learner, random_interactions

SMALL = {"size": 3, "hidden": 7, "batch": 100}


@pytest.fixture(scope="module")
def tiny():
    return random_interactions(0, 6, 8, mean=3)


def learner_of(data, **settings):
    return new_learner(models.make("recvae", SMALL | settings), data.matrix)


def step_all(learner, count):
    """Some plain gradient steps, so that nothing is as it began."""
    for _ in range(count):
        for group, loss in learner.epoch(np.random.default_rng(0)):
            loss.backward()
            with torch.no_grad():
                for tensor in learner.groups()[group].values():
                    tensor -= 0.01 * tensor.grad
            for named in learner.groups().values():
                for tensor in named.values():
                    tensor.grad = None


def encode(P, x, raised=1.0):
    """Mean and log-variance of one history, as the paper writes its encoder; `raised` is what dropout does."""
    P = {name: tensor.detach().numpy().astype(np.float64) for name, tensor in P.items()}
    inner, total = x * raised / np.sqrt((x**2).sum()) @ P["first"], 0.0
    for layer in range(5):
        if layer:
            inner = inner @ P["layers"][layer - 1] + total
        inner = inner + P["biases"][layer]
        inner = inner / (1 + np.exp(-inner))
        inner = (inner - inner.mean()) / np.sqrt(inner.var() + recvae.EPSILON)
        inner = inner * P["norms"][layer][0] + P["norms"][layer][1]
        total = total + inner
    return tuple(inner @ P[name][:-1] + P[name][-1] for name in ("means", "log_variances"))


def density(z, mean, log_variance):
    return norm.logpdf(z, mean, np.exp(log_variance / 2))


def prior(z, old):
    """Log-density of the mixture: the old posterior, a standard and a wide Gaussian."""
    parts = [np.log(0.75) + density(z, *old), np.log(0.15) + density(z, 0, 0), np.log(0.1) + density(z, 0, 10)]
    return logsumexp(parts, axis=0)


def test_the_encoder_is_that_of_the_paper(tiny):
    learner = learner_of(tiny)
    step_all(learner, 3)
    means, log_variances = recvae._encode(learner.encoder, recvae._Histories(tiny.matrix, torch.device("cpu")))
    for row, x in enumerate(tiny.matrix.toarray()):
        mean, log_variance = encode(learner.encoder, x)
        np.testing.assert_allclose(means[row].detach(), mean, atol=1e-5)
        np.testing.assert_allclose(log_variances[row].detach(), log_variance, atol=1e-5)


def test_the_encoder_that_serves_is_the_one_that_learned():
    data = random_interactions(2, 50, 30)
    model = models.make("recvae", {"size": 8, "hidden": 32, "epochs": 5, "learning_rate": 0.01}).fit(data)
    learner = learner_of(data, size=8, hidden=32)
    for name, tensor in (learner.encoder | learner.decoder).items():
        if name != "log_variances":
            tensor.data.copy_(torch.from_numpy(getattr(model, name + "_")))
    means, _ = recvae._encode(learner.encoder, recvae._Histories(data.matrix, torch.device("cpu")))
    np.testing.assert_allclose(model._represent(data.matrix, None), means.detach(), atol=1e-5)
    scores = means @ learner.decoder["item"].T + learner.decoder["bias"]
    np.testing.assert_allclose(
        model.score_block(model._represent(data.matrix, None), slice(0, 30)), scores.detach(), atol=1e-4
    )


def test_the_composite_prior_is_the_mixture(tiny):
    learner = learner_of(tiny)
    step_all(learner, 2)
    histories = recvae._Histories(tiny.matrix, torch.device("cpu"))
    z = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)) * 3
    densities = learner._prior(z, histories).numpy() - np.log(2 * np.pi) / 2  # the constant that all densities share
    for row, x in enumerate(tiny.matrix.toarray()):
        np.testing.assert_allclose(densities[row], prior(z[row].numpy(), encode(learner.previous, x)), rtol=1e-4)


@pytest.mark.parametrize("dropout", [0.0, 0.6])
@pytest.mark.parametrize("gamma", [0.005, 0.3])
def test_the_loss_is_a_likelihood_and_a_divergence_that_weighs_by_history(tiny, gamma, dropout, monkeypatch):
    """The encoder that learns sees a part of each history; prior, likelihood, weight and decoder the whole."""
    learner = learner_of(tiny, gamma=gamma, dropout=dropout)
    step_all(learner, 2)
    noise = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    monkeypatch.setattr(
        recvae, "_sample", lambda mean, log_variance, random: mean + noise * torch.exp(log_variance / 2)
    )
    W, b = (learner.decoder[name].detach().numpy().astype(np.float64) for name in ("item", "bias"))
    random = torch.Generator().manual_seed(int(np.random.default_rng(0).integers(2**62)))
    raised = tiny.matrix.astype(np.float64)
    raised.data = (torch.rand(raised.nnz, generator=random).numpy() >= dropout) / (1 - dropout)
    costs = {"encoder": [], "decoder": []}
    for group, seen in (("encoder", raised.toarray()), ("decoder", np.ones(tiny.shape))):
        for row, x in enumerate(tiny.matrix.toarray()):
            mean, log_variance = encode(learner.encoder, x, seen[row])
            z = mean + noise[row].numpy() * np.exp(log_variance / 2)
            costs[group].append(-(x * log_softmax(W @ z + b)).sum())
            if group == "encoder":
                divergence = density(z, mean, log_variance) - prior(z, encode(learner.previous, x))
                costs[group][-1] += gamma * x.sum() * divergence.sum()
    histories = recvae._Histories(tiny.matrix, torch.device("cpu"))
    for group, expected in costs.items():
        loss = learner._loss(histories, group, np.random.default_rng(0)).item()
        assert loss == pytest.approx(np.mean(expected), rel=1e-4)


def test_a_part_of_a_history_is_hidden_and_the_rest_scaled_up(tiny):
    data = random_interactions(2, 200, 30, mean=12)
    histories = recvae._Histories(data.matrix, torch.device("cpu"))
    hidden = histories.with_dropout(0.25, torch.Generator().manual_seed(0))
    stays = hidden.weights > 0
    assert stays.float().mean().item() == pytest.approx(0.75, abs=0.03)
    torch.testing.assert_close(hidden.weights[stays], histories.weights[stays] / 0.75)
    assert hidden.lengths is histories.lengths  # the likelihood and β are those of the whole history


def test_encoder_and_decoder_learn_in_turns(tiny):
    learner = learner_of(tiny, turns=3, batch=4)
    order = []
    for group, loss in learner.epoch(np.random.default_rng(0)):
        order.append(group)
        loss.backward()
        moved = {
            name: any(tensor.grad is not None for tensor in named.values()) for name, named in learner.groups().items()
        }
        assert moved == {"encoder": group == "encoder", "decoder": group == "decoder"}
        for named in learner.groups().values():
            for tensor in named.values():
                tensor.grad = None
    assert order == ["encoder"] * 6 + ["decoder"] * 2  # two mini-batches each
    assert learner.steps == len(order)


def test_the_prior_remembers_the_encoder_of_one_epoch_before(tiny):
    learner = learner_of(tiny)
    step_all(learner, 1)
    after_one = {name: tensor.detach().clone() for name, tensor in learner.encoder.items()}
    step_all(learner, 1)
    for name, tensor in learner.previous.items():
        assert torch.equal(tensor, after_one[name])
        assert not tensor.requires_grad


def test_known_and_new_users_with_the_same_history_get_the_same_list():
    data = random_interactions(2, 50, 30)
    model = models.make("recvae", SMALL | {"epochs": 3}).fit(data)
    mine = list(data.items.labels[data.matrix[[7]].indices])
    known, new = model.recommend([data.users.labels[7]]), model.recommend(history=[mine[::-1]])
    np.testing.assert_array_equal(known.items, new.items)


def test_an_empty_history_does_not_break_the_encoder():
    data = random_interactions(2, 50, 30)
    model = models.make("recvae", SMALL | {"epochs": 1}).fit(data)
    empty = data.matrix[[0]].copy()
    empty.data[:] = 0
    empty.eliminate_zeros()
    assert np.isfinite(model._represent(empty, None)).all()
