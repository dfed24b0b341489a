"""What several fits of the same data share, so that trying other settings costs little more than the solver."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import UsageError
from corml.interactions import Interactions
from corml.linalg.scaling import column_degrees
from corml.method.problem import Weights, loss_weights, user_weights
from corml.method.sparse.candidates import Candidates, co_occurring
from corml.method.sparse.cross_term import cross_term
from corml.method.sparse.reorder import Arranged
from corml.method.spectral import Norms, singular_vectors

__all__ = ["Workspace", "explained_on", "pairs_of"]

T = TypeVar("T")


class Workspace:
    """V, the candidates with their Gram matrix, and the cross term of one set of interactions; the last of each.

    Give it to every fit: `work = Workspace(train)`, then `CoRML(mix=0.7).fit(train, workspace=work)`. V is made again
    for a higher `rank` and another `graph_user_norm` or `graph_item_norm`; pairs for another `candidates`,
    `user_balance` or `user_norm`; the cross term for any of these and for another `rank`, `filter` or `filter_norm`.
    Other settings change none of them.
    """

    def __init__(self, train: Interactions) -> None:
        self.fingerprint, self.X = train.fingerprint, train.matrix
        self._V: tuple[int, Norms, NDArray[Any]] | None = None  # with the rank asked for: there may be fewer directions
        self._place: Arranged | None = None
        self._kept: dict[str, tuple[Hashable, Any]] = {}

    def check_is_of(self, train: Interactions) -> None:
        """Refuse to serve other data."""
        if train.fingerprint != self.fingerprint:
            raise UsageError("This workspace was made for other interactions: make one with Workspace(train).")

    def vectors(self, rank: int, norms: Norms) -> NDArray[Any]:
        """V of a rank; a larger one kept from before is cut, for singular vectors are nested."""
        if self._V is None or self._V[0] < rank or self._V[1] != norms:
            self._V = rank, norms, singular_vectors(self.X, rank, norms)
        return self._V[2][:, :rank]

    def arranged(self, V: NDArray[Any]) -> Arranged:
        """The data in an order in which H is learned fast; any is good, so the first stays."""
        if self._place is None:
            self._place = Arranged.of(self.X, V)
        return self._place

    def pairs(self, weights: Weights, most: int | None) -> Candidates:
        """The candidates with their Gram matrices."""
        key = weights.user_balance, weights.user_norm, most
        return self._last("pairs", key, lambda: pairs_of(self._arranged_data, weights, most))

    def explained(self, V: NDArray[Any], filter: str, weights: Weights, most: int | None) -> Any:
        """What the filter explains of each of these pairs; V is the last one made."""
        pairs, clip = self.pairs(weights, most), filter != "factored"
        key = (
            V.shape[1],
            None if self._V is None else self._V[1],
            clip,
            weights.filter_norm,
            weights.user_balance,
            weights.user_norm,
            most,
            weights.filter_weight > 0,
        )
        return self._last("explained", key, lambda: explained_on(pairs, self._arranged_data, V, filter, weights))

    @property
    def _arranged_data(self) -> csr_array:
        assert self._place
        return self._place.X

    def _last(self, name: str, key: Hashable, make: Callable[[], T]) -> T:
        if self._kept.get(name, (None, None))[0] != key:
            self._kept.pop(name, None)  # before the next is made: both at once may not fit
            self._kept[name] = key, make()
        found: T = self._kept[name][1]
        return found


def pairs_of(X: csr_array, weights: Weights, most: int | None) -> Candidates:
    """The candidates for these weights."""
    return co_occurring(X, loss_weights(X, weights.user_balance), user_weights(X, weights.user_norm), most=most)


def explained_on(
    pairs: Candidates, X: csr_array, V: NDArray[Any], filter: str, weights: Weights
) -> NDArray[np.float32] | None:
    """The cross term on some pairs; nothing where the filter does not count."""
    if weights.filter_weight == 0:
        return None
    by_user = loss_weights(X, weights.user_balance) * user_weights(X, weights.user_norm)
    return cross_term(X, column_degrees(X), V, by_user, weights.filter_norm, pairs, clip=filter != "factored")
