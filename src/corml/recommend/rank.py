"""Step 4, ranking: the best items of many histories, block by block; users × items never exists as a whole."""

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.finite import check_lists
from corml._runtime.parallel import each
from corml._runtime.progress import Progress
from corml.recommend.allowed import Allowed
from corml.recommend.score import Lists, Scorer, band_of

ALIVE_BYTES = 1 << 29  # scores alive at once
SORTED = 0.25  # of the catalogue: of longer lists all items are sorted, which is faster than inserting them


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

    `users` are the row numbers of known users, −1 for a new (fold-in) user. `seen` are items that are never listed,
    `allowed` the only ones that may be: matrices with a row for each history, or one for all. Bands of rows are ranked
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
    """The lists of `top_k` band by band, in the order of the rows, for callers that do not keep them as they are.

    `shape` is that of blocks where X has some of many rows, and lists must be identical to those of all rows at once.
    """
    from corml.linalg.topk import TopK

    height, width = shape or model._block_shape(X)
    sorts = k > max(64, SORTED * X.shape[1])
    if sorts:  # all scores of a band are held
        height = min(height, band_of(*X.shape)[0])
    alive = 4 * height * (3 * X.shape[1] if sorts else width)
    edges = [*range(0, X.shape[1], width), X.shape[1]]
    report = _counter(progress, -(-X.shape[0] // height) * (len(edges) - 1))

    def ranked(band: int) -> Lists:
        part = slice(band * height, (band + 1) * height)
        rows = X[part]
        represented = model._represent(rows, None if users is None else users[part])
        limits = _sorted_rows(seen, part), _sorted_rows(allowed, part)
        lists = model._top_k(represented, k, *limits)
        if lists is not None:
            report(len(edges) - 1)
            return lists
        best, blocks = TopK(rows.shape[0], k, *limits), []
        for first, last in pairwise(edges):
            block = model.score_block(represented, slice(first, last))
            if sorts:
                blocks.append(block)
            else:
                best.add(block, first)
            report(1)
        return _sorted(np.concatenate(blocks, axis=1), k, *limits) if sorts else (best.columns, best.scores)

    for lists in each(ranked, -(-X.shape[0] // height), max_threads=max(1, ALIVE_BYTES // alive)):
        check_lists(*lists)
        yield lists


def _sorted(scores: NDArray[np.float32], k: int, seen: csr_array | None, only: csr_array | None) -> Lists:
    excluded = csr_array((1, scores.shape[1]), dtype=np.float32) if seen is None else seen
    scores = np.where(Allowed(excluded, only).mask(len(scores)), scores, -np.inf)
    columns = np.argsort(-scores, axis=1, kind="stable")
    scores = np.take_along_axis(scores, columns, axis=1)
    columns = np.where(scores == -np.inf, -1, columns)
    nan = np.isnan(scores)  # sorted to the end, and never to be missed
    columns[:, 0] = np.where(nan.any(axis=1), 0, columns[:, 0])
    scores[:, 0] = np.where(nan.any(axis=1), np.nan, scores[:, 0])
    return columns[:, :k].astype(np.int64), scores[:, :k].astype(np.float32)


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


def _sorted_rows(X: csr_array | None, part: slice) -> object:
    if X is None:
        return None
    rows = X if X.shape[0] == 1 else X[part]  # one row holds for all
    rows.sort_indices()
    return rows
