"""LightGCN: vectors that spread over the graph of users and items, trained to rank pairs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml.neural.graph_model import Spreading, SpreadLearner
from corml.neural.lazy_torch import torch
from corml.neural.pairwise import bpr, squares
from corml.neural.sampling import Batch
from corml.settings import above, at_least, log, setting

__all__ = ["LightGCN"]


@dataclass(kw_only=True, eq=False)
class LightGCN(Spreading):
    """Vectors that are means over layers of a graph, trained to rank pairs.

    Minimises −Σ ln σ(u·i − u·j) + l2/2 (‖u⁰‖² + ‖i⁰‖² + ‖j⁰‖²), where u, i, j are rows of (E + AE + … + A^L E)/(L + 1),
    u⁰, i⁰, j⁰ those of E, and A is the symmetrically normalised matrix of the graph.
    """

    NAME: ClassVar[str] = "lightgcn"
    CITATION: ClassVar[str] = (
        "He, Deng, Wang, Li, Zhang, Wang: LightGCN: Simplifying and Powering Graph Convolution Network for "
        "Recommendation. SIGIR 2020"
    )

    start: float = setting(
        0.1, above(0, 100), search=log(1e-2, 1), help="standard deviation of the numbers in the first vectors"
    )
    l2: float = setting(1e-4, at_least(0), symbol="λ", search=log(1e-6, 1e-2), help="ridge on the vectors of a pair")

    def _learner(self, X: csr_array, device: "torch.device") -> SpreadLearner:
        return _Learner(self, X, device)


class _Learner(SpreadLearner):
    def __init__(self, model: LightGCN, X: csr_array, device: "torch.device") -> None:
        super().__init__(model, X, device)
        self.l2 = model.l2

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        return bpr(*self.taken(self.vectors(), batch)) + self.l2 * squares(*self.taken(self.E, batch))
