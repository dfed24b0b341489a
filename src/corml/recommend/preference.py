"""Whether a model prefers some items to others: where it does not, a list would be the first items of the catalogue."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corml.linalg.sparse import rows_of, rows_or_none
from corml.recommend.topn import band_of

if TYPE_CHECKING:
    from corml.models.recommender import Recommender
    from corml.recommend.requests import Limits, Request

__all__ = ["NO_PREFERENCE", "with_a_preference"]

NO_PREFERENCE = "the model scores all of them alike"


def with_a_preference(
    model: "Recommender",
    request: "Request",
    bounds: "Limits",
    columns: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> "Request":
    """The request, in which a row has no history if by it the model prefers none of the items that may be listed.

    Such a row has the same score for all of them, or a list of nothing but zeros: its order would be that of the
    catalogue. A single item that may be listed needs no preference. Without such a row it is the same object.
    """
    listed = columns >= 0
    high = np.where(listed, scores, -np.inf).max(axis=1, initial=-np.inf)
    low = np.where(listed, scores, np.inf).min(axis=1, initial=np.inf)
    flat = (high == low) & ((high == 0) | (listed.sum(axis=1) > 1)) & (np.diff(request.matrix.indptr) > 0)
    height, cold = band_of(*request.matrix.shape)[0], []
    rows = np.flatnonzero(flat)
    for at in range(0, len(rows), height):
        some = rows[at : at + height]
        cold.append(some[_are_alike(model, request, bounds, some)])
    if not sum(map(len, cold)):
        return request
    alike = np.concatenate(cold)
    left = np.arange(len(request.names))
    left[alike] = -1
    reasons = {**request.cold, **dict.fromkeys(alike.tolist(), NO_PREFERENCE)}
    return replace(request, matrix=rows_or_none(request.matrix, left), cold=reasons)


def _are_alike(model: "Recommender", request: "Request", bounds: "Limits", rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether all items that a row may have score the same, or the best of several zero."""
    histories, may = request.matrix[rows], np.ones((len(rows), len(model.items_)), dtype=bool)
    histories.sort_indices()
    if bounds.allowed is not None:
        allowed = bounds.allowed if bounds.allowed.shape[0] == 1 else bounds.allowed[rows]
        may &= allowed.toarray() != 0
    seen = bounds.seen[rows]
    may[rows_of(seen), seen.indices] = False
    users = model._represent(histories, None if request.users is None else request.users[rows])
    high, low = np.full(len(rows), -np.inf, np.float32), np.full(len(rows), np.inf, np.float32)
    width = model._block_shape(histories)[1]
    for start in range(0, may.shape[1], width):
        columns = slice(start, min(start + width, may.shape[1]))
        scores = model.score_block(users, columns)
        high = np.maximum(high, scores.max(axis=1, where=may[:, columns], initial=-np.inf))
        low = np.minimum(low, scores.min(axis=1, where=may[:, columns], initial=np.inf))
    alike: NDArray[np.bool_] = (may.sum(axis=1) > 1) & ((high == low) | (high == 0))
    return alike
