"""Hard negatives: of the negatives of a pair, only the nearest to the user counts in the losses of metric learning.

So only that one needs a gradient: all of them are compared once, outside of automatic differentiation.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.compiled import njit
from corml._runtime.parallel import over_rows
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.sampling import Batch

SUGGESTED = "10, or a thousandth of the items if that is more"


def suggested_negatives(items: int) -> int:
    """How many to draw: the hardest of few among many items is easy, the hardest of many among few is no negative."""
    return max(10, items // 1000)


def hard_negatives(
    users: "torch.Tensor", items: "torch.Tensor", batch: Batch, margin: float
) -> tuple[Batch, NDArray[np.int64]]:
    """The batch with only the nearest of its negatives, and how many are nearer than the pair's item plus `margin`.

    A row of `users` is one vector of the size of an item's, or several: then the nearest of them counts.
    """
    with torch.no_grad():
        compare = _compared_by_kernel if users.device.type == "cpu" else _compared_by_torch
        column, within = compare(users, items, batch, margin)
    return replace(batch, negatives=np.take_along_axis(batch.negatives, column[:, None], 1)), within


def nearest(users: "torch.Tensor", items: "torch.Tensor") -> "torch.Tensor":
    """Squared distances of items (b, n, s) to the nearest of the vectors (b, c, s) of a user; by products."""
    products = torch.einsum("bcs,bns->bcn", users, items)
    distances = users.square().sum(-1)[:, :, None] + items.square().sum(-1)[:, None] - 2 * products
    return distances.amin(1)


def _compared_by_torch(users: Any, items: Any, batch: Batch, margin: float) -> Any:
    rows, positives, negatives = (
        torch.from_numpy(part).to(users.device) for part in (batch.users, batch.items[:, None], batch.negatives)
    )
    distances = nearest(users[rows].view(len(rows), -1, items.shape[1]), items[torch.cat([positives, negatives], 1)])
    within = (distances[:, 1:] < distances[:, :1] + margin).sum(1)
    return distances[:, 1:].argmin(1).cpu().numpy(), within.cpu().numpy()


def _compared_by_kernel(users: Any, items: Any, batch: Batch, margin: float) -> Any:
    """The same without a copy of every vector: half the time on a processor."""
    column, within = np.empty((2, len(batch.users)), dtype=np.int64)
    tables = users.detach().contiguous().numpy(), items.detach().contiguous().numpy()
    numbers = batch.users, batch.items, batch.negatives
    over_rows(lambda a, b: _compare(*tables, *numbers, np.float32(margin), column, within, a, b), len(column))
    return column, within


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _compare(users, items, user, item, negatives, margin, column, within, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        vectors = users[user[row]]
        limit = _distance(vectors, items[item[row]]) + margin
        smallest, position, count = np.float32(np.inf), 0, 0
        for negative in range(negatives.shape[1]):
            distance = _distance(vectors, items[negatives[row, negative]])
            count += distance < limit
            if distance < smallest:
                smallest, position = distance, negative
        column[row], within[row] = position, count


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _distance(vectors, item):  # type: ignore[no-untyped-def]
    smallest = np.float32(np.inf)
    for first in range(0, len(vectors), len(item)):
        total = np.float32(0)
        for k in range(len(item)):
            total += (vectors[first + k] - item[k]) ** 2
        smallest = min(smallest, total)
    return smallest
