"""CML: users and items in one space, where a user is near to the items that suit them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.settings import described
from corml.models.fitted import Settings
from corml.models.neural.training.embedding_model import EmbeddingLearner
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.losses import MetricLoss, clip, metric_loss
from corml.models.neural.training.sampling import Batch

__all__ = ["CML"]


@described
@dataclass(kw_only=True, eq=False)
class CML(MetricLoss):
    """Vectors in a ball, where the items of a user's history are nearer to the user than others.

    Minimises the mean of w·[margin + ‖u − i‖² − min_j ‖u − j‖²]₊ over the pairs (u, i) of a mini-batch, each with
    negatives j, items that u has not interacted with, plus covariance·C. w = ln(1 + rank of i), estimated from those j;
    C is the sum of the squared covariances between two coordinates, over `size`. All vectors stay in the unit ball.
    Scores are −‖u − i‖².
    """

    NAME: ClassVar[str] = "cml"
    CITATION: ClassVar[str] = "Hsieh, Yang, Cui, Lin, Belongie, Estrin: Collaborative Metric Learning. WWW 2017"

    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> EmbeddingLearner:
        return _Learner(settings, X, device)


class _Learner(EmbeddingLearner):
    def __init__(self, settings: Settings, X: csr_array, device: "torch.device") -> None:
        super().__init__(settings, X, device, negatives=settings.negatives)
        with torch.no_grad():
            self.after_step()

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        return metric_loss(self, self.E, batch)

    def after_step(self) -> None:
        clip(self.E)
