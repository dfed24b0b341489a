"""What is known of users now: the histories of a fit, or those that have grown since."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.strength import Rows, latest_of, scored
from corml.linalg.sparse import rows_or_none


@dataclass(frozen=True, kw_only=True, eq=False)
class Histories:
    """Users and what is known of them, on the catalogue of a model: see `Interactions` for `seen` and `negative`.

    The first `learned` users are those of the fit, in its order; after them come users that were added since, and
    those that were excluded from training.
    """

    users: Ids
    learned: int
    pairs: Rows
    seen: Rows | None = None
    negative: Rows | None = None

    @classmethod
    def of(cls, data: Interactions, *, learned: int) -> Self:
        """The histories of the users of some interactions, and then of `others`."""
        seen, negative = (None if one is None else one.rows for one in (data.seen, data.negative))
        own = cls(users=data.users, learned=learned, pairs=data.rows, seen=seen, negative=negative)
        return own.followed_by(data.others)

    def followed_by(self, others: Interactions | None) -> Self:
        """The same with more users after these."""
        if others is None:
            return self
        more = Histories.of(others, learned=0)
        shapes = [one.pairs.pattern.shape for one in (self, more)]
        pairs = cast(Rows, Rows.stacked([self.pairs, more.pairs], shapes))
        seen, negative = (
            Rows.stacked([self.seen, more.seen], shapes),
            Rows.stacked([self.negative, more.negative], shapes),
        )
        return replace(self, users=self.users.followed_by(more.users), pairs=pairs, seen=seen, negative=negative)

    def scored(self, numbers: NDArray[np.int64]) -> csr_array:
        """What linear models score of users by number (−1: nothing): see `Interactions.histories`."""
        against = None if self.negative is None else rows_or_none(self.negative.weighted, numbers)
        return scored(rows_or_none(self.pairs.weighted, numbers), against)

    @cached_property
    def event_types(self) -> tuple[str, ...]:
        """The names of all event types that any user has."""
        kinds = [part.kinds for part in (self.pairs, self.seen, self.negative) if part is not None]
        return tuple(dict.fromkeys(name for part in kinds if part is not None for name in part.known))

    @cached_property
    def latest(self) -> float | None:
        """The latest time of any pair, from which ages are counted; None without times."""
        return latest_of(self.pairs.times, None if self.seen is None else self.seen.times)


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
