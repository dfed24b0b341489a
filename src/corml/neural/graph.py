"""Spreading vectors over the graph of users and items, symmetrically normalised (LightGCN, He et al., SIGIR 2020)."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.products import add_dense_product
from corml.linalg.scaling import column_degrees, power, row_degrees, scaled
from corml.neural.lazy_torch import torch

__all__ = ["Graph"]


class Graph:
    """The matrix [0 N; Nᵀ 0] with N = D_U^{-1/2} R D_I^{-1/2}, kept once for both directions of learning.

    It is symmetric, so the gradient of a spread is a spread of the gradient.
    """

    down: Any
    up: Any

    def __init__(self, X: csr_array, device: "torch.device") -> None:
        N = normalised(X)
        self.n_users, self.on_cpu = X.shape[0], device.type == "cpu"
        both = [N, csr_array(N.T)]
        self.down, self.up = both if self.on_cpu else [_tensor(M, device) for M in both]
        self.spread = _spread()

    def __call__(self, E: "torch.Tensor") -> "torch.Tensor":
        """One layer: each vector becomes a weighted sum of its neighbours'."""
        found: torch.Tensor = self.spread.apply(E, self)
        return found

    def times(self, E: "torch.Tensor", nodes: NDArray[np.int64] | None = None) -> "torch.Tensor":
        """The plain product, without a memory for gradients: all its rows, or those of some users, then some items."""
        users, items = E[: self.n_users], E[self.n_users :]
        if not self.on_cpu:
            found = torch.cat([self.down @ items, self.up @ users])
            return found if nodes is None else found[torch.from_numpy(nodes).to(found.device)]
        down, up = self.down, self.up
        if nodes is not None:
            down, up = down[nodes[nodes < self.n_users]], up[nodes[nodes >= self.n_users] - self.n_users]
        out = E.new_zeros(down.shape[0] + up.shape[0], E.shape[1])  # our kernel takes a third of PyTorch's time
        for M, source, target in ((down, items, out[: down.shape[0]]), (up, users, out[down.shape[0] :])):
            add_dense_product(M, source.detach().contiguous().numpy(), target.numpy())
        return out


def normalised(X: csr_array) -> csr_array:
    """N, in single precision."""
    return scaled(X, rows=power(row_degrees(X), -0.5), columns=power(column_degrees(X), -0.5)).astype(np.float32)


def _tensor(M: csr_array, device: "torch.device") -> "torch.Tensor":
    starts, columns, values = (torch.from_numpy(part) for part in (M.indptr, M.indices, M.data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch says at the first one that it calls them a beta
        made = torch.sparse_csr_tensor(starts.long(), columns.long(), values, size=M.shape, check_invariants=False)
        return made.to(device)


def _spread() -> Any:
    """The autograd function; made late, because its base class is PyTorch's."""

    class Spread(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, E: "torch.Tensor", graph: Graph) -> "torch.Tensor":
            context.graph = graph
            return graph.times(E)

        @staticmethod
        def backward(context: Any, *gradients: "torch.Tensor") -> Any:
            return context.graph.times(gradients[0]), None

    return Spread
