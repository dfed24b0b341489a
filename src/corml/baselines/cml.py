"""CML: users and items in one space, where near means liked."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml.neural.embedding_model import Embedded
from corml.neural.hard_negatives import suggested_negatives
from corml.neural.lazy_torch import torch
from corml.neural.metric import MetricLoss, clip
from corml.neural.pairwise import Pairwise
from corml.neural.sampling import Batch

__all__ = ["CML"]


@dataclass(kw_only=True, eq=False)
class CML(MetricLoss, Embedded):
    """Vectors in a ball, with what a user met nearer than what the user did not.

    Minimises the mean of w·[margin + ‖u − i‖² − min_j ‖u − j‖²]₊ over the pairs (u, i) of a mini-batch, each with some
    items j that u has not met, plus covariance·C. w = ln(1 + rank of i), as those j tell it; C is the sum of the
    squared covariances between two coordinates, over `size`. All vectors stay in the unit ball. Scores are −‖u − i‖².
    """

    NAME: ClassVar[str] = "cml"
    CITATION: ClassVar[str] = "Hsieh, Yang, Cui, Lin, Belongie, Estrin: Collaborative Metric Learning. WWW 2017"
    DISTANCE: ClassVar[bool] = True

    def _learner(self, X: csr_array, device: "torch.device") -> Pairwise:
        return _Learner(self, X, device)


class _Learner(Pairwise):
    def __init__(self, model: CML, X: csr_array, device: "torch.device") -> None:
        super().__init__(model, X, device, negatives=model.negatives or suggested_negatives(X.shape[1]))
        self.model = model
        with torch.no_grad():
            self.after()

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        return self.model.cost(self, self.E, batch)

    def after(self) -> None:
        clip(self.E)
