"""Rank the catalogue for many histories in blocks; users × items never exists as a whole."""

import threading
from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.parallel import each

__all__ = ["Scorer", "band_of", "block_of", "top_k"]

ALIVE_BYTES = 1 << 29  # scores alive at once
BLOCK_BYTES = 1 << 27  # scores of a block
BAND_BYTES = 1 << 25  # scores of a band: more, and they are far from the processor when they are ranked

Progress = Callable[[str, int, int], None]


class Scorer(Protocol):
    """What ranking needs of a model."""

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        """How many rows and columns of scores to make at a time for these histories."""

    def represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Any:
        """What stands for these people when scores are made: one row each."""

    def score_block(self, people: Any, columns: slice) -> NDArray[np.float32]:
        """Scores of people, as `represent` gives them, for a range of items."""


def block_of(rows: int, columns: int, *, most_rows: int = 1 << 16) -> tuple[int, int]:
    """As many rows as possible, then as many columns as keep a block within BLOCK_BYTES."""
    height = max(1, min(rows, most_rows))
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
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The k best items of each history as item numbers and scores; −1 and −inf where there are fewer.

    `users` are the numbers of known users, −1 for somebody of whom only the history is known. Bands of rows are ranked
    in threads, so the model and `progress` may be called from any of them.
    """
    from corml.linalg.topk import TopK

    height, width = model.block_shape(X)
    starts = range(0, X.shape[0], height), range(0, X.shape[1], width)
    tell = _counter(progress, len(starts[0]) * len(starts[1]))

    def ranked(band: int) -> TopK:
        part = slice(band * height, (band + 1) * height)
        rows = X[part]
        people = model.represent(rows, None if users is None else users[part])
        best = TopK(rows.shape[0], k, _rows(seen, part), _rows(allowed, part))
        for first in starts[1]:
            best.add(model.score_block(people, slice(first, min(first + width, X.shape[1]))), first)
            tell()
        return best

    found = list(each(ranked, len(starts[0]), most=max(1, ALIVE_BYTES // (4 * height * width))))
    if not found:
        return np.zeros((0, k), dtype=np.int64), np.zeros((0, k), dtype=np.float32)
    return np.concatenate([f.columns for f in found]), np.concatenate([f.scores for f in found])


def _counter(progress: Progress | None, total: int) -> Callable[[], None]:
    """Tell of one more block that is done, one thread at a time."""
    done, lock = count(1), threading.Lock()

    def tell() -> None:
        if progress:
            with lock:
                progress("rank", next(done), total)

    return tell


def _rows(X: csr_array | None, part: slice) -> Any:
    if X is None:
        return None
    taken = X[part]
    taken.sort_indices()
    return taken
