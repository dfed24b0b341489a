"""L-CML: the loss of CML on vectors that are propagated over the graph of users and items."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import described
from corml.models.fitted import Settings
from corml.models.neural.training.graph_model import GraphLearner, GraphModel
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.losses import MetricLoss, metric_loss
from corml.models.neural.training.sampling import Batch

__all__ = ["LCML"]


@described
@dataclass(kw_only=True, eq=False)
class LCML(MetricLoss, GraphModel):
    """CML on the vectors of LightGCN.

    Minimises what CML does, the mean of w·[margin + ‖u − i‖² − min_j ‖u − j‖²]₊ over a mini-batch plus covariance·C,
    where u, i, j are rows of (E + AE + … + A^L E)/(L + 1); a row longer than 1 is divided by its length. Scores are
    −‖u − i‖².
    """

    NAME: ClassVar[str] = "l-cml"
    CITATION: ClassVar[str] = "Wei, Ma, Chow: Collaborative Residual Metric Learning. SIGIR 2023"

    def _fold_in(self, X: csr_array) -> NDArray[np.float32]:
        vectors = super()._fold_in(X)
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1))

    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> GraphLearner:
        return _Learner(settings, X, device, negatives=settings.negatives)


class _Learner(GraphLearner):
    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        return metric_loss(self, self.vectors(), batch)

    def vectors(self) -> "torch.Tensor":
        vectors = super().vectors()
        return torch.div(vectors, vectors.norm(dim=1, keepdim=True).clamp_min(1))
