"""What may come back: everything known of a person is kept out of the lists, unless it is asked for.

What is known of the rows of a request is one matrix with an entry for every item, learned from or not. Where its ages
are asked for, its values are the time since each item was last seen, plus one, so that no entry is zero.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import durations
from corml.errors import UsageError, ascii_line
from corml.interactions import Interactions
from corml.linalg.cells import filled, rows_or_none
from corml.linalg.scaling import rows_of
from corml.strength import latest_of

if TYPE_CHECKING:
    from corml.histories import Histories

__all__ = ["MODES", "SeenRule", "known_in", "known_of_both", "known_of_users"]

MODES = ("exclude", "allow", "only", "learned")


@dataclass(frozen=True)
class SeenRule:
    """Whether items that a person is known to have may come back, and how long after they were last seen.

    exclude     none of them
    allow       all of them
    only        all of them, and nothing else
    learned     those that were not learned from: for lists that are judged by held-out pairs
    """

    mode: str = "exclude"
    recent: Any = None  # a length of time such as "30d"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"seen must be 'exclude', 'allow', 'only' or 'learned'; got {ascii_line(self.mode)}.")
        if self.recent is None:
            return
        durations.seconds(self.recent, "exclude_recent")
        if self.mode not in ("allow", "only"):
            raise UsageError(
                "exclude_recent is about seen items that may come back later: give seen= (--seen) as allow or only "
                "with it."
            )

    def kept_out(self, known: csr_array, learned: csr_array, latest: float | None) -> csr_array:
        """The known items that a list may not have; `latest` is the moment that ages are counted from."""
        if self.mode in ("exclude", "learned"):
            return known if self.mode == "exclude" else learned
        if self.recent is None:
            return _where(known, np.zeros(known.nnz, dtype=bool))
        if latest is None:
            raise UsageError(
                "exclude_recent needs the time of each interaction, and these histories have none: fit on data with a "
                "time column (time=, --time), or leave it out."
            )
        length = durations.in_units_of(durations.seconds(self.recent, "exclude_recent"), latest)
        return _where(known, known.data <= length + 1)

    def let_in(self, known: csr_array, only: csr_array | None) -> csr_array | None:
        """The only items that a list may have, where there is such a limit."""
        if self.mode != "only":
            return only
        if only is None:
            return known
        lines = np.minimum(rows_of(known), only.shape[0] - 1)  # one row holds for all
        return _where(known, filled(only, lines, known.indices))


def known_of_users(histories: "Histories", rows: NDArray[np.int64], *, ages: bool) -> csr_array:
    """What is known of users by their row numbers, learned from or not; of −1 nothing is."""
    return _known_until(histories, rows, histories.latest if ages else None)


def known_of_both(
    data: Interactions, histories: "Histories", rows: NDArray[np.int64], latest: float | None
) -> csr_array:
    """What data say is known of their users, and what else a model knows of them, by their row numbers."""
    own, others = _known_in(data, latest), _known_until(histories, rows, latest)
    known = (own + _where(others, ~filled(own, rows_of(others), others.indices))).tocsr()
    known.sort_indices()
    return known


def _known_until(histories: "Histories", rows: NDArray[np.int64], latest: float | None) -> csr_array:
    known = rows_or_none(_aged(histories.pairs, histories.times, latest), rows)
    if histories.seen is not None:
        known = (known + rows_or_none(_aged(histories.seen, histories.seen_times, latest), rows)).tocsr()
    known.sort_indices()
    return known


def known_in(history: Interactions) -> tuple[csr_array, float | None]:
    """What histories themselves say is known, and their latest moment."""
    latest = latest_of(history.times, None if history.seen is None else history.seen.times)
    return _known_in(history, latest), latest


def _known_in(history: Interactions, latest: float | None) -> csr_array:
    known = _aged(history.matrix, history.times_by_row, latest)
    if history.seen is not None:
        known = (known + _aged(history.seen.matrix, history.seen.times_by_row, latest)).tocsr()
    known.sort_indices()
    return known


def _aged(pattern: csr_array, times: NDArray[np.float64] | None, latest: float | None) -> csr_array:
    """A pattern with the time since each entry, plus one, as its values; an entry without a time counts as recent."""
    if times is None or latest is None:
        return pattern
    ages = np.nan_to_num(latest - times, nan=0.0) + 1
    return csr_array((ages, pattern.indices, pattern.indptr), shape=pattern.shape)


def _where(matrix: csr_array, keep: NDArray[np.bool_]) -> csr_array:
    """The entries that are kept, in a matrix of its own."""
    chosen = csr_array((matrix.data * keep, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    chosen.eliminate_zeros()
    chosen.sort_indices()
    return chosen
