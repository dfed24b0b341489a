"""SimGCL: LightGCN that also tells its own noisy images apart."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml.neural.late import torch
from corml.neural.pairwise import bpr, rows, squares
from corml.neural.sampling import Batch
from corml.neural.spreading import Spreading, SpreadLearner
from corml.settings import above, at_least, linear, log, setting

__all__ = ["SimGCL"]


@dataclass(kw_only=True, eq=False)
class SimGCL(Spreading):
    """Vectors spread over the graph, trained to rank pairs and to stay themselves under noise.

    Minimises −Σ ln σ(u·i − u·j) + l2/2 (‖u⁰‖² + ‖i⁰‖² + ‖j⁰‖²) + contrast·C. C is the mean over users and items v of a
    batch of −ln exp(v′·v″/τ) / Σ_w exp(v′·w″/τ), where ′ and ″ are two images of the vectors, of length 1, each with
    noise of length `noise` added in every layer, in the direction that keeps signs. Vectors are means of layers 1 to L.
    """

    NAME: ClassVar[str] = "simgcl"
    CITATION: ClassVar[str] = (
        "Yu, Yin, Xia, Chen, Cui, Nguyen: Are Graph Augmentations Necessary? Simple Graph Contrastive Learning for "
        "Recommendation. SIGIR 2022"
    )

    l2: float = setting(1e-4, at_least(0), symbol="λ₂", search=log(1e-6, 1e-2), help="ridge on the vectors of a pair")
    contrast: float = setting(0.5, at_least(0), symbol="λ", search=log(0.01, 2), help="weight of the contrastive loss")
    noise: float = setting(0.1, at_least(0), symbol="ε", search=linear(0.01, 0.3), help="length of the noise")
    temperature: float = setting(0.2, above(0), symbol="τ", search=linear(0.1, 0.3), help="softness of the contrast")

    def _learner(self, X: csr_array, device: "torch.device") -> SpreadLearner:
        return _Learner(self, X, device)


class _Learner(SpreadLearner):
    least = 1

    def __init__(self, model: SimGCL, X: csr_array, device: "torch.device") -> None:
        super().__init__(model, X, device)
        self.model = model

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        ranking = bpr(*self.taken(self.vectors(), batch)) + self.model.l2 * squares(*self.taken(self.E, batch))
        if not self.model.contrast:
            return ranking
        seeds = rng.integers(2**62, size=2)
        first, second = (self._noisy(torch.Generator(self.device).manual_seed(int(seed))) for seed in seeds)
        contrasts = (
            self._contrast(*(rows(image, np.unique(numbers)) for image in (first, second)))
            for numbers in (batch.users, batch.items + self.n_users)
        )
        return ranking + self.model.contrast * sum(contrasts, start=ranking.new_zeros(()))

    def _noisy(self, random: "torch.Generator") -> "torch.Tensor":
        """Means of the layers from the first on, with noise in each."""
        here, total = self.E, torch.zeros_like(self.E)
        for _ in range(self.layers):
            here = self.graph(here)
            drawn = torch.rand(here.shape, generator=random, device=self.device)
            drawn = torch.nn.functional.normalize(drawn) * self.model.noise
            here = here + torch.sign(here.detach()) * drawn
            total = total + here
        return total / self.layers

    def _contrast(self, first: "torch.Tensor", second: "torch.Tensor") -> "torch.Tensor":
        """Mean of −ln softmax of each vector's own image among all images."""
        first, second = (torch.nn.functional.normalize(image) for image in (first, second))
        likeness = first @ second.T / self.model.temperature
        return (torch.logsumexp(likeness, 1) - likeness.diagonal()).mean()
