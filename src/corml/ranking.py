"""Rank the catalogue for many histories in blocks; users × items never exists as a whole."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["Scorer", "block_of", "top_k"]

BLOCK_BYTES = 1 << 27  # scores alive at once

Progress = Callable[[str, int, int], None]


class Scorer(Protocol):
    """What ranking needs of a model."""

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        """How many rows and columns of scores to make at a time for these histories."""

    def score_block(self, X: csr_array, columns: slice) -> NDArray[np.float32]:
        """Scores of the histories X (rows) for a range of items."""


def block_of(rows: int, columns: int, *, most_rows: int = 1 << 16) -> tuple[int, int]:
    """As many rows as possible, then as many columns as keep a block within BLOCK_BYTES."""
    height = max(1, min(rows, most_rows))
    return height, max(64, min(columns, BLOCK_BYTES // 4 // height))


def top_k(
    model: Scorer,
    X: csr_array,
    k: int,
    *,
    seen: csr_array | None = None,
    allowed: csr_array | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The k best items of each history as item numbers and scores; −1 and −inf where there are fewer."""
    from corml.linalg.topk import TopK

    height, width = model.block_shape(X)
    found: list[TopK] = []
    blocks = [(a, c) for a in range(0, X.shape[0], height) for c in range(0, X.shape[1], width)]
    for done, (a, c) in enumerate(blocks, start=1):
        part = slice(a, a + height)
        if c == 0:
            rows = X[part]
            found.append(TopK(rows.shape[0], k, _rows(seen, part), _rows(allowed, part)))
        found[-1].add(model.score_block(rows, slice(c, min(c + width, X.shape[1]))), c)
        if progress:
            progress("rank", done, len(blocks))
    if not found:
        return np.zeros((0, k), dtype=np.int64), np.zeros((0, k), dtype=np.float32)
    return np.concatenate([f.columns for f in found]), np.concatenate([f.scores for f in found])


def _rows(X: csr_array | None, part: slice) -> Any:
    if X is None:
        return None
    taken = X[part]
    taken.sort_indices()
    return taken
