"""Weights between items of any model whose scores are sums over the history, in bands of rows: never items × items.

The score of a history is then the sum of the scores of its items alone, y = x W. So row i of W is what the model says
to a history of item i, whatever it learned: for CoRML that is H_scaled + left·rightᵀ.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.parallel import each, threads
from corml.errors import UsageError
from corml.models.recommender import Recommender
from corml.recommend.score import band_of

TRIED, LENGTH = 8, 6  # histories that are scored as a whole and item by item, and their items
TOLERANCE = 1e-4  # of the largest score: far more than rounding, far less than a score that is not a sum


@dataclass(frozen=True)
class Band:
    """The kept weights of consecutive items, and what all their weights were."""

    first: int
    kept: csr_array  # a row for each of these items, all items as columns
    not_zero: int
    total: float  # of the sizes of all weights


def check_adds_up(model: Recommender) -> None:
    """Refuse a model whose scores are not sums over the history."""
    if not adds_up(model):
        raise UsageError(
            f"This {model.NAME} model has no weights between items, because its scores are not sums over the history: "
            "export its lists (--lists) instead."
        )


def adds_up(model: Recommender) -> bool:
    """Whether scores are sums over the history; a model that claims so is tested."""
    if type(model._at(None))._contributions is Recommender._contributions:
        return False
    count = len(model.items_)
    rng = np.random.default_rng(2026)
    for _ in range(TRIED):
        history = rng.choice(count, size=min(LENGTH, count), replace=False)
        together = _scores(model, _histories(history, count, rows=1))[0]
        alone = _scores(model, _histories(history, count, rows=len(history))).sum(axis=0)
        together[history] = alone[history] = 0  # what was seen is never listed
        if np.abs(together - alone).max() > TOLERANCE * max(np.abs(alone).max(), 1e-6):
            return False
    return True


def bands(model: Recommender, keep: int | None) -> Iterator[Band]:
    """All weights that are kept: the `keep` of each item that are largest in size, negative ones too, or all."""
    count = len(model.items_)
    height, _ = band_of(count, count)
    starts = range(0, count, height)
    together = threads()  # made at once, so that those which wait to be written stay few
    for at in range(0, len(starts), together):
        firsts = starts[at : at + together]
        yield from each(partial(_band, model, firsts, height, keep), len(firsts))


def _band(model: Recommender, firsts: Sequence[int], height: int, keep: int | None, number: int) -> Band:
    count, first = len(model.items_), firsts[number]
    items = np.arange(first, min(first + height, count))
    W = _scores(model, _histories(items, count, rows=len(items)))
    W[items - first, items] = 0  # no item recommends itself
    sizes = np.abs(W)
    not_zero, total = int(np.count_nonzero(W)), float(sizes.sum(dtype=np.float64))
    if keep is not None and keep < count:
        W[sizes < _nth_largest(sizes, keep)] = 0
    return Band(first, _at_most(csr_array(W), keep), not_zero, total)


def rows_of_weights(model: Recommender) -> Iterator[csr_array]:
    """All weights, in bands of rows, and what an item adds to its own score."""
    count = len(model.items_)
    height, _ = band_of(count, count)
    for first in range(0, count, height):
        items = np.arange(first, min(first + height, count))
        yield csr_array(_scores(model, _histories(items, count, rows=len(items))))


def _nth_largest(sizes: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    return np.partition(sizes, sizes.shape[1] - n, axis=1)[:, [sizes.shape[1] - n]]


def _at_most(W: csr_array, keep: int | None) -> csr_array:
    """Of equal weights at the threshold, those of the first items: exactly as many as asked for."""
    counts = np.diff(W.indptr)
    if keep is None or counts.max(initial=0) <= keep:
        return W
    for row in np.flatnonzero(counts > keep):
        values = W.data[W.indptr[row] : W.indptr[row + 1]]  # a view: what is set here is set in W
        sizes = np.abs(values)
        equal = np.flatnonzero(sizes == sizes.min())
        values[equal[keep - counts[row] :]] = 0
    W.eliminate_zeros()
    return W


def _scores(model: Recommender, histories: csr_array) -> NDArray[np.float32]:
    whole = slice(0, histories.shape[1])
    return np.array(model.score_block(model._represent(histories, None), whole), dtype=np.float32)


def _histories(items: NDArray[np.int64], count: int, *, rows: int) -> csr_array:
    """One history of all items, or one for each."""
    ends = np.array([0, len(items)]) if rows == 1 else np.arange(len(items) + 1)
    chosen = np.sort(items) if rows == 1 else items
    ones = np.ones(len(items), dtype=np.float32)
    return csr_array((ones, chosen.astype(np.int32), ends.astype(np.int32)), shape=(rows, count))
