"""LightGCN: vectors that are propagated over the graph of users and items, trained to rank pairs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.settings import above, at_least, described, log, setting
from corml.models.fitted import Settings
from corml.models.neural.training.graph_model import GraphLearner, GraphModel
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.losses import bpr, ridge
from corml.models.neural.training.sampling import Batch

__all__ = ["LightGCN"]


@described
@dataclass(kw_only=True, eq=False)
class LightGCN(GraphModel):
    """Vectors that are means over layers of a graph, trained to rank pairs.

    Minimises −Σ ln σ(u·i − u·j) + l2/2 (‖u⁰‖² + ‖i⁰‖² + ‖j⁰‖²), where u, i, j are rows of (E + AE + … + A^L E)/(L + 1),
    u⁰, i⁰, j⁰ those of E, and A is the symmetrically normalised matrix of the graph.
    """

    NAME: ClassVar[str] = "lightgcn"
    CITATION: ClassVar[str] = (
        "He, Deng, Wang, Li, Zhang, Wang: LightGCN: Simplifying and Powering Graph Convolution Network for "
        "Recommendation. SIGIR 2020"
    )

    init_std: float = setting(
        0.1, above(0, 100), search=log(1e-2, 1), help="standard deviation of the numbers in the first vectors"
    )
    l2: float = setting(1e-4, at_least(0), symbol="λ", search=log(1e-6, 1e-2), help="ridge on the vectors of a pair")

    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> GraphLearner:
        return _Learner(settings, X, device)


class _Learner(GraphLearner):
    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        ranking = bpr(*self.of_batch(self.vectors(), batch))
        return ranking + float(self.settings.l2) * ridge(*self.of_batch(self.E, batch))
