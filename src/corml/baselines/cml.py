"""CML: users and items in one space, where near means liked."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml.neural.embedded import Embedded
from corml.neural.late import torch
from corml.neural.metric import clip, covariance, distances, warp
from corml.neural.pairwise import Pairwise
from corml.neural.sampling import Batch
from corml.settings import above, at_least, choice, linear, log, setting, whole

__all__ = ["CML"]


@dataclass(kw_only=True, eq=False)
class CML(Embedded):
    """Vectors in a ball, with what a user met nearer than what the user did not.

    Minimises Σ w·[margin + ‖u − i‖² − min_j ‖u − j‖²]₊ + covariance·C over pairs (u, i), each with some items j that u
    has not met. w = ln(1 + rank of i), as those j tell it; C are the squares of the covariances between coordinates.
    All vectors stay in the unit ball. Scores are −‖u − i‖².
    """

    NAME: ClassVar[str] = "cml"
    CITATION: ClassVar[str] = "Hsieh, Yang, Cui, Lin, Belongie, Estrin: Collaborative Metric Learning. WWW 2017"
    DISTANCE: ClassVar[bool] = True

    margin: float = setting(0.5, above(0), symbol="m", search=linear(0.1, 2), help="how much nearer is near enough")
    negatives: int = setting(20, whole(1, 1000), search=choice(10, 20, 50), help="items not met drawn for each pair")
    covariance: float = setting(
        10.0, at_least(0), symbol="λ_c", search=log(0.1, 100), help="weight of the covariance term"
    )

    def _learner(self, X: csr_array, device: "torch.device") -> Pairwise:
        return _Learner(self, X, device)


class _Learner(Pairwise):
    def __init__(self, model: CML, X: csr_array, device: "torch.device") -> None:
        super().__init__(model, X, device, negatives=model.negatives, deviation=model.size**-0.5)
        self.margin, self.weight = model.margin, model.covariance
        with torch.no_grad():
            clip(self.E)

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        users, items, others = self.taken(self.E, batch)
        found = warp(*distances(users, items, others), margin=self.margin, n_items=self.n_items)
        return found + self.weight * covariance(torch.cat([users, items]))

    def after(self) -> None:
        clip(self.E)
