"""What the linear item-item models share: one matrix W of items × items, and scores X W."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack, issparse

from corml._runtime.parallel import each
from corml.errors import ModelFileError
from corml.linalg.products import add_dense_product, add_sparse_product
from corml.linalg.sparse import Values, Vector
from corml.models.fitted import Outcome, Plan, learned
from corml.models.new_items import as_own_neighbour, padded
from corml.models.recommender import FitCall, Recommender
from corml.recommend.score import band_of

BAND = 256  # columns compared at a time


@dataclass(frozen=True, kw_only=True)
class RidgePlan(Plan):
    """The ridge of a regression, as given or from the data."""

    l2: float


@dataclass(kw_only=True, eq=False)
class ItemItem(Recommender):
    """Scores are sums over the history: y = x W, with W of items × items, hollow, dense or sparse.

    A row of W is what one item of a history adds to the scores of all others. The score of a user needs nothing but
    the history, so new (fold-in) users are treated like training users, and contributions can be read off W.
    """

    CITATION: ClassVar[str]

    weights_: ClassVar[Any] = learned(object, "items", "items")  # a csr_array or a C-ordered array, single precision

    link_: ClassVar[Any] = learned(csr_array, "items", "items", optional=True)  # of new items

    @abstractmethod
    def _fit(self, call: FitCall) -> Outcome:
        """Learn W, with zeros on the diagonal."""

    def _check_state(self) -> None:
        """Refuse a W with which items would recommend themselves."""
        if self.weights_.diagonal().any():
            raise ModelFileError("its weights are not zero on the diagonal")

    def _linked(self, link: csr_array, lift: float) -> dict[str, Any]:
        """A new item gets what the items it is like get in the mean, and gives what they give."""
        new = np.flatnonzero(np.diff(link.indptr))
        A, W = link[new], padded(self.weights_, *link.shape)
        gets, gives = lift * (as_own_neighbour(W) @ A.T), A @ W
        if not issparse(W):
            W[:, new], W[new] = gets, gives
            return {"weights": np.ascontiguousarray(W)}
        spread = csr_array(
            (np.ones(len(new), np.float32), (new, np.arange(len(new)))), shape=(len(W.indptr) - 1, len(new))
        )
        both = csr_array(W + gets @ spread.T + spread @ gives)
        both.sort_indices()
        return {"weights": both}

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """Bands of whole rows: each item of a history adds one row of W."""
        return band_of(*X.shape)

    def score_block(self, users: csr_array, columns: slice) -> Values:
        """Scores of histories for a range of items."""
        out = np.zeros((users.shape[0], columns.stop - columns.start), dtype=np.float32)
        whole = out.shape[1] == self.weights_.shape[1]
        W = self.weights_ if whole else self.weights_[:, columns]
        (add_sparse_product if issparse(W) else add_dense_product)(users, W, out)
        return out

    def _contributions(self, history: NDArray[np.int64], target: int) -> dict[str, Vector]:
        """The weight of each history item for the target."""
        W = self.weights_
        column = W[:, [target]].toarray()[:, 0] if issparse(W) else W[:, target]
        return {"weight": column[history].astype(np.float64)}


def ridge(given: float | None, X: csr_array, times: float) -> float:
    """The ridge of a regression as given, or in proportion to the noise of XᵀX."""
    return times * chance(X) if given is None else float(given)


def chance(X: csr_array) -> float:
    """Standard deviation of the number of users two independent items share: the noise a ridge has to hold back.

    Two independent items with d users each share d²/users of them, give or take d/√users. Here d is the mean over
    interactions, so that an item counts as often as it has users. With weights, d is their sum of squares.
    """
    d = np.bincount(X.indices, weights=X.data.astype(np.float64) ** 2, minlength=X.shape[1])
    return float((d @ d) / max(d.sum(), 1.0) / np.sqrt(max(X.shape[0], 1)))


def largest_of_columns(W: Values, count: int) -> csr_array:
    """The `count` entries of each column that are largest in size, as a sparse matrix; W is only read."""
    height, width = W.shape
    kept = min(count, height)

    def band(number: int) -> csc_array:
        part = W[:, number * BAND : (number + 1) * BAND].T.copy()
        rows = np.sort(np.argpartition(-np.abs(part), kept - 1, axis=1)[:, :kept], axis=1)
        ends = np.arange(len(part) + 1) * kept
        values = np.take_along_axis(part, rows, axis=1)
        return csc_array((values.ravel(), rows.ravel().astype(np.int32), ends), shape=(height, len(part)))

    sparse = csr_array(hstack(list(each(band, -(-width // BAND))), format="csr"))
    sparse.eliminate_zeros()
    sparse.sort_indices()
    return sparse
