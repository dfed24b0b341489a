"""SimGCL: LightGCN that also tells its own noisy images apart."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.neural.contrast import info_nce
from corml.neural.graph_model import Spreading, SpreadLearner
from corml.neural.lazy_torch import torch
from corml.neural.pairwise import bpr, rows, squares
from corml.neural.sampling import Batch
from corml.settings import above, at_least, linear, log, setting

__all__ = ["SimGCL"]


@dataclass(kw_only=True, eq=False)
class SimGCL(Spreading):
    """Vectors spread over the graph, trained to rank pairs and to stay themselves under noise.

    Minimises the mean of −ln σ(u·i − u·j) + l2/2 (‖u⁰‖² + ‖i⁰‖² + ‖j⁰‖²) over the pairs of a mini-batch, plus
    contrast·C. C is the mean over its users v of −ln exp(v′·v″/τ) / Σ_w exp(v′·w″/τ), w over the same users, plus the
    same of its items, where ′ and ″ are two images of the vectors, of length 1, each with noise of length `noise` added
    in every layer, in the direction that keeps signs. Vectors are means of layers 1 to L. While they are much
    shorter than the noise, C outweighs the ranking: see `start`.
    """

    NAME: ClassVar[str] = "simgcl"
    CITATION: ClassVar[str] = (
        "Yu, Yin, Xia, Chen, Cui, Nguyen: Are Graph Augmentations Necessary? Simple Graph Contrastive Learning for "
        "Recommendation. SIGIR 2022"
    )

    start: float = setting(
        0.1, above(0, 100), search=log(1e-2, 1), help="standard deviation of the numbers in the first vectors"
    )
    l2: float = setting(1e-4, at_least(0), symbol="λ₂", search=log(1e-6, 1e-2), help="ridge on the vectors of a pair")
    contrast: float = setting(0.05, at_least(0), symbol="λ", search=log(0.01, 2), help="weight of the contrastive loss")
    noise: float = setting(0.1, at_least(0), symbol="ε", search=linear(0.01, 0.3), help="length of the noise")
    temperature: float = setting(
        0.2, above(1e-3, 100), symbol="τ", search=linear(0.1, 0.3), help="softness of the contrast"
    )

    def _sizes(self, X: csr_array) -> tuple[int, int]:
        learned, beside = super()._sizes(X)
        return learned, beside + 4 * learned  # noise in a layer

    def _learner(self, X: csr_array, device: "torch.device") -> SpreadLearner:
        return _Learner(self, X, device)


class _Learner(SpreadLearner):
    least = 1

    def __init__(self, model: SimGCL, X: csr_array, device: "torch.device") -> None:
        super().__init__(model, X, device)
        self.model = model

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        spread = self.spread()
        vectors = self.mean(spread)
        ranking = bpr(*self.taken(vectors, batch)) + self.model.l2 * squares(*self.taken(self.E, batch))
        if not self.model.contrast:
            return ranking
        nodes = np.unique(np.concatenate([batch.users, batch.items + self.n_users]))  # users first
        users = int((nodes < self.n_users).sum())
        clean = rows(vectors, nodes)
        first, second = (clean + self._noise(spread, nodes, int(seed)) for seed in rng.integers(2**62, size=2))
        found = info_nce(first[:users], second[:users], self.model.temperature)
        found = found + info_nce(first[users:], second[users:], self.model.temperature)
        return ranking + self.model.contrast * found

    def _noise(self, spread: "list[torch.Tensor]", nodes: NDArray[np.int64], seed: int) -> "torch.Tensor":
        """What noise in every layer adds to the means of some nodes.

        To the gradient it is a constant, so an image learns as its vector does, and only that one spreads.
        """
        random = torch.Generator(self.device).manual_seed(seed)
        where = torch.from_numpy(nodes).to(self.device)
        total = spread[0].new_zeros(len(nodes), spread[0].shape[1])
        before: torch.Tensor | None = None
        with torch.no_grad():
            for depth, layer in enumerate(spread[1:], start=1):
                last = depth == self.layers  # where nothing but these nodes is looked at
                here = layer[where] if last else layer
                carried = here.new_zeros(()) if before is None else self.graph.times(before, nodes if last else None)
                drawn = torch.rand(here.shape, generator=random, device=self.device)
                drawn = torch.nn.functional.normalize(drawn) * self.model.noise
                before = carried + torch.sign(here + carried) * drawn
                total += before if last else before[where]
        return total / self.layers
