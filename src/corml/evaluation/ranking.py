"""The lists of a task: by score, or by rules."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.evaluation.task import Task, counted
from corml.recommend.rules import ListRules
from corml.recommend.topn import top_bands

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["ranked_lists"]


def ranked_lists(
    model: "Recommender",
    job: Task,
    k: int,
    rules: ListRules | None,
    progress: Progress,
    shape: tuple[int, int] | None = None,
) -> NDArray[np.int32]:
    """Item numbers, k for each user; of many users only these are kept, in half the bytes.

    `shape` is that of the blocks in which scores are made, where the task has some of many users.
    """
    history = job.history if model.LEARNS_WEIGHTS else counted(job.history)
    known = model.fitted_.users.find(job.users)
    if rules is not None:
        from corml.recommend.rerank import Ranking, ranked  # with a kernel that plain lists do without

        ranking = Ranking.of(model, history, known, job.mask, rules=rules)
        return ranked(ranking, k, rules, job.users.tolist(), progress).columns.astype(np.int32)
    best, first = np.empty((len(job.users), k), dtype=np.int32), 0
    for columns, _ in top_bands(model, history, k, users=known, seen=job.mask, progress=progress, shape=shape):
        best[first : first + len(columns)] = columns
        first += len(columns)
    return best
