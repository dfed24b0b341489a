"""The loss of collaborative metric learning (Hsieh et al., WWW 2017), for CML and for what was made of it.

The mean of ln(1 + rank)·[margin + ‖u − i‖² − min_j ‖u − j‖²]₊ over pairs (u, i), where the share of items j nearer than
i plus the margin, times the number of items, estimates the rank of i; and a term for coordinates that say the same.
"""

from dataclasses import dataclass

from corml.neural.gradient_model import Stepwise
from corml.neural.hard_negatives import DRAWN, hardest
from corml.neural.lazy_torch import torch
from corml.neural.pairwise import Pairwise
from corml.neural.sampling import Batch
from corml.settings import above, at_least, choice, linear, log, optional, setting, whole

__all__ = ["MetricLoss", "clip", "covariance"]


@dataclass(kw_only=True, eq=False)
class MetricLoss(Stepwise):
    """The settings of the loss, and the loss they make."""

    margin: float = setting(
        1.0, above(0, 1e6), symbol="m", search=linear(0.1, 2), help="how much nearer is near enough"
    )
    negatives: int | None = setting(
        None, optional(whole(1, 1000), DRAWN), search=choice(5, 10, 50), help="items not met drawn for each pair"
    )
    covariance: float = setting(
        1.0, at_least(0), symbol="λ_c", search=log(0.1, 100), help="weight of the covariance term"
    )

    def cost(self, learner: Pairwise, table: "torch.Tensor", batch: Batch) -> "torch.Tensor":
        """What the vectors of a batch cost: users first in the table, then items."""
        batch, within = hardest(table[: learner.n_users], table[learner.n_users :], batch, self.margin)
        users, items, others = learner.taken(table, batch)
        rank = torch.from_numpy(within * learner.n_items // learner.sampler.count).to(table.device)
        near, far = (users - items).square().sum(-1), (users - others[:, 0]).square().sum(-1)
        found = (torch.log1p(rank) * torch.relu(self.margin + near - far)).mean()
        return found + self.covariance * covariance(torch.cat([users, items]))


def covariance(vectors: "torch.Tensor") -> "torch.Tensor":
    """How much the coordinates of vectors say the same: their squared covariances, over their number."""
    centred = vectors - vectors.mean(0)
    found = centred.T @ centred / len(vectors)
    return (found.square().sum() - found.diagonal().square().sum()) / len(found)


def clip(table: "torch.Tensor", parts: int = 1) -> None:
    """Bring every vector back into the unit ball, in place; a row may be several vectors, its parts."""
    vectors = table.view(len(table) * parts, table.shape[1] // parts)
    vectors.div_(vectors.norm(dim=1, keepdim=True).clamp_min(1))
