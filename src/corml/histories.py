"""What is known of users now: the histories of a fit, or those that have grown since."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.ids import Ids
from corml.interactions import Interactions
from corml.strength import Kinds, Negative, latest_of, pushed_down, with_values

__all__ = ["Added", "Histories", "refused"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Histories:
    """Users, the items they are scored by, what they only saw and what they said no to, on the catalogue of a model.

    The first `learned` users are those of the fit, in its order; after them come users that were added since.
    """

    users: Ids
    learned: int
    pairs: csr_array
    times: NDArray[np.float64] | None = None
    weights: NDArray[np.float32] | None = None
    seen: csr_array | None = None
    seen_times: NDArray[np.float64] | None = None
    kinds: Kinds | None = None
    negative: Negative | None = None

    @classmethod
    def of(cls, data: Interactions, *, learned: int) -> Self:
        """The histories in some interactions."""
        seen = data.seen
        return cls(
            users=data.users,
            learned=learned,
            pairs=data.matrix,
            times=data.times_by_row,
            weights=data.weights_by_row,
            seen=None if seen is None else seen.matrix,
            seen_times=None if seen is None else seen.times_by_row,
            kinds=data.kinds_by_row,
            negative=refused(data.negative),
        )

    @property
    def weighted(self) -> csr_array:
        """The pairs with their weights."""
        return with_values(self.pairs, self.weights)

    @cached_property
    def scored(self) -> csr_array:
        """What linear models score: the weighted pairs, with negative entries for what was said no to."""
        return pushed_down(self.weighted, None if self.negative is None else self.negative.matrix)

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


def refused(data: Interactions | None) -> Negative | None:
    """What was said no to, row by row."""
    return None if data is None else Negative(data.weighted, data.times_by_row, data.kinds_by_row)
