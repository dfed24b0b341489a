"""UltraGCN: what infinitely many layers of a graph would converge to, put into the loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import at_least, choice, described, log, setting, whole
from corml.data.long_histories import longest_history
from corml.linalg.products import over_pairs, strongest
from corml.linalg.sparse import column_degrees, row_degrees
from corml.models.fitted import Settings
from corml.models.neural.training.embedding_model import EmbeddingLearner, EmbeddingModel, rows
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.sampling import Batch

__all__ = ["UltraGCN"]


@described
@dataclass(kw_only=True, eq=False)
class UltraGCN(EmbeddingModel):
    """Vectors held to what a graph convolution would converge to, without convolving.

    Minimises the mean over the pairs (u, i) of a mini-batch, with negatives j, items that u has not interacted with,
    and the items k most like i, of

        −(base + β_ui) ln σ(u·i) − negative_weight·mean_j (base + β_uj) ln σ(−u·j) − item_weight·Σ_k ω_ik ln σ(u·k)

    plus l2/2·‖E‖² over their number, E being all vectors. β_ui = √((d_u + 1)/(d_i + 1))/d_u comes from the graph of
    users and items, ω_ik = G_ik/(g_i − G_ii)·√(g_i/g_k) from that of items, G = RᵀR, g its row sums. Scores are
    products.

    The weights are those of the published program, w₁ + w₂·β of a pair and w₃ + w₄·β of a negative, with w₂ = w₄ = 1
    and w₁ = w₃ = base. A `base` that is large beside β, which is near 1/√(d_u·d_i), turns the graph off. Unlike there,
    learning begins at scores of −ln(negative_weight), not of about 0, and negatives come from one pool for each
    mini-batch, without the items of the user's history.
    """

    NAME: ClassVar[str] = "ultragcn"
    CITATION: ClassVar[str] = (
        "Mao, Zhu, Xiao, Lu, Wang, He: UltraGCN: Ultra Simplification of Graph Convolutional Networks for "
        "Recommendation. CIKM 2021"
    )

    base: float = setting(
        1e-6, at_least(0), symbol="w₁ = w₃", search=log(1e-6, 1), help="weight of a pair beside its weight in the graph"
    )
    negatives: int = setting(
        1024, whole(1, 1_000_000), search=choice(512, 1024, 2048), help="items drawn as negatives for a mini-batch"
    )
    negative_weight: float = setting(100.0, at_least(0), search=log(1, 1000), help="weight of negatives")
    item_weight: float = setting(0.03, at_least(0), symbol="λ", search=log(1e-3, 10), help="weight of like items")
    neighbours: int = setting(10, whole(1, 1000), symbol="K", search=choice(5, 10, 20), help="items like an item")
    l2: float = setting(3e-5, at_least(0), symbol="γ", search=log(1e-6, 1e-2), help="ridge on all vectors")
    longest_history: int | None = longest_history()

    def _sizes(self, X: csr_array, batch: int) -> tuple[int, int]:
        parameters, beside = super()._sizes(X, batch)
        pool = min(self.negatives, X.shape[1])
        return parameters, beside + batch * (6 * pool + 3 * self.neighbours * self.size)

    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> EmbeddingLearner:
        return _Learner(settings, X, device)


class _Learner(EmbeddingLearner):
    def __init__(self, settings: Settings, X: csr_array, device: "torch.device") -> None:
        super().__init__(settings, X, device, negatives=0)
        self._begin_at(np.log(max(settings.negative_weight, 1)))
        self.X = X
        d_u, d_i = row_degrees(X), column_degrees(X)
        self.of_user, self.of_item = (
            torch.from_numpy(part.astype(np.float32)).to(device) for part in (np.sqrt(d_u + 1) / d_u, (d_i + 1) ** -0.5)
        )
        like, omega = _neighbours(X, min(settings.neighbours, X.shape[1]))
        self.like, self.omega = like, torch.from_numpy(omega).to(device)

    def _begin_at(self, level: float) -> None:
        """Begin with products of −level, the best if all items were alike and only pairs and negatives counted.

        A departure from the published program, which begins with products of about 0. The first coordinate holds the
        level. From 0, all vectors would first run in one direction to get there, and take long to part again.
        """
        with torch.no_grad():
            self.E[: self.n_users, 0] += level**0.5
            self.E[self.n_users :, 0] -= level**0.5

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        settings = self.settings
        users, items, _ = self.of_batch(self.E, batch)
        user, item = (torch.from_numpy(part).to(self.device) for part in (batch.users, batch.items))
        losses = self._weights(user, item) * softplus(-(users * items).sum(-1))
        losses = losses + float(settings.negative_weight) * self._negatives(users, batch.users, rng)
        products = torch.einsum("bs,bks->bk", users, rows(self.E, self.like[batch.items] + self.n_users))
        losses = losses + float(settings.item_weight) * (self.omega[item] * softplus(-products)).sum(1)
        return losses.mean() + float(settings.l2) / (2 * len(users)) * self.E.square().sum()

    def _weights(self, users: "torch.Tensor", items: "torch.Tensor") -> "torch.Tensor":
        """The base and β of users with items, given by their numbers."""
        weights: torch.Tensor = self.settings.base + self.of_user[users] * self.of_item[items]
        return weights

    def _negatives(self, users: "torch.Tensor", numbers: NDArray[np.int64], rng: np.random.Generator) -> "torch.Tensor":
        """Mean of (base + β_uj) ln(1 + exp u·j) over the items of a pool that each user has not seen."""
        pool = rng.choice(self.n_items, min(self.settings.negatives, self.n_items), replace=False)
        products = users @ rows(self.E, pool + self.n_users).T
        once, row = np.unique(numbers, return_inverse=True)  # or a long history was read for each of its pairs
        allowed = torch.from_numpy(~_seen(self.X[once], pool)[row]).to(self.device)
        weights = self._weights(torch.from_numpy(numbers)[:, None], torch.from_numpy(pool))
        return (weights * softplus(products) * allowed).sum(1) / allowed.sum(1).clamp_min(1)


def softplus(x: "torch.Tensor") -> "torch.Tensor":
    """−ln σ(−x)."""
    return torch.nn.functional.softplus(x)


def _seen(X: csr_array, pool: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which items of a pool each row of histories has."""
    position = np.full(X.shape[1], -1)
    position[pool] = np.arange(len(pool))
    seen = np.zeros((X.shape[0], len(pool)), dtype=bool)
    column = position[X.indices]
    seen[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[column >= 0], column[column >= 0]] = True
    return seen


def _neighbours(X: csr_array, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The `count` items of largest ω for each item, and those ω; an item with fewer has others with weight 0."""
    sums: NDArray[np.float64] = X.T @ np.diff(X.indptr).astype(np.float64)
    root = np.sqrt(np.maximum(sums, 1))
    degrees = np.bincount(X.indices, minlength=X.shape[1])
    over = root / np.maximum(sums - degrees, 1)

    def best(shared: csr_array, first: int) -> csr_array:
        item = first + np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr))
        omega = shared.data * over[item] / root[shared.indices]
        omega[shared.indices == item] = 0
        weighted = csr_array((omega.astype(np.float32), shared.indices, shared.indptr), shape=shared.shape)
        return strongest(weighted, count)

    largest = over_pairs(X, best)
    counts = np.diff(largest.indptr)
    row = np.repeat(np.arange(X.shape[1]), counts)
    column = np.arange(largest.nnz) - np.repeat(largest.indptr[:-1], counts)
    like, omega = np.zeros((X.shape[1], count), dtype=np.int64), np.zeros((X.shape[1], count), dtype=np.float32)
    like[row, column], omega[row, column] = largest.indices, largest.data
    return like, omega
