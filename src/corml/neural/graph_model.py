"""Models whose vectors spread over the graph of users and items, as LightGCN's do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import power, row_degrees, scaled
from corml.neural.embedding_model import Embedded
from corml.neural.graph import Graph
from corml.neural.lazy_torch import torch
from corml.neural.pairwise import Pairwise
from corml.settings import choice, setting, whole

__all__ = ["SpreadLearner", "Spreading"]

Vectors = NDArray[np.float32]


@dataclass(kw_only=True, eq=False)
class Spreading(Embedded):
    """An embedded model with layers of the graph.

    Somebody new is a new node of the graph: `spread` keeps what each item sends to its neighbours, so a history is all
    it takes to give that node its vector, but for the part that only training could give it.
    """

    STATE: ClassVar[Mapping[str, tuple[str | None, ...]]] = {**Embedded.STATE, "spread": ("items", None)}

    spread_: Vectors = field(init=False, repr=False)

    layers: int = setting(2, whole(1, 8), symbol="L", search=choice(1, 2, 3), help="how far vectors spread")

    def _sizes(self, X: csr_array) -> tuple[int, int]:
        learned, beside = super()._sizes(X)
        return learned, beside + (2 * self.layers + 4) * learned  # every layer with its gradient, their means

    def _fold_in(self, X: csr_array) -> Vectors:
        weights = scaled(X, rows=power(row_degrees(X), -0.5), columns=power(np.maximum(self.counts_, 1), -0.5))
        return np.asarray(weights.astype(np.float32) @ self.spread_)


class SpreadLearner(Pairwise):
    """A table of vectors seen through the graph: the mean of layers `least` to L."""

    least = 0

    def __init__(self, model: Spreading, X: csr_array, device: "torch.device", *, negatives: int = 1) -> None:
        super().__init__(model, X, device, negatives=negatives)
        self.graph, self.layers = Graph(X, device), model.layers

    def vectors(self) -> "torch.Tensor":
        """Means over the layers."""
        return self.mean(self.spread())

    def spread(self) -> "list[torch.Tensor]":
        """The table, and what it becomes layer by layer."""
        found = [self.E]
        for _ in range(self.layers):
            found.append(self.graph(found[-1]))
        return found

    def mean(self, spread: "list[torch.Tensor]") -> "torch.Tensor":
        """Of the layers that count."""
        counted = spread[self.least :]
        return sum(counted[1:], start=counted[0]) / len(counted)

    def arrays(self) -> dict[str, Vectors]:
        """Vectors, and what items send: the sum of layers 0 to L − 1, with the weight they have in the mean."""
        with torch.no_grad():
            here = total = self.E
            for _ in range(self.layers - 1):
                here = self.graph(here)
                total = total + here
            sent = total[self.n_users :] / (self.layers + 1 - self.least)
        return super().arrays() | {"spread": sent.cpu().numpy().astype(np.float32)}
