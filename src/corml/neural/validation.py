"""How good a half-trained model is: NDCG@10 on validation pairs, over all items."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml.errors import DataError
from corml.interactions import Interactions
from corml.linalg.cells import filled
from corml.metrics import Lists, parse
from corml.topn import top_k

if TYPE_CHECKING:
    from corml.neural.gradient_model import Stepwise

__all__ = ["METRIC", "judge"]

METRIC = "ndcg@10"


def judge(
    model: "Stepwise", valid: Interactions, told: Interactions | None = None
) -> Callable[[dict[str, NDArray[Any]]], float]:
    """A function from the arrays of a model to its NDCG@10.

    People are known by what was `told` of them, or else by their training pairs, and are not to be given that. Those of
    whom the model knows nothing do not count, nor do pairs already met.
    """
    metric, users = parse(METRIC), model.users_.find(valid.users.labels)
    met = _of(model, users) if told is None else told.on(valid.users, model.items_).matrix
    known = valid.on(valid.users, model.items_)
    wanted = known.where(~filled(met, known.user, known.item)).matrix
    scored = (np.diff(met.indptr) > 0) & (np.True_ if model.folds_in else np.diff(_of(model, users).indptr) > 0)
    people = np.flatnonzero((np.diff(wanted.indptr) > 0) & scored)
    if not len(people):
        raise DataError(
            f"No pair of valid can be found by {type(model).__name__}, which knows none of their users, or of their "
            "items: leave valid out, or for a split of users give valid_history too, to a model that scores histories."
        )
    met, wanted, users = met[people], wanted[people], users[people]
    for matrix in (met, wanted):
        matrix.sort_indices()

    def found(arrays: dict[str, NDArray[Any]]) -> float:
        model.put(arrays)
        best, _ = top_k(model, met, min(metric.k, met.shape[1]), users=users, seen=met)
        hits = filled(wanted, np.arange(len(best))[:, None], best)
        lists = Lists(best, hits, np.diff(wanted.indptr), model.counts_, met.shape[0])
        return float(np.mean(metric(lists)))

    return found


def _of(model: "Stepwise", users: NDArray[np.int64]) -> csr_array:
    """Training pairs of users, none of those it does not know."""
    none = csr_array((1, len(model.items_)), dtype=model.train_.dtype)
    return csr_array(vstack([model.train_, none], format="csr")[users])  # −1 is the last row
