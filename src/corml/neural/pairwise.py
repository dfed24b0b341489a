"""Learners of vectors from pairs: someone, an item they met, and items they did not."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.neural.embedding_model import Embedded
from corml.neural.lazy_torch import torch
from corml.neural.sampling import Batch, Sampler, suggested_batch

__all__ = ["Pairwise", "bpr", "rows", "squares"]


class Pairwise(ABC):
    """One table E of vectors, users first, then items; `negatives` items not met for each pair."""

    def __init__(self, model: Embedded, X: csr_array, device: "torch.device", *, negatives: int = 1) -> None:
        self.n_users, self.n_items = X.shape
        self.device, self.sampler = device, Sampler(X, size=model.batch or suggested_batch(X.nnz), count=negatives)
        self.steps = len(self.sampler)
        random = torch.Generator().manual_seed(model.seed)
        E = torch.randn(sum(X.shape), model.size, generator=random) * model.start
        self.E = E.to(device).requires_grad_()

    def groups(self) -> "dict[str, dict[str, torch.Tensor]]":
        """All parameters step together."""
        return {"all": {"E": self.E}}

    def epoch(self, rng: np.random.Generator) -> "Iterator[tuple[str, torch.Tensor]]":
        """Every pair once."""
        for batch in self.sampler(rng):
            yield "all", self.loss(batch, rng)
            with torch.no_grad():
                self.after()

    @abstractmethod
    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        """What the pairs of a batch cost."""

    def after(self) -> None:  # noqa: B027 (most have nothing to do)
        """What to do after a step."""

    def vectors(self) -> "torch.Tensor":
        """The vectors that scores are made of."""
        return self.E

    def taken(self, table: "torch.Tensor", batch: Batch) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        """Rows of a batch: of its users, of the items met, and (a third dimension) of those not met."""
        users, items, others = batch.users, batch.items + self.n_users, batch.others + self.n_users
        # One look-up has one gradient of the size of the table; three would have three.
        found = rows(table, np.concatenate([users, items, others.ravel()]))
        n = len(users)
        return found[:n], found[n : 2 * n], found[2 * n :].view(n, -1, table.shape[1])

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Vectors of users and items."""
        with torch.no_grad():
            E = self.vectors().cpu().numpy().astype(np.float32)
        return {"user": E[: self.n_users].copy(), "item": E[self.n_users :].copy()}


def rows(table: "torch.Tensor", numbers: NDArray[np.int64]) -> "torch.Tensor":
    """Rows of a table; an embedding's gradient is summed by rows, faster than an index's."""
    return torch.nn.functional.embedding(torch.from_numpy(numbers).to(table.device), table)


def squares(*parts: "torch.Tensor") -> "torch.Tensor":
    """Half the sum of squares of the parts for each pair of a batch."""
    total = sum((part.square().sum() for part in parts), start=parts[0].new_zeros(()))
    return total / (2 * len(parts[0]))


def bpr(users: "torch.Tensor", items: "torch.Tensor", others: "torch.Tensor") -> "torch.Tensor":
    """Mean of −ln σ(u·i − u·j), the loss of Bayesian personalised ranking (Rendle et al., UAI 2009)."""
    ahead = (users * items).sum(-1, keepdim=True) - torch.einsum("bs,bns->bn", users, others)
    return torch.nn.functional.softplus(-ahead).mean()
