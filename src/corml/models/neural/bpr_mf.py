"""BPR-MF: matrix factorisation that ranks the items a user has interacted with above the others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.settings import at_least, described, log, setting
from corml.models.fitted import Settings
from corml.models.neural.training.embedding_model import EmbeddingLearner, EmbeddingModel
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.losses import bpr, ridge
from corml.models.neural.training.sampling import Batch

__all__ = ["BPRMF"]


@described
@dataclass(kw_only=True, eq=False)
class BPRMF(EmbeddingModel):
    """A vector for each user and item, trained to rank pairs.

    Minimises −Σ ln σ(u·i − u·j) + l2/2 (‖u‖² + ‖i‖² + ‖j‖²) over pairs (u, i) of the data, each with a negative j, an
    item that u has not interacted with. Scores are products u·i.
    """

    NAME: ClassVar[str] = "bpr-mf"
    CITATION: ClassVar[str] = (
        "Rendle, Freudenthaler, Gantner, Schmidt-Thieme: BPR: Bayesian Personalized Ranking from Implicit Feedback. "
        "UAI 2009"
    )

    l2: float = setting(1e-4, at_least(0), symbol="λ", search=log(1e-6, 1e-2), help="ridge on the vectors of a pair")

    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> EmbeddingLearner:
        return _Learner(settings, X, device)


class _Learner(EmbeddingLearner):
    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        vectors, l2 = self.of_batch(self.E, batch), float(self.settings.l2)
        return bpr(*vectors) + l2 * ridge(*vectors)
