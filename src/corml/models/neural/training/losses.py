"""The losses that models share: pairwise ranking, metric learning, contrast and likelihood.

Contrast and likelihood sum over all pairs of vectors, or over all items. Their gradients are computed together with
their values, block by block, so that those sums never exist at once.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from scipy.sparse import csr_array

from corml._runtime.settings import above, at_least, choice, linear, log, optional, setting, whole
from corml.models.fitted import Plan
from corml.models.neural.training.embedding_model import EmbeddingLearner, EmbeddingModel
from corml.models.neural.training.gradient_model import HardNegativesPlan
from corml.models.neural.training.hard_negatives import SUGGESTED, hard_negatives, suggested_negatives
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.sampling import Batch

BLOCK = 256  # rows of a contrast at a time: their likenesses to all images stay near the processor
CELLS = 1 << 20  # scores of a likelihood at a time, for the same reason


# --- pairwise ranking ------------------------------------------------------------------------------------------------


def bpr(users: "torch.Tensor", items: "torch.Tensor", negatives: "torch.Tensor") -> "torch.Tensor":
    """Mean of −ln σ(u·i − u·j), the loss of Bayesian personalised ranking (Rendle et al., UAI 2009)."""
    ahead = (users * items).sum(-1, keepdim=True) - torch.einsum("bs,bns->bn", users, negatives)
    return torch.nn.functional.softplus(-ahead).mean()


def ridge(*parts: "torch.Tensor") -> "torch.Tensor":
    """Half the sum of squares of the parts for each pair of a batch."""
    total = sum((part.square().sum() for part in parts), start=parts[0].new_zeros(()))
    return total / (2 * len(parts[0]))


# --- metric learning -------------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class MetricLoss(EmbeddingModel):
    """The settings of `metric_loss`."""

    PLAN: ClassVar[type[Plan]] = HardNegativesPlan
    DISTANCE: ClassVar[bool] = True

    margin: float = setting(
        1.0, above(0, 1e6), symbol="m", search=linear(0.1, 2), help="how much nearer is near enough"
    )
    negatives: int | None = setting(
        None, optional(whole(1, 1000), SUGGESTED), search=choice(5, 10, 50), help="negatives drawn for each pair"
    )
    covariance: float = setting(
        1.0, at_least(0), symbol="λ_c", search=log(0.1, 100), help="weight of the covariance term"
    )

    def _choices(self, X: csr_array) -> dict[str, int]:
        return super()._choices(X) | {"negatives": self.negatives or suggested_negatives(X.shape[1])}


def metric_loss(learner: EmbeddingLearner, table: "torch.Tensor", batch: Batch) -> "torch.Tensor":
    """The loss of collaborative metric learning (Hsieh et al., WWW 2017) for a table with users first, then items.

    The mean of ln(1 + rank)·[margin + ‖u − i‖² − min_j ‖u − j‖²]₊ over pairs (u, i), where the share of negatives j
    nearer than i plus the margin, times the number of items, estimates the rank of i; and the covariance term.
    """
    margin: float = learner.settings.margin
    weight: float = learner.settings.covariance
    batch, within = hard_negatives(table[: learner.n_users], table[learner.n_users :], batch, margin)
    users, items, negatives = learner.of_batch(table, batch)
    rank = torch.from_numpy(within * learner.n_items // learner.sampler.count).to(table.device)
    near, far = (users - items).square().sum(-1), (users - negatives[:, 0]).square().sum(-1)
    hinge = (torch.log1p(rank) * torch.relu(margin + near - far)).mean()
    return hinge + weight * covariance(torch.cat([users, items]))


def covariance(vectors: "torch.Tensor") -> "torch.Tensor":
    """How far coordinates of vectors repeat each other: the squares of their covariances, over their number."""
    centred = vectors - vectors.mean(0)
    matrix = centred.T @ centred / len(vectors)
    return (matrix.square().sum() - matrix.diagonal().square().sum()) / len(matrix)


def clip(table: "torch.Tensor", parts: int = 1) -> None:
    """Project every vector to the unit ball, in place; a row may be several vectors, its parts."""
    vectors = table.view(len(table) * parts, table.shape[1] // parts)
    vectors.div_(vectors.norm(dim=1, keepdim=True).clamp_min(1))


# --- contrast --------------------------------------------------------------------------------------------------------


def info_nce(first: "torch.Tensor", second: "torch.Tensor", temperature: float) -> "torch.Tensor":
    """Mean over v of −ln exp(v′·v″/τ) / Σ_w exp(v′·w″/τ), with rows of `first` and `second` as ′ and ″, of length 1.

    InfoNCE (van den Oord et al., 2018): each vector is to find its own image among all images. In blocks it takes a
    third of the time that keeping all likenesses would take.
    """
    first, second = (torch.nn.functional.normalize(image) for image in (first, second))
    loss: torch.Tensor = _contrast().apply(first / temperature, second)
    return loss


@cache
def _contrast() -> Any:
    """The autograd function; made once and late, because its base class is PyTorch's."""

    class Contrast(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, first: "torch.Tensor", second: "torch.Tensor") -> "torch.Tensor":
            of_first, of_second = torch.empty_like(first), torch.zeros_like(second)
            total, count = first.new_zeros(()), len(first)
            for start in range(0, count, BLOCK):
                block = first[start : start + BLOCK]
                likeness = block @ second.T
                own = likeness[:, start : start + len(block)].diagonal()
                largest = likeness.amax(1, keepdim=True)
                total -= (own - largest[:, 0]).sum()
                shares = likeness.sub_(largest).exp_()
                sums = shares.sum(1, keepdim=True)
                total += sums.log().sum()
                shares.div_(sums)
                own.sub_(1)  # and with this, the gradient by likenesses
                of_first[start : start + BLOCK] = shares @ second
                of_second.addmm_(shares.T, block)
            context.save_for_backward(of_first / count, of_second / count)
            return total / count

        @staticmethod
        def backward(context: Any, *gradients: "torch.Tensor") -> Any:
            of_first, of_second = context.saved_tensors
            return gradients[0] * of_first, gradients[0] * of_second

    return Contrast


# --- likelihood ------------------------------------------------------------------------------------------------------


def likelihood(
    z: "torch.Tensor", W: "torch.Tensor", b: "torch.Tensor", starts: "torch.Tensor", items: "torch.Tensor"
) -> "torch.Tensor":
    """Mean over histories of Σ_i ln softmax_i(Wz + b), where items of history r stand from starts[r] to starts[r + 1].

    The multinomial likelihood. In blocks it takes less than half the time of keeping all scores.
    """
    value: torch.Tensor = _likelihood().apply(z, W, b, starts, items)
    return value


@cache
def _likelihood() -> Any:
    """The autograd function; made once and late, because its base class is PyTorch's."""

    class Likelihood(torch.autograd.Function):
        @staticmethod
        def forward(
            context: Any,
            z: "torch.Tensor",
            W: "torch.Tensor",
            b: "torch.Tensor",
            starts: "torch.Tensor",
            items: "torch.Tensor",
        ) -> "torch.Tensor":
            learns_z, learns_W, learns_b = context.needs_input_grad[:3]
            of_z, of_W, of_b = (torch.zeros_like(tensor) for tensor in (z, W, b))
            total, lengths, step = z.new_zeros(()), starts.diff(), max(1, CELLS // len(W))
            for first in range(0, len(z), step):
                block, counts = z[first : first + step], lengths[first : first + step]
                scores = torch.addmm(b, block, W.T)
                row = torch.repeat_interleave(counts)
                item = items[starts[first] : starts[first] + len(row)]
                largest = scores.amax(1, keepdim=True)
                total += (scores[row, item] - largest[row, 0]).sum()
                shares = scores.sub_(largest).exp_()
                sums = shares.sum(1)
                total -= (counts * sums.log()).sum()
                of_scores = shares.mul_(-(counts / sums)[:, None])  # x − |x|·softmax
                of_scores[row, item] += 1
                if learns_z:
                    of_z[first : first + step] = of_scores @ W
                if learns_W:
                    of_W.addmm_(of_scores.T, block)
                if learns_b:
                    of_b += of_scores.sum(0)
            context.save_for_backward(*(tensor.div_(len(z)) for tensor in (of_z, of_W, of_b)))
            return total / len(z)

        @staticmethod
        def backward(context: Any, *gradients: "torch.Tensor") -> Any:
            of_inputs = (
                gradients[0] * tensor if needed else None
                for tensor, needed in zip(context.saved_tensors, context.needs_input_grad, strict=False)
            )
            return *of_inputs, None, None

    return Likelihood
