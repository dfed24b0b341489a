"""What fits reuse: a workspace of the same data, a warm start from an earlier model, and an order of users and items.

While H is learned, users and items with the same interests are adjacent. The result does not depend on the order, but
the memory that one user reads is then in the cache for the next: with 100,000 items a step takes 40 % less time.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import values_of
from corml.data.interactions import Interactions
from corml.data.strength import of_mean_square_one
from corml.errors import UsageError
from corml.linalg.sparse import Array, Values, column_degrees, power
from corml.models.corml.problem import Norms, singular_vectors, unshaped
from corml.models.corml.sparse.column_generation import InMemory
from corml.models.corml.sparse.pairs import Candidates
from corml.models.fitted import Fitted, on_items
from corml.models.learned_from import learned_from

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

ROWS = 4096  # compared at a time
FEW = 50_000  # interactions that are not worth reordering

Order = NDArray[np.int64]


@dataclass(frozen=True)
class Reordered:
    """Interactions with users and items permuted, and the numbers the items had before."""

    X: csr_array
    items: Order

    @classmethod
    def of(cls, X: csr_array, V: Array) -> Self:
        """Order both by their two largest coordinates in V; the first direction is popularity, the same for all.

        Few data stay as they are: they fit in the cache in any order.
        """
        if cls.is_needless(X):
            return cls(X, np.arange(X.shape[1]))
        weighted = power(column_degrees(X), -0.5).astype(np.float32)[:, None] * V[:, 1:]
        users = _by_direction(lambda part: X[part] @ weighted, X.shape[0])
        items = _by_direction(lambda part: V[part, 1:], X.shape[1])
        permuted = csr_array(X[users][:, items])
        permuted.sort_indices()
        return cls(permuted, items)

    @staticmethod
    def is_needless(X: csr_array) -> bool:
        """Whether data stay as they are."""
        return int(X.nnz) <= FEW

    def permute(self, values: Array) -> Array:
        """One value, or row, for each item, in the new order."""
        return np.asarray(values[self.items])

    def permute_matrix(self, H: csr_array) -> csr_array:
        """An items × items matrix in the new order."""
        return _reindexed(H, self.items)

    def unpermute_matrix(self, H: csr_array) -> csr_array:
        """An items × items matrix in the order they had."""
        return _reindexed(H, np.argsort(self.items))


def _reindexed(H: csr_array, order: Order) -> csr_array:
    if (np.diff(order) > 0).all():
        return H
    permuted = csr_array(H[order][:, order])
    permuted.sort_indices()
    return permuted


def _by_direction(rows: Callable[[slice], Array], count: int) -> Order:
    """An order in which rows with the same two largest coordinates are adjacent; `rows` returns a range of them."""
    first, second = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    for start in range(0, count, ROWS):
        part = slice(start, min(start + ROWS, count))
        coordinates = rows(part)
        if coordinates.shape[1] == 0:
            break
        size = np.abs(coordinates)
        for directions in (first, second):
            largest = size.argmax(axis=1)[:, None]
            directions[part] = (2 * largest + (np.take_along_axis(coordinates, largest, 1) > 0))[:, 0]
            np.put_along_axis(size, largest, -1, 1)
    return np.lexsort((second, first))


PLAIN = 64, (0.5, 0.5)  # directions, and exponents of the graph, of an order that no setting changes
T = TypeVar("T")


@dataclass(frozen=True)
class WarmStart:
    """An earlier H on the items of the new data, and V where the data are the same."""

    H: csr_array
    V: Array | None
    norms: Norms

    @classmethod
    def of(cls, model: "Recommender", train: Interactions, new: "Recommender") -> Self:
        """Take over from a fitted CoRML; items it does not know begin with no weights."""
        state: Fitted | None = vars(model).get("fitted_")
        if state is None or "H" not in state.arrays:
            raise UsageError("warm_start must be a fitted CoRML: fit it first, or leave it out.")
        same = state.fingerprint == train.fingerprint and state.items == train.items
        same = same and state.settings["longest_history"] == values_of(new)["longest_history"]
        H = on_items(state.arrays["H"], state.items, train.items)
        norms = state.settings.graph_user_norm, state.settings.graph_item_norm
        V = state.arrays["V"] if same else None
        return cls(H, V if V is None or not state.resolved.filter_power else unshaped(V), norms)

    def vectors(self, rank: int, norms: Norms) -> Array | None:
        """V of a rank, if there are that many (they are nested: the first are the largest)."""
        if self.V is None or self.norms != norms or self.V.shape[1] < rank:
            return None
        return self.V[:, :rank]


class _V(NamedTuple):
    rank: int  # as requested: there may be fewer directions
    array: Array
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
        self._begin(learned_from(train, None))

    def _begin(self, part: Interactions) -> None:
        """Forget everything, and serve these pairs."""
        self._pairs = len(part)
        self.X = of_mean_square_one(part.weighted)
        self._V: dict[Norms, _V] = {}
        self._made = self._version = 0  # of V, so that nothing made from another one is taken for its own
        self._order: Reordered | None = None
        self._last: dict[str, tuple[Hashable, Any]] = {}

    def serve(self, train: Interactions, longest_history: int | None) -> None:
        """Refuse to serve other data; begin again for another part of long histories."""
        if train.fingerprint != self.fingerprint:
            raise UsageError("This workspace was made for other interactions: make one with Workspace(train).")
        if train.users != self.users or train.items != self.items:
            raise UsageError(
                "This workspace was made for these interactions in another order: make one with Workspace(train)."
            )
        part = learned_from(train, longest_history)
        if len(part) != self._pairs:
            self._begin(part)

    def vectors(self, rank: int, norms: Norms, offered: Array | None = None) -> Array:
        """V of a rank: the first columns of one that is kept, the one offered by a warm start, or a new one."""
        kept = self._V.pop(norms, None)
        if kept is None or kept.rank < rank:
            while len(self._V) >= self._kept_V:
                del self._V[next(iter(self._V))]  # the one that was used longest ago
            self._made += 1
            if offered is None:
                width = max(rank, self._least)
                kept = _V(width, singular_vectors(self.X, width, norms), self._made)
            else:
                kept = _V(rank, offered, self._made)
        self._V[norms], self._version = kept, kept.version
        return kept.array[:, :rank]

    def reordered(self, V: Array) -> Reordered:
        """The data in an order in which H is learned fast; any is good, so the first stays."""
        if self._order is None:
            alone = self._least > 0 and not Reordered.is_needless(self.X)
            self._order = Reordered.of(self.X, singular_vectors(self.X, *PLAIN) if alone else V)
        return self._order

    def pairs(self, work: InMemory, max_per_item: int | None) -> Candidates:
        """The candidates with their Gram matrices; `work` has the data in their order here."""
        key = work.weights.user_balance, work.weights.user_norm, max_per_item
        return self._kept("pairs", key, lambda: work.co_occurring(max_per_item))

    def cross(self, work: InMemory, max_per_item: int | None) -> Values:
        """The cross term on these pairs; V is the last one given out."""
        pairs, weights = self.pairs(work, max_per_item), work.weights
        of_pairs = weights.user_balance, weights.user_norm, max_per_item
        key = self._version, work.V.shape[1], work.clip, weights.filter_norm, of_pairs
        return self._kept("cross", key, lambda: work.cross_term(pairs))

    def _kept(self, name: str, key: Hashable, make: Callable[[], T]) -> T:
        if self._last.get(name, (None, None))[0] != key:
            self._last.pop(name, None)  # before the next is made: both at once may not fit
            self._last[name] = key, make()
        value: T = self._last[name][1]
        return value
