"""The multinomial likelihood of histories under scores of all items, with its gradient found on the way."""

from functools import cache
from typing import Any

from corml.neural.lazy_torch import torch

__all__ = ["CELLS", "likelihood"]

CELLS = 1 << 20  # scores at a time: they stay near the processor


def likelihood(
    z: "torch.Tensor", W: "torch.Tensor", b: "torch.Tensor", starts: "torch.Tensor", items: "torch.Tensor"
) -> "torch.Tensor":
    """Mean over histories of Σ_i ln softmax_i(Wz + b), where items of history r stand from starts[r] to starts[r + 1].

    All scores never exist at once, neither here nor for the gradient: less than half the time of keeping them.
    """
    found: torch.Tensor = _likelihood().apply(z, W, b, starts, items)
    return found


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
            of_z, of_W, of_b = (torch.zeros_like(one) for one in (z, W, b))
            total, lengths, step = z.new_zeros(()), starts.diff(), max(1, CELLS // len(W))
            for first in range(0, len(z), step):
                some, counts = z[first : first + step], lengths[first : first + step]
                scores = torch.addmm(b, some, W.T)
                row = torch.repeat_interleave(counts)
                item = items[starts[first] : starts[first] + len(row)]
                most = scores.amax(1, keepdim=True)
                total += (scores[row, item] - most[row, 0]).sum()
                shares = scores.sub_(most).exp_()
                sums = shares.sum(1)
                total -= (counts * sums.log()).sum()
                slopes = shares.mul_(-(counts / sums)[:, None])  # x − |x|·softmax, the gradient by scores
                slopes[row, item] += 1
                if learns_z:
                    of_z[first : first + step] = slopes @ W
                if learns_W:
                    of_W.addmm_(slopes.T, some)
                if learns_b:
                    of_b += slopes.sum(0)
            context.save_for_backward(*(one.div_(len(z)) for one in (of_z, of_W, of_b)))
            return total / len(z)

        @staticmethod
        def backward(context: Any, *gradients: "torch.Tensor") -> Any:
            found = (
                gradients[0] * one if wanted else None
                for one, wanted in zip(context.saved_tensors, context.needs_input_grad, strict=False)
            )
            return *found, None, None

    return Likelihood
