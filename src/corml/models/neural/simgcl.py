"""SimGCL: LightGCN that also tells noisy images of its own vectors apart."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import above, at_least, described, linear, log, setting
from corml.models.fitted import Settings
from corml.models.neural.training.embedding_model import rows
from corml.models.neural.training.graph_model import GraphLearner, GraphModel
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.losses import bpr, info_nce, ridge
from corml.models.neural.training.sampling import Batch

__all__ = ["SimGCL"]


@described
@dataclass(kw_only=True, eq=False)
class SimGCL(GraphModel):
    """Vectors propagated over the graph, trained to rank pairs and to stay themselves under noise.

    Minimises the mean of −ln σ(u·i − u·j) + l2/2 (‖u⁰‖² + ‖i⁰‖² + ‖j⁰‖²) over the pairs of a mini-batch, plus
    contrast·C. C is the mean over its users v of −ln exp(v′·v″/τ) / Σ_w exp(v′·w″/τ), w over the same users, plus the
    same of its items, where ′ and ″ are two images of the vectors, of length 1, each with noise of length `noise` added
    in every layer, in the direction that keeps signs. Vectors are means of layers 1 to L. While they are much
    shorter than the noise, C outweighs the ranking: see `init_std`.
    """

    NAME: ClassVar[str] = "simgcl"
    CITATION: ClassVar[str] = (
        "Yu, Yin, Xia, Chen, Cui, Nguyen: Are Graph Augmentations Necessary? Simple Graph Contrastive Learning for "
        "Recommendation. SIGIR 2022"
    )

    init_std: float = setting(
        0.1, above(0, 100), search=log(1e-2, 1), help="standard deviation of the numbers in the first vectors"
    )
    l2: float = setting(1e-4, at_least(0), symbol="λ₂", search=log(1e-6, 1e-2), help="ridge on the vectors of a pair")
    contrast: float = setting(0.05, at_least(0), symbol="λ", search=log(0.01, 2), help="weight of the contrastive loss")
    noise: float = setting(0.1, at_least(0), symbol="ε", search=linear(0.01, 0.3), help="length of the noise")
    temperature: float = setting(
        0.2, above(1e-3, 100), symbol="τ", search=linear(0.1, 0.3), help="softness of the contrast"
    )

    def _sizes(self, X: csr_array, batch: int) -> tuple[int, int]:
        parameters, beside = super()._sizes(X, batch)
        return parameters, beside + 4 * parameters  # noise in a layer

    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> GraphLearner:
        return _Learner(settings, X, device)


class _Learner(GraphLearner):
    first_layer = 1

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        tables, weight, temperature = self.propagate(), float(self.settings.contrast), self.settings.temperature
        vectors = self.mean(tables)
        ranking = bpr(*self.of_batch(vectors, batch)) + float(self.settings.l2) * ridge(*self.of_batch(self.E, batch))
        if not weight:
            return ranking
        nodes = np.unique(np.concatenate([batch.users, batch.items + self.n_users]))  # users first
        users = int((nodes < self.n_users).sum())
        clean = rows(vectors, nodes)
        first, second = (clean + self._noise(tables, nodes, int(seed)) for seed in rng.integers(2**62, size=2))
        contrast = info_nce(first[:users], second[:users], temperature)
        contrast = contrast + info_nce(first[users:], second[users:], temperature)
        return ranking + weight * contrast

    def _noise(self, tables: "list[torch.Tensor]", nodes: NDArray[np.int64], seed: int) -> "torch.Tensor":
        """What noise in every layer adds to the means of some nodes.

        To the gradient it is a constant, so an image learns as its vector does, and only that one is propagated.
        """
        random = torch.Generator(self.device).manual_seed(seed)
        where = torch.from_numpy(nodes).to(self.device)
        total = tables[0].new_zeros(len(nodes), tables[0].shape[1])
        before: torch.Tensor | None = None
        with torch.no_grad():
            for depth, table in enumerate(tables[1:], start=1):
                last = depth == self.layers  # where no other nodes are needed
                layer = table[where] if last else table
                carried = layer.new_zeros(()) if before is None else self.graph.product(before, nodes if last else None)
                drawn = torch.rand(layer.shape, generator=random, device=self.device)
                drawn = torch.nn.functional.normalize(drawn) * self.settings.noise
                before = carried + torch.sign(layer + carried) * drawn
                total += before if last else before[where]
        return total / self.layers
