"""UltraGCN: what infinitely many layers of a graph would ask for, asked for directly."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.pairs import over_pairs, strongest
from corml.linalg.scaling import column_degrees, row_degrees
from corml.neural.embedding_model import Embedded
from corml.neural.lazy_torch import torch
from corml.neural.pairwise import Pairwise, rows
from corml.neural.sampling import Batch, suggested_batch
from corml.settings import at_least, choice, log, setting, whole

__all__ = ["UltraGCN"]


@dataclass(kw_only=True, eq=False)
class UltraGCN(Embedded):
    """Vectors held to what a graph convolution would converge to, without convolving.

    Minimises the mean over the pairs (u, i) of a mini-batch, with items j that u has not met and the items k most like
    i, of

        −(base + β_ui) ln σ(u·i) − negative_weight·mean_j (base + β_uj) ln σ(−u·j) − item_weight·Σ_k ω_ik ln σ(u·k)

    plus l2/2·‖E‖² over their number, E being all vectors. β_ui = √((d_u + 1)/(d_i + 1))/d_u comes from the graph of
    users and items, ω_ik = G_ik/(g_i − G_ii)·√(g_i/g_k) from that of items, G = RᵀR, g its row sums. Scores are
    products.
    """

    NAME: ClassVar[str] = "ultragcn"
    CITATION: ClassVar[str] = (
        "Mao, Zhu, Xiao, Lu, Wang, He: UltraGCN: Ultra Simplification of Graph Convolutional Networks for "
        "Recommendation. CIKM 2021"
    )

    base: float = setting(
        1.0, at_least(0), search=log(1e-6, 1), help="weight of a pair besides what the graph gives it"
    )
    negatives: int = setting(
        1024, whole(1, 1_000_000), search=choice(512, 1024, 2048), help="items drawn for a mini-batch as not met"
    )
    negative_weight: float = setting(10.0, at_least(0), search=log(1, 1000), help="weight of items not met")
    item_weight: float = setting(1.0, at_least(0), symbol="λ", search=log(0.01, 10), help="weight of like items")
    neighbours: int = setting(10, whole(1, 1000), symbol="K", search=choice(5, 10, 20), help="items like an item")
    l2: float = setting(1e-3, at_least(0), symbol="γ", search=log(1e-6, 1e-2), help="ridge on all vectors")

    def _sizes(self, X: csr_array) -> tuple[int, int]:
        learned, beside = super()._sizes(X)
        batch, pool = self.batch or suggested_batch(X.nnz), min(self.negatives, X.shape[1])
        return learned, beside + batch * (6 * pool + 3 * self.neighbours * self.size)

    def _learner(self, X: csr_array, device: "torch.device") -> Pairwise:
        return _Learner(self, X, device)


class _Learner(Pairwise):
    def __init__(self, model: UltraGCN, X: csr_array, device: "torch.device") -> None:
        super().__init__(model, X, device, negatives=0)
        self._begin_at(np.log(max(model.negative_weight, 1)))
        self.model, self.X = model, X
        d_u, d_i = row_degrees(X), column_degrees(X)
        self.of_user, self.of_item = (
            torch.from_numpy(part.astype(np.float32)).to(device) for part in (np.sqrt(d_u + 1) / d_u, (d_i + 1) ** -0.5)
        )
        like, weight = _neighbours(X, min(model.neighbours, X.shape[1]))
        self.like, self.weight = like, torch.from_numpy(weight).to(device)

    def _begin_at(self, level: float) -> None:
        """Begin with products of −level, the best if all items were alike and only pairs and negatives counted.

        The first coordinate holds it. From 0, all vectors would first run in one direction to get there, and take long
        to part again.
        """
        with torch.no_grad():
            self.E[: self.n_users, 0] += level**0.5
            self.E[self.n_users :, 0] -= level**0.5

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        users, items, _ = self.taken(self.E, batch)
        who, what = (torch.from_numpy(part).to(self.device) for part in (batch.users, batch.items))
        ahead = (users * items).sum(-1)
        found = (self.model.base + self.of_user[who] * self.of_item[what]) * softplus(-ahead)
        found = found + self.model.negative_weight * self._others(users, batch.users, rng)
        alike = rows(self.E, self.like[batch.items] + self.n_users)
        products = torch.einsum("bs,bks->bk", users, alike)
        found = found + self.model.item_weight * (self.weight[what] * softplus(-products)).sum(1)
        return found.mean() + self.model.l2 / (2 * len(users)) * self.E.square().sum()

    def _others(self, users: "torch.Tensor", numbers: NDArray[np.int64], rng: np.random.Generator) -> "torch.Tensor":
        """Mean of (base + β_uj) ln(1 + exp u·j) over the items of a pool that each user has not met."""
        pool = rng.choice(self.n_items, min(self.model.negatives, self.n_items), replace=False)
        products = users @ rows(self.E, pool + self.n_users).T
        allowed = torch.from_numpy(~_met(self.X[numbers], pool)).to(self.device)
        beta = self.of_user[torch.from_numpy(numbers)][:, None] * self.of_item[torch.from_numpy(pool)]
        return ((self.model.base + beta) * softplus(products) * allowed).sum(1) / allowed.sum(1).clamp_min(1)


def softplus(x: "torch.Tensor") -> "torch.Tensor":
    """−ln σ(−x)."""
    return torch.nn.functional.softplus(x)


def _met(X: csr_array, pool: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which items of a pool each row of histories has."""
    place = np.full(X.shape[1], -1)
    place[pool] = np.arange(len(pool))
    found = np.zeros((X.shape[0], len(pool)), dtype=bool)
    at = place[X.indices]
    found[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[at >= 0], at[at >= 0]] = True
    return found


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
        made = csr_array((omega.astype(np.float32), shared.indices, shared.indptr), shape=shared.shape)
        return strongest(made, count)

    found = over_pairs(X, best)
    place = np.arange(found.nnz) - np.repeat(found.indptr[:-1], np.diff(found.indptr))
    row = np.repeat(np.arange(X.shape[1]), np.diff(found.indptr))
    like, weight = np.zeros((X.shape[1], count), dtype=np.int64), np.zeros((X.shape[1], count), dtype=np.float32)
    like[row, place], weight[row, place] = found.indices, found.data
    return like, weight
