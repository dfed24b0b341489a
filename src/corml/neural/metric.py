"""The loss of collaborative metric learning (Hsieh et al., WWW 2017), for CML and for what was made of it."""

from corml.neural.late import torch

__all__ = ["clip", "covariance", "distances", "warp"]


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
