"""What several fits of the same data share, so that trying other settings costs little more than the solver."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from corml.errors import UsageError
from corml.interactions import Interactions
from corml.linalg.scaling import column_degrees
from corml.long_histories import shortened
from corml.method.problem import UserWeights, Weights
from corml.method.sparse.candidates import Candidates, co_occurring
from corml.method.sparse.cross_term import cross_term
from corml.method.sparse.reorder import Reordered
from corml.method.spectral import Norms, singular_vectors
from corml.strength import of_mean_square_one

__all__ = ["Workspace"]

PLAIN = 64, (0.5, 0.5)  # directions, and exponents of the graph, of an order that no setting changes
T = TypeVar("T")


class _V(NamedTuple):
    rank: int  # that was asked for: there may be fewer directions
    array: NDArray[Any]
    version: int


class Workspace:
    """V, the candidates with their Gram matrix, and the cross term of one set of interactions; the last of each.

    Give it to every fit: `work = Workspace(train)`, then `CoRML(mix=0.7).fit(train, workspace=work)`. V is made again
    for a higher `rank` and another `graph_user_norm` or `graph_item_norm`; pairs for another `candidates`,
    `user_balance` or `user_norm`; the cross term for any of these and for another `rank`, `filter` or `filter_norm`.
    Other settings change none of them.

    With `rank`, for a search, V always has that many directions at least, and data are put in an order of their own: so
    what a fit gets, to the last digit, does not depend on the fits before it. Then the last two V are kept.
    """

    def __init__(self, train: Interactions, *, rank: int = 0) -> None:
        self._least = rank
        self.fingerprint, self.users, self.items = train.fingerprint, train.users, train.items
        self._kept_V = 2 if rank else 1  # a search returns to the best exponents after each that was no better
        self._begin(train)

    def _begin(self, learned_from: Interactions) -> None:
        """Forget everything, and serve these pairs."""
        self._pairs = len(learned_from)
        self.X = of_mean_square_one(learned_from.weighted)
        self._V: dict[Norms, _V] = {}
        self._made = self._version = 0  # of V, so that nothing made from another one is taken for its own
        self._order: Reordered | None = None
        self._last: dict[str, tuple[Hashable, Any]] = {}

    def serve(self, train: Interactions, longest_history: int | None) -> None:
        """Refuse to serve other data; begin anew for another part of long histories."""
        if train.fingerprint != self.fingerprint:
            raise UsageError("This workspace was made for other interactions: make one with Workspace(train).")
        if train.users != self.users or train.items != self.items:
            raise UsageError(
                "This workspace was made for these interactions in another order: make one with Workspace(train)."
            )
        learned_from = shortened(train, longest_history)
        if len(learned_from) != self._pairs:
            self._begin(learned_from)

    def vectors(self, rank: int, norms: Norms, offered: NDArray[Any] | None = None) -> NDArray[Any]:
        """V of a rank: the first columns of one that is kept, the one offered by a warm start, or a new one."""
        known = self._V.pop(norms, None)
        if known is None or known.rank < rank:
            while len(self._V) >= self._kept_V:
                del self._V[next(iter(self._V))]  # the one that was not asked for the longest
            width, self._made = max(rank, self._least), self._made + 1
            known = (
                _V(width, singular_vectors(self.X, width, norms), self._made)
                if offered is None
                else _V(rank, offered, self._made)
            )
        self._V[norms], self._version = known, known.version
        return known.array[:, :rank]

    def reordered(self, V: NDArray[Any]) -> Reordered:
        """The data in an order in which H is learned fast; any is good, so the first stays."""
        if self._order is None:
            alone = self._least > 0 and not Reordered.is_needless(self.X)
            self._order = Reordered.of(self.X, singular_vectors(self.X, *PLAIN) if alone else V)
        return self._order

    def pairs(self, weights: Weights, users: UserWeights, max_per_item: int | None) -> Candidates:
        """The candidates with their Gram matrices, in the order of the data here; `users` are in that order."""
        key = weights.user_balance, weights.user_norm, max_per_item
        order = self._data
        return self._kept(
            "pairs", key, lambda: co_occurring(order.X, users, max_per_item=max_per_item, numbers=order.items)
        )

    def cross(
        self,
        V: NDArray[Any],
        *,
        clip: bool,
        weights: Weights,
        users: UserWeights,
        max_per_item: int | None,
    ) -> NDArray[np.float32]:
        """The cross term on these pairs; V is the last one given out, in the order of the data here."""
        pairs, X = self.pairs(weights, users, max_per_item), self._data.X
        of_pairs = weights.user_balance, weights.user_norm, max_per_item
        key = self._version, V.shape[1], clip, weights.filter_norm, of_pairs
        d, s = column_degrees(X), weights.filter_norm
        return self._kept("cross", key, lambda: cross_term(X, d, V, users.both, s, pairs, clip=clip))

    @property
    def _data(self) -> Reordered:
        assert self._order
        return self._order

    def _kept(self, name: str, key: Hashable, make: Callable[[], T]) -> T:
        if self._last.get(name, (None, None))[0] != key:
            self._last.pop(name, None)  # before the next is made: both at once may not fit
            self._last[name] = key, make()
        value: T = self._last[name][1]
        return value
