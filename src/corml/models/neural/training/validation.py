"""How good a half-trained model is: NDCG@10 on validation pairs, over all items."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml.data.interactions import Interactions
from corml.errors import DataError
from corml.linalg.sparse import filled
from corml.linalg.topk import normalised_gain
from corml.models.fitted import Fitted
from corml.models.neural.training.loop import Arrays
from corml.recommend.rank import top_k
from corml.recommend.score import Scorer

K = 10
METRIC = f"ndcg@{K}"


def validator(
    scorer: Callable[[Arrays], Scorer],
    fitted: Fitted,
    valid: Interactions,
    history: Interactions | None = None,
    *,
    name: str,
    folds_in: bool,
) -> Callable[[Arrays], float]:
    """A function from the arrays of a model to its NDCG@10.

    Users are known by their `history`, or else by their training pairs, and neither is recommended again. Users whom
    the model cannot score do not count, nor do pairs that are in the history.
    """
    users = fitted.users.find(valid.users)
    trained = _training_rows(fitted, users)
    seen = trained if history is None else history.on(valid.users, fitted.items).matrix
    known = valid.on(valid.users, fitted.items)
    targets = known.where(~filled(seen, known.user, known.item)).matrix
    scored = (np.diff(seen.indptr) > 0) & (np.True_ if folds_in else np.diff(trained.indptr) > 0)
    rows = np.flatnonzero((np.diff(targets.indptr) > 0) & scored)
    if not len(rows):
        raise DataError(
            f"No pair of valid can be found by {name}, which knows none of their users, or of their "
            "items: leave valid out, or for a split of users give valid_history too, to a model that scores histories."
        )
    seen, targets, users = seen[rows], targets[rows], users[rows]
    for matrix in (seen, targets):
        matrix.sort_indices()

    def validate(arrays: Arrays) -> float:
        best, _ = top_k(scorer(arrays), seen, min(K, seen.shape[1]), users=users, seen=seen)
        hits = filled(targets, np.arange(len(best))[:, None], best)
        return float(np.mean(normalised_gain(hits, np.diff(targets.indptr), K)))

    return validate


def _training_rows(fitted: Fitted, users: NDArray[np.int64]) -> csr_array:
    """Training pairs of users; of those it does not know, none."""
    empty = csr_array((1, len(fitted.items)), dtype=fitted.train.dtype)
    return csr_array(vstack([fitted.train, empty], format="csr")[users])  # −1 is the last row
