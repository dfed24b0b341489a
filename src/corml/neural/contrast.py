"""The contrastive loss: each vector finds its own image among all images (InfoNCE, van den Oord et al., 2018)."""

from functools import cache
from typing import Any

from corml.neural.lazy_torch import torch

__all__ = ["info_nce"]

BLOCK = 256  # rows at a time: their likenesses to all images stay near the processor


def info_nce(first: "torch.Tensor", second: "torch.Tensor", temperature: float) -> "torch.Tensor":
    """Mean over v of −ln exp(v′·v″/τ) / Σ_w exp(v′·w″/τ), with rows of `first` and `second` as ′ and ″, of length 1."""
    first, second = (torch.nn.functional.normalize(image) for image in (first, second))
    found: torch.Tensor = _contrast().apply(first / temperature, second)
    return found


@cache
def _contrast() -> Any:
    """The autograd function; made once and late, because its base class is PyTorch's.

    It finds the gradient together with the loss, block by block, so that all likenesses never exist at once: a third
    of the time that keeping them would take.
    """

    class Contrast(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, first: "torch.Tensor", second: "torch.Tensor") -> "torch.Tensor":
            along, across = torch.empty_like(first), torch.zeros_like(second)
            total, count = first.new_zeros(()), len(first)
            for start in range(0, count, BLOCK):
                some = first[start : start + BLOCK]
                likeness = some @ second.T
                own = likeness[:, start : start + len(some)].diagonal()
                most = likeness.amax(1, keepdim=True)
                total -= (own - most[:, 0]).sum()
                shares = likeness.sub_(most).exp_()
                sums = shares.sum(1, keepdim=True)
                total += sums.log().sum()
                shares.div_(sums)
                own.sub_(1)  # and with this, the gradient by likenesses
                along[start : start + BLOCK] = shares @ second
                across.addmm_(shares.T, some)
            context.save_for_backward(along / count, across / count)
            return total / count

        @staticmethod
        def backward(context: Any, *gradients: "torch.Tensor") -> Any:
            along, across = context.saved_tensors
            return gradients[0] * along, gradients[0] * across

    return Contrast
