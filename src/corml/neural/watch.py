"""How good a half-trained model is: NDCG@10 on validation pairs, over all items."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import DataError
from corml.interactions import Interactions
from corml.linalg.cells import filled
from corml.metrics import Lists, parse
from corml.ranking import top_k

if TYPE_CHECKING:
    from corml.neural.stepwise import Stepwise

__all__ = ["METRIC", "judge"]

METRIC = "ndcg@10"


def judge(model: "Stepwise", valid: Interactions) -> Callable[[dict[str, NDArray[Any]]], float]:
    """A function from the arrays of a model to its NDCG@10; pairs of strangers and pairs already met do not count."""
    met, metric = model.train_, parse(METRIC)
    known = valid.on(model.users_, model.items_)
    wanted = known.where(~filled(met, known.user, known.item)).matrix
    users = np.flatnonzero((np.diff(wanted.indptr) > 0) & (np.diff(met.indptr) > 0))
    if not len(users):
        raise DataError("No pair of valid has a user and an item of train: take both from one split, or leave it out.")
    met, wanted = met[users], wanted[users]
    for matrix in (met, wanted):
        matrix.sort_indices()

    def found(arrays: dict[str, NDArray[Any]]) -> float:
        model.put(arrays)
        best, _ = top_k(model, met, min(metric.k, met.shape[1]), users=users, seen=met)
        hits = filled(wanted, np.arange(len(best))[:, None], best)
        lists = Lists(best, hits, np.diff(wanted.indptr), model.counts_, met.shape[0])
        return float(np.mean(metric(lists)))

    return found
