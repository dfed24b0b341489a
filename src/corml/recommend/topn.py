"""Rank the catalogue for many histories in blocks; users × items never exists as a whole."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.finite import check_lists
from corml._runtime.parallel import each
from corml._runtime.progress import Progress

__all__ = ["Lists", "Scorer", "band_of", "block_of", "top_bands", "top_k"]

ALIVE_BYTES = 1 << 29  # scores alive at once
BLOCK_BYTES = 1 << 27  # scores of a block
BAND_BYTES = 1 << 25  # scores of a band: more, and they are far from the processor when they are ranked


Lists = tuple[NDArray[np.int64], NDArray[np.float32]]


class Scorer(Protocol):
    """What ranking needs of a model."""

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """How many rows and columns of scores to make at a time for these histories."""

    def _top_k(self, users: Any, k: int, seen: csr_array | None, allowed: csr_array | None) -> Lists | None:
        """Lists of users, as `_represent` gives them, by a way of the model's own; None: score every item."""

    def _represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Any:
        """What stands for these users when scores are made: one row each."""

    def score_block(self, users: Any, columns: slice) -> NDArray[np.float32]:
        """Scores of users, as `_represent` gives them, for a range of items."""


def block_of(rows: int, columns: int, *, max_rows: int = 1 << 16) -> tuple[int, int]:
    """As many rows as possible, then as many columns as keep a block within BLOCK_BYTES."""
    height = max(1, min(rows, max_rows))
    return height, max(64, min(columns, BLOCK_BYTES // 4 // height))


def band_of(rows: int, columns: int) -> tuple[int, int]:
    """Whole rows: 32 to 512, in steps of 32, within BAND_BYTES if that can be."""
    fitting = BAND_BYTES // 4 // max(columns, 1) // 32 * 32
    return max(1, min(rows, max(32, min(fitting, 512)))), columns


def top_k(
    model: Scorer,
    X: csr_array,
    k: int,
    *,
    users: NDArray[np.int64] | None = None,
    seen: csr_array | None = None,
    allowed: csr_array | None = None,
    progress: Progress | None = None,
) -> Lists:
    """The k best items of each history as item numbers and scores; −1 and −inf where there are fewer.

    `users` are the row numbers of known users, −1 for a new (fold-in) user. `seen` and `allowed` have a row for each
    history, or one for all. Bands of rows are ranked
    in threads, so the model and `progress` may be called from any of them.
    """
    bands = list(top_bands(model, X, k, users=users, seen=seen, allowed=allowed, progress=progress))
    if not bands:
        return np.zeros((0, k), dtype=np.int64), np.zeros((0, k), dtype=np.float32)
    return np.concatenate([columns for columns, _ in bands]), np.concatenate([scores for _, scores in bands])


def top_bands(
    model: Scorer,
    X: csr_array,
    k: int,
    *,
    users: NDArray[np.int64] | None = None,
    seen: csr_array | None = None,
    allowed: csr_array | None = None,
    progress: Progress | None = None,
    shape: tuple[int, int] | None = None,
) -> Iterator[Lists]:
    """The lists of `top_k` band by band, in the order of the rows, for who does not keep them as they are.

    `shape` is that of blocks where X has some of many rows, and lists shall be those of all at once, to the last bit.
    """
    from corml.linalg.topk import TopK

    height, width = shape or model._block_shape(X)
    starts = range(0, X.shape[0], height), range(0, X.shape[1], width)
    report = _counter(progress, len(starts[0]) * len(starts[1]))

    def ranked(band: int) -> Lists:
        part = slice(band * height, (band + 1) * height)
        rows = X[part]
        represented = model._represent(rows, None if users is None else users[part])
        limits = _sorted_rows(seen, part), _sorted_rows(allowed, part)
        lists = model._top_k(represented, k, *limits)
        if lists is not None:
            report(len(starts[1]))
            return lists
        best = TopK(rows.shape[0], k, *limits)
        for first in starts[1]:
            best.add(model.score_block(represented, slice(first, min(first + width, X.shape[1]))), first)
            report(1)
        return best.columns, best.scores

    for lists in each(ranked, len(starts[0]), max_threads=max(1, ALIVE_BYTES // (4 * height * width))):
        check_lists(*lists)
        yield lists


def _counter(progress: Progress | None, total: int) -> Callable[[int], None]:
    """Count blocks as done, one thread at a time."""
    done, lock = 0, threading.Lock()

    def report(blocks: int) -> None:
        nonlocal done
        with lock:
            done += blocks
            if progress:
                progress("rank", done, total)

    return report


def _sorted_rows(X: csr_array | None, part: slice) -> Any:
    if X is None:
        return None
    rows = X if X.shape[0] == 1 else X[part]  # one row holds for all
    rows.sort_indices()
    return rows
