"""L-CML: the loss of CML on vectors that spread over the graph of users and items."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.neural.graph_model import Spreading, SpreadLearner
from corml.neural.hard_negatives import suggested_negatives
from corml.neural.lazy_torch import torch
from corml.neural.metric import MetricLoss
from corml.neural.sampling import Batch

__all__ = ["LCML"]


@dataclass(kw_only=True, eq=False)
class LCML(MetricLoss, Spreading):
    """CML on the vectors of LightGCN.

    Minimises what CML does, the mean of w·[margin + ‖u − i‖² − min_j ‖u − j‖²]₊ over a mini-batch plus covariance·C,
    where u, i, j are rows of (E + AE + … + A^L E)/(L + 1); a row longer than 1 is divided by its length. Scores are
    −‖u − i‖².
    """

    NAME: ClassVar[str] = "l-cml"
    CITATION: ClassVar[str] = "Wei, Ma, Chow: Collaborative Residual Metric Learning. SIGIR 2023"
    DISTANCE: ClassVar[bool] = True

    def _fold_in(self, X: csr_array) -> NDArray[np.float32]:
        found = super()._fold_in(X)
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1))

    def _learner(self, X: csr_array, device: "torch.device") -> SpreadLearner:
        return _Learner(self, X, device)


class _Learner(SpreadLearner):
    def __init__(self, model: LCML, X: csr_array, device: "torch.device") -> None:
        super().__init__(model, X, device, negatives=model.negatives or suggested_negatives(X.shape[1]))
        self.model = model

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        return self.model.cost(self, self.vectors(), batch)

    def vectors(self) -> "torch.Tensor":
        found = super().vectors()
        return torch.div(found, found.norm(dim=1, keepdim=True).clamp_min(1))
