"""What is known of users now: the histories of a fit, or those that have grown since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.kinds import Kinds
from corml.data.strength import Negative, latest_of, scored, with_values
from corml.linalg.sparse import rows_or_none

__all__ = ["Added", "Histories", "refused"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Histories:
    """Users, the items they are scored by, what they only saw and what they said no to, on the catalogue of a model.

    The first `learned` users are those of the fit, in its order; after them come users that were added since, and
    those of whom there was nothing to learn.
    """

    users: Ids
    learned: int
    pairs: csr_array
    times: NDArray[np.float64] | None = None
    weights: NDArray[np.float32] | None = None
    seen: csr_array | None = None
    seen_times: NDArray[np.float64] | None = None
    kinds: Kinds | None = None
    seen_kinds: Kinds | None = None
    negative: Negative | None = None

    @classmethod
    def of(cls, data: Interactions, *, learned: int) -> Self:
        """The histories in some interactions: of their users, and then of the others."""
        seen = data.seen
        own = cls(
            users=data.users,
            learned=learned,
            pairs=data.matrix,
            times=data.times_by_row,
            weights=data.weights_by_row,
            seen=None if seen is None else seen.matrix,
            seen_times=None if seen is None else seen.times_by_row,
            kinds=data.kinds_by_row,
            seen_kinds=None if seen is None else seen.kinds_by_row,
            negative=refused(data.negative),
        )
        return own.followed_by(data.others)

    def followed_by(self, others: Interactions | None) -> Self:
        """The same with more users after these."""
        if others is None:
            return self
        more = type(self).of(others, learned=0)
        both, known = (self, more), [one.pairs.nnz for one in (self, more)]
        only_seen = [0 if one.seen is None else one.seen.nnz for one in both]
        return replace(
            self,
            users=self.users.followed_by(more.users),
            pairs=vstack([one.pairs for one in both], format="csr"),
            times=_joined([one.times for one in both], known, np.nan),
            weights=_joined([one.weights for one in both], known, 1),
            kinds=Kinds.joined([one.kinds for one in both], known),
            seen_kinds=Kinds.joined([one.seen_kinds for one in both], only_seen),
            seen=_stacked([one.seen for one in both], [one.pairs for one in both]),
            seen_times=_joined([one.seen_times for one in both], only_seen, np.nan),
            negative=_noes([one.negative for one in both], [one.pairs for one in both]),
        )

    @property
    def weighted(self) -> csr_array:
        """The pairs with their weights."""
        return with_values(self.pairs, self.weights)

    def scored(self, numbers: NDArray[np.int64]) -> csr_array:
        """What linear models score of users by number (−1: nothing): see `Interactions.histories`."""
        against = None if self.negative is None else rows_or_none(self.negative.matrix, numbers)
        return scored(rows_or_none(self.weighted, numbers), against)

    @cached_property
    def event_types(self) -> tuple[str, ...]:
        """The names of all event types that are known of anybody."""
        no = None if self.negative is None else self.negative.kinds
        known = [part for part in (self.kinds, self.seen_kinds, no) if part is not None]
        return tuple(dict.fromkeys(name for part in known for name in part.known))

    @cached_property
    def latest(self) -> float | None:
        """The latest moment that is known, from which ages are counted; None without times."""
        return latest_of(self.times, self.seen_times)


@dataclass(frozen=True, kw_only=True, eq=False)
class Added:
    """What is known after interactions were added to a fitted model, and a record of each addition.

    `data` is everything, on the users of the fit and then new ones, and on the catalogue and then the items that the
    model does not know: these wait for the next fit.
    """

    data: Interactions
    records: tuple[Mapping[str, Any], ...]

    def histories(self, items: Ids, *, learned: int) -> Histories:
        """The histories on the catalogue of the model."""
        return Histories.of(self.data.on(self.data.users, items), learned=learned)


# --- one below the other ---------------------------------------------------------------------------------------------


def _joined(columns: Sequence[NDArray[Any] | None], counts: Sequence[int], blank: float) -> Any:
    """Columns of so many pairs one after the other; None if there are none at all."""
    if all(column is None for column in columns):
        return None
    parts = zip(columns, counts, strict=True)
    return np.concatenate([np.full(count, blank, np.float32) if column is None else column for column, count in parts])


def _stacked(matrices: Sequence[csr_array | None], like: Sequence[csr_array]) -> csr_array | None:
    """Matrices one below the other, each of the shape of another one; None if there are none at all."""
    if all(matrix is None for matrix in matrices):
        return None
    rows = zip(matrices, like, strict=True)
    return vstack([csr_array(one.shape, dtype=one.dtype) if matrix is None else matrix for matrix, one in rows], "csr")


def _noes(parts: Sequence[Negative | None], like: Sequence[csr_array]) -> Negative | None:
    matrix = _stacked([None if one is None else one.matrix for one in parts], like)
    if matrix is None:
        return None
    counts = [0 if one is None else one.matrix.nnz for one in parts]
    times = _joined([None if one is None else one.times for one in parts], counts, np.nan)
    return Negative(matrix, times, Kinds.joined([None if one is None else one.kinds for one in parts], counts))


def refused(data: Interactions | None) -> Negative | None:
    """What was said no to, row by row."""
    return None if data is None else Negative(data.weighted, data.times_by_row, data.kinds_by_row)
