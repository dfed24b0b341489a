"""The input of a metric: ranked lists, their hits, and the training users of each item."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import UsageError

if TYPE_CHECKING:
    from corml.linalg.closeness import Closeness

Whole = NDArray[np.integer[Any]]
Values = NDArray[np.float64]

COUNTED = 1 << 16  # lists counted at a time


@dataclass(frozen=True, eq=False)
class Lists:
    """Ranked lists of n users, best first, at most K items each.

    `items` holds item numbers (n × K, −1 where a list is short, never before an item), `hits` whether each is a target
    of the user, `relevant` how many targets each user has. `degrees` says how many training users each item of the
    catalogue has, `n_users` how many training users there are. `train` is the users × items matrix of the training
    interactions, or a function that loads it.
    """

    items: Whole
    hits: NDArray[np.bool_]
    relevant: Whole
    degrees: Whole
    n_users: int
    train: csr_array | Callable[[], csr_array] | None = None
    _shared: dict[str, "Closeness"] = field(default_factory=dict, repr=False)  # by all slices of the lists

    def __post_init__(self) -> None:
        assert self.items.shape == self.hits.shape
        assert self.relevant.shape == self.items.shape[:1]

    def of(self, users: slice) -> Self:
        """The lists of some of the users."""
        return replace(self, items=self.items[users], hits=self.hits[users], relevant=self.relevant[users])

    @property
    def n_items(self) -> int:
        """How many items the catalogue has."""
        return len(self.degrees)

    def counts(self, k: int) -> Whole:
        """How many of the lists have each item of the catalogue among their first k."""
        counts = np.zeros(self.n_items, dtype=np.int64)
        for first in range(0, len(self.items), COUNTED):
            shown = self.items[first : first + COUNTED, :k]
            counts += np.bincount(shown[shown >= 0], minlength=self.n_items)
        return counts

    def average(self, worth: Values, k: int) -> Values:
        """Mean worth (one number per item) of the items actually in each list; 0 for an empty list."""
        shown = self.items[:, :k]
        filled = shown >= 0
        total = np.where(filled, worth[np.maximum(shown, 0)], 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(filled.sum(axis=1), 1), dtype=np.float64)

    def rarity(self) -> Values:
        """−log₂ of the share of users of each item; an item without users counts as if it had one."""
        rare: Values = -np.log2(np.maximum(self.degrees, 1) / max(self.n_users, 1))
        return rare + 0.0  # an item of all users has 0, not −0

    @property
    def closeness(self) -> "Closeness":
        """Cosine of the training users of two items."""
        from corml.linalg.closeness import Closeness  # a kernel that other metrics do without

        if self.train is None:
            raise UsageError("These lists come without training interactions, which tell how close two items are.")
        if "users" not in self._shared:
            self._shared["users"] = Closeness.by_users(self.train() if callable(self.train) else self.train)
        return self._shared["users"]
