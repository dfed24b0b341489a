"""The loss of collaborative metric learning (Hsieh et al., WWW 2017), for CML and for what was made of it."""

from dataclasses import dataclass

from corml.neural.late import torch
from corml.neural.stepwise import Stepwise
from corml.settings import above, at_least, choice, linear, log, setting, whole

__all__ = ["MetricLoss", "clip", "covariance", "distances", "warp"]


@dataclass(kw_only=True, eq=False)
class MetricLoss(Stepwise):
    """The settings of the loss, and the loss they make."""

    margin: float = setting(0.5, above(0), symbol="m", search=linear(0.1, 2), help="how much nearer is near enough")
    negatives: int = setting(20, whole(1, 1000), search=choice(10, 20, 50), help="items not met drawn for each pair")
    covariance: float = setting(
        10.0, at_least(0), symbol="λ_c", search=log(0.1, 100), help="weight of the covariance term"
    )

    def cost(
        self, users: "torch.Tensor", items: "torch.Tensor", others: "torch.Tensor", n_items: int
    ) -> "torch.Tensor":
        """What the vectors of a batch cost."""
        found = warp(*distances(users, items, others), margin=self.margin, n_items=n_items)
        return found + self.covariance * covariance(torch.cat([users, items]))


def distances(
    users: "torch.Tensor", items: "torch.Tensor", others: "torch.Tensor"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Squared distances of users to the item met and to each of the others, by products: no array of differences."""
    far = users.square().sum(-1)[:, None] + others.square().sum(-1) - 2 * torch.einsum("bs,bns->bn", users, others)
    return (users - items).square().sum(-1), far


def warp(near: "torch.Tensor", far: "torch.Tensor", *, margin: float, n_items: int) -> "torch.Tensor":
    """Mean of w·[margin + d(u, i)² − min_j d(u, j)²]₊ over pairs, given squared distances to i and to each j.

    The weight w = ln(1 + rank) grows with the rank of i, which the share of j nearer than i plus the margin estimates.
    """
    with torch.no_grad():
        impostors = (far < near[:, None] + margin).float().mean(1)
        weight = torch.log1p(torch.floor(impostors * n_items))
    return (weight * torch.relu(margin + near - far.amin(1))).mean()


def covariance(vectors: "torch.Tensor") -> "torch.Tensor":
    """How much the coordinates of vectors say the same: their squared covariances, over their number."""
    centred = vectors - vectors.mean(0)
    found = centred.T @ centred / len(vectors)
    return (found.square().sum() - found.diagonal().square().sum()) / len(found)


def clip(table: "torch.Tensor", radius: float = 1.0) -> None:
    """Bring every vector back into the ball, in place."""
    table.mul_((radius / table.norm(dim=1, keepdim=True).clamp_min(1e-12)).clamp_max(1))
