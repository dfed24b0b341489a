"""BPR-MF: matrix factorisation that ranks what a user met above what the user did not."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml.neural.embedding_model import Embedded
from corml.neural.lazy_torch import torch
from corml.neural.pairwise import Pairwise, bpr, squares
from corml.neural.sampling import Batch
from corml.settings import at_least, log, setting

__all__ = ["BPRMF"]


@dataclass(kw_only=True, eq=False)
class BPRMF(Embedded):
    """A vector for each user and item, trained to rank pairs.

    Minimises −Σ ln σ(u·i − u·j) + l2/2 (‖u‖² + ‖i‖² + ‖j‖²) over pairs (u, i) of the data, each with an item j that u
    has not met. Scores are products u·i.
    """

    NAME: ClassVar[str] = "bpr-mf"
    CITATION: ClassVar[str] = (
        "Rendle, Freudenthaler, Gantner, Schmidt-Thieme: BPR: Bayesian Personalized Ranking from Implicit Feedback. "
        "UAI 2009"
    )

    l2: float = setting(1e-4, at_least(0), symbol="λ", search=log(1e-6, 1e-2), help="ridge on the vectors of a pair")

    def _learner(self, X: csr_array, device: "torch.device") -> Pairwise:
        return _Learner(self, X, device)


class _Learner(Pairwise):
    def __init__(self, model: BPRMF, X: csr_array, device: "torch.device") -> None:
        super().__init__(model, X, device)
        self.l2 = model.l2

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        users, items, others = self.taken(self.E, batch)
        return bpr(users, items, others) + self.l2 * squares(users, items, others)
