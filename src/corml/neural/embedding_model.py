"""Models that give every user and every item a vector: scores are products, or distances."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import requests
from corml.errors import UsageError
from corml.interactions import labels_of
from corml.neural.gradient_model import Stepwise
from corml.neural.sampling import suggested_batch
from corml.recommendations import Recommendations
from corml.settings import above, log, setting
from corml.topn import band_of, top_k

__all__ = ["Embedded"]

Vectors = NDArray[np.float32]


@dataclass(kw_only=True, eq=False)
class Embedded(Stepwise):
    """A vector for each user and item; with DISTANCE the score is minus their squared distance."""

    STATE: ClassVar[Mapping[str, tuple[str | None, ...]]] = {"user": ("users", None), "item": ("items", None)}
    DISTANCE: ClassVar[bool] = False

    start: float = setting(
        0.01, above(0, 100), search=log(1e-3, 0.2), help="standard deviation of the numbers in the first vectors"
    )

    user_: Vectors = field(init=False, repr=False)
    item_: Vectors = field(init=False, repr=False)

    def represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Vectors:
        """Vectors of known users; of others what their history gives, where the model can tell."""
        known = np.zeros(X.shape[0], dtype=bool) if users is None else self._learned_from(users)
        told = ~known & (np.diff(X.indptr) > 0)  # whoever has no history gets what is popular, by any model
        people = np.zeros((X.shape[0], (self.user_ if known.any() else self.item_).shape[1]), dtype=np.float32)
        if told.any():
            people[told] = self._fold_in(X[told])
        if users is not None:
            people[known] = self.user_[users[known]]
        return people

    def _sizes(self, X: csr_array) -> tuple[int, int]:
        batch = self.batch or suggested_batch(X.nnz)
        return sum(X.shape) * self.size, 24 * batch * self.size  # vectors of pairs, and their gradients

    def _learned_from(self, users: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which users have a vector that means something: those with a pair in the training data."""
        starts = self.train_.indptr
        return np.asarray((users >= 0) & (starts[users + 1] > starts[users]))

    def _fold_in(self, X: csr_array) -> Vectors:
        """Vectors of people from their histories alone."""
        raise UsageError(
            f"{type(self).__name__} has a vector for each user it learned from and none for others: ask for known "
            "users, or take a model that scores histories, such as corml, ease or recvae."
        )

    @property
    def folds_in(self) -> bool:
        """Whether the model can tell a vector from a history."""
        return type(self)._fold_in is not Embedded._fold_in

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        """Whole rows."""
        return band_of(*X.shape)

    def score_block(self, people: Any, columns: slice) -> Vectors:
        """Products of vectors, or minus squared distances."""
        return _scores(people, self.item_[columns], distance=self.DISTANCE)

    def similar(self, items: Any, k: int = 10) -> Recommendations:
        """Items whose vectors are most alike: nearest in distance, or in angle where scores are products."""
        wanted = labels_of(items, "similar")
        self.items.rows(wanted)
        asked = requests.histories(self.items, [[item] for item in wanted])
        requests.check_k(k)
        limits = requests.limits(self.items, asked, None, None)
        found = requests.answer(self, asked, limits, *top_k(_Near(self), asked.matrix, k, seen=limits.seen))
        return requests.relabelled(found, wanted)


class _Near:
    """Ranks items by how near they are to one item."""

    def __init__(self, model: Embedded) -> None:
        length = 1.0 if model.DISTANCE else np.maximum(np.linalg.norm(model.item_, axis=1, keepdims=True), 1e-12)
        self.item, self.distance = (model.item_ / length).astype(np.float32), model.DISTANCE

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        return band_of(*X.shape)

    def represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Vectors:
        return np.asarray(self.item[X.indices])  # a history of one item each

    def score_block(self, people: Vectors, columns: slice) -> Vectors:
        return _scores(people, self.item[columns], distance=self.distance)


def _scores(left: Vectors, right: Vectors, *, distance: bool) -> Vectors:
    found = left @ right.T
    if distance:  # −‖l − r‖² = 2 l·r − ‖l‖² − ‖r‖²
        found *= 2
        found -= np.einsum("ij,ij->i", left, left)[:, None]
        found -= np.einsum("ij,ij->i", right, right)
    return found
