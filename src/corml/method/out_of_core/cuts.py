"""How the work is cut into tasks: from the data alone, never from threads, workers or memory.

A task is to take a second or more, so that handing it out costs little beside it; and there are to be enough of them
for many machines. Ranges of users and blocks of items have about equal work.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Range", "count", "ranges"]

PAIRS = 1 << 24  # interactions of a range of users that are multiplied with a block of vectors
VISITS = 1 << 28  # items of users of items, of a block whose co-occurring pairs are found or priced
GATHERS = 1 << 30  # numbers read in one step of the solver
MOST = 10_000  # tasks of a stage

Range = tuple[int, int]


def ranges(work: NDArray[Any], of_one: float) -> list[Range]:
    """Consecutive ranges of rows of about so much work, at most MOST of them; one at least."""
    total = np.concatenate([[0.0], np.cumsum(work, dtype=np.float64)])
    parts = count(total[-1], of_one, len(work))
    edges = np.searchsorted(total, total[-1] * np.arange(1, parts) / parts)
    edges = np.unique(np.concatenate([[0], edges, [len(work)]]))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def count(work: float, of_one: float, rows: int) -> int:
    """How many ranges so much work of so many rows is cut into, if no row has more than one range's share."""
    return int(np.clip(np.ceil(work / of_one), 1, min(MOST, max(rows, 1))))
