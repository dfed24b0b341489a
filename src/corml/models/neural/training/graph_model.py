"""Models whose vectors are propagated over the graph of users and items (LightGCN, He et al., SIGIR 2020)."""

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import choice, setting, whole
from corml.linalg.products import add_dense_product
from corml.linalg.sparse import narrow, normalised, power, row_degrees, scaled
from corml.models.fitted import Settings, learned
from corml.models.neural.training.embedding_model import EmbeddingLearner, EmbeddingModel
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.loop import Arrays

Vectors = NDArray[np.float32]


@dataclass(kw_only=True, eq=False)
class GraphModel(EmbeddingModel):
    """An embedding model with layers of the graph.

    A new user is a new node of the graph: `spread_` holds what each item sends to its neighbours, so a history is all
    it takes to give that node its vector, but for the part that only training could give it.
    """

    spread_ = learned(np.ndarray, "items", "size")

    layers: int = setting(2, whole(1, 8), symbol="L", search=choice(1, 2, 3), help="times vectors are propagated")

    def _sizes(self, X: csr_array, batch: int) -> tuple[int, int]:
        parameters, beside = super()._sizes(X, batch)
        return parameters, beside + (2 * self.layers + 4) * parameters  # every layer with its gradient, their means

    def _fold_in(self, X: csr_array) -> Vectors:
        weights = scaled(X, rows=power(row_degrees(X), -0.5), columns=power(np.maximum(self.counts_, 1), -0.5))
        return np.asarray(weights.astype(np.float32) @ self.spread_)


class GraphLearner(EmbeddingLearner):
    """A table of vectors seen through the graph: the mean of layers `first_layer` to L."""

    first_layer = 0

    def __init__(self, settings: Settings, X: csr_array, device: "torch.device", *, negatives: int = 1) -> None:
        super().__init__(settings, X, device, negatives=negatives)
        self.graph, self.layers = Graph(X, device), int(settings.layers)

    def vectors(self) -> "torch.Tensor":
        """Means over the layers."""
        return self.mean(self.propagate())

    def propagate(self) -> "list[torch.Tensor]":
        """The table, and what it becomes layer by layer."""
        tables = [self.E]
        for _ in range(self.layers):
            tables.append(self.graph(tables[-1]))
        return tables

    def mean(self, tables: "list[torch.Tensor]") -> "torch.Tensor":
        """Of the layers that count."""
        counted = tables[self.first_layer :]
        return sum(counted[1:], start=counted[0]) / len(counted)

    def arrays(self) -> Arrays:
        """Vectors, and what items send: the sum of layers 0 to L − 1, with the weight they have in the mean."""
        with torch.no_grad():
            layer = total = self.E
            for _ in range(self.layers - 1):
                layer = self.graph(layer)
                total = total + layer
            sent = total[self.n_users :] / (self.layers + 1 - self.first_layer)
        return super().arrays() | {"spread": sent.cpu().numpy().astype(np.float32)}


# --- the graph -------------------------------------------------------------------------------------------------------


class Graph:
    """The matrix A = [0 N; Nᵀ 0] with N = D_U^{-1/2} R D_I^{-1/2}, kept once for both directions of learning.

    It is symmetric, so the gradient of a propagation is a propagation of the gradient.
    """

    down: Any
    up: Any

    def __init__(self, X: csr_array, device: "torch.device") -> None:
        N = narrow(normalised(X))
        self.n_users, self.on_cpu = X.shape[0], device.type == "cpu"
        both = [N, csr_array(N.T)]
        self.down, self.up = both if self.on_cpu else [_tensor(M, device) for M in both]

    def __call__(self, E: "torch.Tensor") -> "torch.Tensor":
        """One layer: each vector becomes a weighted sum of its neighbours'."""
        layer: torch.Tensor = _propagation().apply(E, self)
        return layer

    def product(self, E: "torch.Tensor", nodes: NDArray[np.int64] | None = None) -> "torch.Tensor":
        """AE outside of automatic differentiation: all its rows, or those of some users, then some items."""
        users, items = E[: self.n_users], E[self.n_users :]
        if not self.on_cpu:
            layer = torch.cat([self.down @ items, self.up @ users])
            return layer if nodes is None else layer[torch.from_numpy(nodes).to(layer.device)]
        down, up = self.down, self.up
        if nodes is not None:
            down, up = down[nodes[nodes < self.n_users]], up[nodes[nodes >= self.n_users] - self.n_users]
        out = E.new_zeros(down.shape[0] + up.shape[0], E.shape[1])  # our kernel takes a third of PyTorch's time
        for M, source, target in ((down, items, out[: down.shape[0]]), (up, users, out[down.shape[0] :])):
            add_dense_product(M, source.detach().contiguous().numpy(), target.numpy())
        return out


def _tensor(M: csr_array, device: "torch.device") -> "torch.Tensor":
    starts, columns, values = (torch.from_numpy(part) for part in (M.indptr, M.indices, M.data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch says at the first one that it calls them a beta
        sparse = torch.sparse_csr_tensor(starts.long(), columns.long(), values, size=M.shape, check_invariants=False)
        return sparse.to(device)


@cache
def _propagation() -> Any:
    """The autograd function; made once and late, because its base class is PyTorch's."""

    class Propagation(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, E: "torch.Tensor", graph: Graph) -> "torch.Tensor":
            context.graph = graph
            return graph.product(E)

        @staticmethod
        def backward(context: Any, *gradients: "torch.Tensor") -> Any:
            return context.graph.product(gradients[0]), None

    return Propagation
