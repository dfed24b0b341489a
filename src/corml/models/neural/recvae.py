"""RecVAE: a variational autoencoder of histories."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import above, between, choice, described, linear, log, optional, setting, whole
from corml.errors import ModelFileError
from corml.models.fitted import Settings, learned
from corml.models.neural.training.gradient_model import GradientModel
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.losses import CELLS, likelihood
from corml.recommend.score import band_of

__all__ = ["RecVAE"]

Array = NDArray[np.float32]
LAYERS = 5  # of the encoder; each sees the sum of all before it
PRIOR = (
    (3 / 20, 0.0),
    (1 / 10, 10.0),
)  # weight and log-variance of the two fixed parts; the old posterior has the rest
EPSILON = 0.1  # of layer norms, as published


@described
@dataclass(kw_only=True, eq=False)
class RecVAE(GradientModel):
    """A history becomes a distribution over short vectors, a vector becomes scores of all items.

    Maximises, over users x, E_q(z|x) [Σ_i x_i ln softmax_i(Wz + b)] − β·KL(q(z|x) ‖ p(z)), with β = gamma·|x|, a part
    of the history hidden from the encoder, and a composite prior p: a narrow Gaussian, a wide one, and the posterior of
    the encoder as it was one epoch before. Encoder and decoder learn in turns, the decoder from whole histories.
    """

    NAME: ClassVar[str] = "recvae"
    CITATION: ClassVar[str] = (
        "Shenbin, Alekseev, Tutubalina, Malykh, Nikolenko: RecVAE: A New Variational Autoencoder for Top-N "
        "Recommendations with Implicit Feedback. WSDM 2020"
    )

    first_ = learned(np.ndarray, "items", "hidden")  # of the encoder, one row for each item
    layers_ = learned(np.ndarray, LAYERS - 1, "hidden", "hidden")
    biases_ = learned(np.ndarray, LAYERS, "hidden")
    norms_ = learned(np.ndarray, LAYERS, 2, "hidden")
    means_ = learned(np.ndarray, None, "size")  # one row more than hidden: the last is added
    item_ = learned(np.ndarray, "items", "size")  # of the decoder
    bias_ = learned(np.ndarray, "items")

    hidden: int = setting(200, whole(1, 8192), search=choice(200, 600), help="width of the encoder")
    batch: int | None = setting(
        None,
        optional(whole(1, 1 << 20), "512, or a tenth of the users if that is less"),
        search=choice(256, 512),
        help="users in a mini-batch",
    )
    gamma: float = setting(0.02, above(0), symbol="γ", search=log(2e-3, 5e-2), help="weight of the prior per item")
    dropout: float = setting(0.5, between(0, 0.95), search=linear(0.2, 0.8), help="share of a history that is hidden")
    turns: int = setting(3, whole(1, 20), search=choice(1, 3), help="epochs of the encoder for one of the decoder")

    def _choices(self, X: csr_array) -> dict[str, int]:
        users = np.count_nonzero(np.diff(X.indptr))
        return {"batch": self.batch or max(1, min(512, int(users) // 10))}

    def _sizes(self, X: csr_array, batch: int) -> tuple[int, int]:
        items, users = X.shape[1], min(batch, X.shape[0])
        encoder = items * self.hidden + (LAYERS - 1) * self.hidden**2 + 3 * LAYERS * self.hidden
        encoder += 2 * (self.hidden + 1) * self.size
        decoder = items * (self.size + 1)
        return encoder + decoder, encoder + decoder + 10 * LAYERS * users * self.hidden + 4 * max(CELLS, items)

    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> "_Learner":
        return _Learner(settings, X, device)

    def _represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Array:
        """The mean vector of each history, of known and new users alike."""
        length = np.sqrt(np.maximum(np.diff(X.indptr), 1)).astype(np.float32)
        inner = (X.astype(np.float32) @ self.first_) / length[:, None]
        total = np.zeros_like(inner)
        for layer in range(LAYERS):
            if layer:
                inner = inner @ self.layers_[layer - 1] + total
            inner = _normed(_swish(inner + self.biases_[layer]), self.norms_[layer])
            total += inner
        return np.asarray(inner @ self.means_[:-1] + self.means_[-1])

    def _check_state(self) -> None:
        """Refuse an encoder whose last layer does not fit the one before."""
        if len(self.means_) != self.first_.shape[1] + 1:
            raise ModelFileError("its last layer does not fit the one before")

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """Whole rows."""
        return band_of(*X.shape)

    def score_block(self, users: Any, columns: slice) -> Array:
        """Scores of items by the decoder."""
        return np.asarray(users @ self.item_[columns].T + self.bias_[columns])


def _swish(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-np.clip(x, -80, None))))


def _normed(x: Array, scale_shift: Array) -> Array:
    centred = x - x.mean(1, keepdims=True)
    return np.asarray(centred / np.sqrt(centred.var(1, keepdims=True) + EPSILON) * scale_shift[0] + scale_shift[1])


class _Learner:
    """Encoder and decoder as plain tensors, named as the arrays of the model."""

    def __init__(self, settings: Settings, X: csr_array, device: "torch.device") -> None:
        self.settings, self.X, self.device = settings, X, device
        self.users = np.flatnonzero(np.diff(X.indptr) > 0)
        self.steps = (settings.turns + 1) * -(-len(self.users) // settings.batch)
        items, hidden, size = X.shape[1], settings.hidden, settings.size
        random = torch.Generator().manual_seed(settings.seed)

        def drawn(*shape: int, of: int) -> "torch.Tensor":
            even = 2 * torch.rand(shape, generator=random) - 1
            return torch.mul(even, of**-0.5).to(device).requires_grad_()

        def ones_and_zeros() -> "torch.Tensor":
            return torch.stack([torch.ones(hidden), torch.zeros(hidden)]).repeat(LAYERS, 1, 1)

        self.encoder = {
            "first": drawn(items, hidden, of=items),
            "layers": drawn(LAYERS - 1, hidden, hidden, of=hidden),
            "biases": drawn(LAYERS, hidden, of=hidden),
            "norms": ones_and_zeros().to(device).requires_grad_(),
            "means": drawn(hidden + 1, size, of=hidden),
            "log_variances": drawn(hidden + 1, size, of=hidden),
        }
        self.decoder = {"item": drawn(items, size, of=size), "bias": drawn(items, of=size)}
        self.previous = self.encoder

    def groups(self) -> "dict[str, dict[str, torch.Tensor]]":
        """Encoder and decoder learn in turns."""
        return {"encoder": self.encoder, "decoder": self.decoder}

    def epoch(self, rng: np.random.Generator) -> "Iterator[tuple[str, torch.Tensor]]":
        """Turns of the encoder, then one of the decoder."""
        self.previous = {name: tensor.detach().clone() for name, tensor in self.encoder.items()}
        turns, batch = self.settings.turns, self.settings.batch
        for turn in range(turns + 1):
            learns = "encoder" if turn < turns else "decoder"
            order = rng.permutation(self.users)
            for first in range(0, len(order), batch):
                rows = self.X[order[first : first + batch]]
                yield learns, self._loss(_Histories(rows, self.device), learns, rng)

    def _loss(self, histories: "_Histories", learns: str, rng: np.random.Generator) -> "torch.Tensor":
        random = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        if learns == "decoder":
            with torch.no_grad():
                mean, log_variance = _encode(self.encoder, histories)
            z = _sample(mean, log_variance, random)
            return -likelihood(z, self.decoder["item"], self.decoder["bias"], histories.starts, histories.items)
        hidden = histories.with_dropout(self.settings.dropout, random)
        mean, log_variance = _encode(self.encoder, hidden)
        z = _sample(mean, log_variance, random)
        divergence = (_density(z, mean, log_variance) - self._prior(z, histories)).sum(1)
        beta = float(self.settings.gamma) * histories.lengths
        W, b = (self.decoder[name].detach() for name in ("item", "bias"))
        return (beta * divergence).mean() - likelihood(z, W, b, histories.starts, histories.items)

    def _prior(self, z: "torch.Tensor", histories: "_Histories") -> "torch.Tensor":
        """Log-density of the composite prior, by coordinate."""
        with torch.no_grad():
            mean, log_variance = _encode(self.previous, histories)
        parts = [(1 - sum(weight for weight, _ in PRIOR), mean, log_variance)]
        parts += [(weight, torch.zeros_like(z), torch.full_like(z, level)) for weight, level in PRIOR]
        densities = [_density(z, *of_part) + float(np.log(weight)) for weight, *of_part in parts]
        return torch.logsumexp(torch.stack(densities), 0)

    def arrays(self) -> dict[str, Array]:
        """Everything but the log-variances, which only learning needs."""
        both = self.encoder | self.decoder
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in both.items() if name != "log_variances"}


class _Histories:
    """Histories of a batch as pairs of row and item, with weights of length 1 for each row."""

    def __init__(self, X: csr_array, device: "torch.device") -> None:
        counts = np.diff(X.indptr)
        self.lengths = torch.from_numpy(counts.astype(np.float32)).to(device)
        self.items = torch.from_numpy(X.indices.astype(np.int64)).to(device)
        self.starts = torch.from_numpy(X.indptr.astype(np.int64)).to(device)
        self.weights = torch.repeat_interleave(self.lengths.rsqrt(), self.starts.diff())

    def with_dropout(self, share: float, random: "torch.Generator") -> "_Histories":
        """The same with some items hidden, and the rest scaled up to make up for them."""
        hidden: _Histories = object.__new__(_Histories)
        hidden.__dict__ |= self.__dict__
        stays = torch.rand(self.weights.shape, generator=random, device=self.weights.device) >= share
        hidden.weights = self.weights * stays / (1 - share)
        return hidden


def _encode(P: "dict[str, torch.Tensor]", histories: _Histories) -> "tuple[torch.Tensor, torch.Tensor]":
    """Mean and log-variance of each history's vector."""
    inner = torch.nn.functional.embedding_bag(
        histories.items,
        P["first"],
        histories.starts,
        mode="sum",
        per_sample_weights=histories.weights,
        include_last_offset=True,
    )
    total = torch.zeros_like(inner)
    for layer in range(LAYERS):
        if layer:
            inner = inner @ P["layers"][layer - 1] + total
        inner = torch.nn.functional.silu(inner + P["biases"][layer])
        scale, shift = P["norms"][layer]
        inner = torch.nn.functional.layer_norm(inner, inner.shape[1:], scale, shift, EPSILON)
        total = total + inner
    mean, log_variance = (inner @ P[name][:-1] + P[name][-1] for name in ("means", "log_variances"))
    return mean, log_variance


def _sample(mean: "torch.Tensor", log_variance: "torch.Tensor", random: "torch.Generator") -> "torch.Tensor":
    noise = torch.randn(mean.shape, generator=random, device=mean.device)
    return mean + noise * torch.exp(log_variance / 2)


def _density(z: "torch.Tensor", mean: "torch.Tensor", log_variance: "torch.Tensor") -> "torch.Tensor":
    """Log-density of a Gaussian by coordinate, up to the constant that all share."""
    return -0.5 * (log_variance + (z - mean).square() / log_variance.exp())
