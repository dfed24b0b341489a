"""DPCML: several vectors for each user, so that a minority interest has a vector of its own."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import above, at_least, choice, described, linear, log, optional, setting, whole
from corml.errors import ModelFileError, SettingError
from corml.models.fitted import Plan, Settings, learned
from corml.models.neural.training.embedding_model import EmbeddingLearner, EmbeddingModel, rows
from corml.models.neural.training.gradient_model import GradientPlan, HardNegativesPlan
from corml.models.neural.training.hard_negatives import SUGGESTED, hard_negatives, nearest, suggested_negatives
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.losses import clip
from corml.models.neural.training.sampling import Batch

__all__ = ["DPCML"]


@described
@dataclass(kw_only=True, eq=False)
class DPCML(EmbeddingModel):
    """Several vectors for each user; an item is as near as the nearest of them.

    Minimises the mean of [margin + s(u, i) − min_j s(u, j)]₊ + diversity·ψ(u) over pairs (u, i), each with negatives j,
    items that u has not interacted with, where s(u, i) = min_c ‖u_c − i‖² and ψ(u) = [low − δ_u]₊ + [δ_u − high]₊ keeps
    δ_u, half the mean squared distance of two vectors of u, between two bounds. All vectors stay in the unit ball.
    Scores are −s.
    """

    NAME: ClassVar[str] = "dpcml"
    CITATION: ClassVar[str] = (
        "Bao, Xu, Yang, He, Cao, Huang: The Minority Matters: A Diversity-Promoting Collaborative Metric Learning "
        "Algorithm. NeurIPS 2022"
    )
    PLAN: ClassVar[type[Plan]] = HardNegativesPlan
    DISTANCE: ClassVar[bool] = True

    user_ = learned(np.ndarray, "users", None)  # the vectors of a user stand beside each other

    prototypes: int = setting(4, whole(1, 32), symbol="C", search=choice(2, 3, 4, 5), help="vectors of a user")
    margin: float = setting(
        1.0, above(0, 1e6), symbol="λ", search=linear(0.1, 2), help="how much nearer is near enough"
    )
    negatives: int | None = setting(
        None, optional(whole(1, 1000), SUGGESTED), search=choice(5, 10, 50), help="negatives drawn for each pair"
    )
    diversity: float = setting(10.0, at_least(0), symbol="η", search=log(0.1, 100), help="weight of the diversity term")
    low: float = setting(0.01, at_least(0), symbol="δ₁", search=linear(0, 0.1), help="min diversity of a user")
    high: float = setting(0.35, at_least(0), symbol="δ₂", search=linear(0.1, 0.5), help="max diversity of a user")

    def _plan(self, X: csr_array) -> GradientPlan:
        if self.low > self.high:
            raise SettingError(f"low of DPCML must not be above high; got {self.low:g} and {self.high:g}.")
        return super()._plan(X)

    def _choices(self, X: csr_array) -> dict[str, int]:
        return super()._choices(X) | {"negatives": self.negatives or suggested_negatives(X.shape[1])}

    def _sizes(self, X: csr_array, batch: int) -> tuple[int, int]:
        users, items = X.shape
        _, beside = super()._sizes(X, batch)
        return (users * self.prototypes + items) * self.size, beside * (self.prototypes + 2) // 3

    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> EmbeddingLearner:
        return _Learner(settings, X, device)

    def _check_state(self) -> None:
        """Refuse vectors of users that are not as wide as the vectors of items, or several of them."""
        super()._check_state()
        if "user" in self.fitted_.arrays and self.user_.shape[1] % self.item_.shape[1]:
            raise ModelFileError("its vectors of users and items have different widths")

    def score_block(self, users: Any, columns: slice) -> NDArray[np.float32]:
        """Minus the squared distance to the nearest vector of each user."""
        size = self.item_.shape[1]
        scores = super().score_block(np.ascontiguousarray(users[:, :size]), columns)
        for first in range(size, users.shape[1], size):
            part = np.ascontiguousarray(users[:, first : first + size])
            np.maximum(scores, super().score_block(part, columns), out=scores)
        return scores


class _Learner(EmbeddingLearner):
    """The table E holds the items only; the vectors of a user stand in one row of U."""

    def __init__(self, settings: Settings, X: csr_array, device: "torch.device") -> None:
        super().__init__(settings, X, device, negatives=settings.negatives)
        self.parts = (X.shape[0], settings.prototypes, settings.size)
        random = torch.Generator().manual_seed(settings.seed + 1)
        U = torch.randn(self.parts, generator=random) * settings.init_std
        self.U = U.flatten(1).to(device).requires_grad_()
        self.E = self.E.detach()[self.n_users :].clone().requires_grad_()
        with torch.no_grad():
            self.after_step()

    def groups(self) -> "dict[str, dict[str, torch.Tensor]]":
        return {"all": {"U": self.U, "E": self.E}}

    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        margin, weight, n = float(self.settings.margin), float(self.settings.diversity), len(batch.users)
        batch, _ = hard_negatives(self.U, self.E, batch, margin)
        users = rows(self.U, batch.users).view(n, *self.parts[1:])
        items = rows(self.E, np.concatenate([batch.items[:, None], batch.negatives], axis=1))
        near, far = nearest(users, items).unbind(1)
        hinge = torch.relu(margin + near - far)
        return hinge.mean() + weight * self._out_of_bounds(users).mean()

    def _out_of_bounds(self, users: "torch.Tensor") -> "torch.Tensor":
        """ψ of each user; the mean squared distance of two vectors is twice the variance over c, up to C/(C − 1)."""
        count = users.shape[1]
        if count == 1:
            return users.new_zeros(len(users))
        diversity = (users - users.mean(1, keepdim=True)).square().sum((1, 2)) / (count - 1)
        low, high = float(self.settings.low), float(self.settings.high)
        return torch.relu(low - diversity) + torch.relu(diversity - high)

    def after_step(self) -> None:
        clip(self.U, self.parts[1])
        clip(self.E)

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        return {"user": self.U.detach().cpu().numpy().copy(), "item": self.E.detach().cpu().numpy().copy()}
