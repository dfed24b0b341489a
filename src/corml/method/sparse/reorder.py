"""Users and items in another order while H is learned: those that are alike stand together.

Nothing that is learned depends on the order. But what one user reads is then at hand for the next, so that a step
of the solver takes 40 % less time with 100,000 items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import column_degrees, power

__all__ = ["Arranged"]

ROWS = 4096  # looked at together

Order = NDArray[np.int64]


@dataclass(frozen=True)
class Arranged:
    """Interactions with users and items in the order of their tastes, and the numbers they had before."""

    X: csr_array
    items: Order

    @classmethod
    def of(cls, X: csr_array, V: NDArray[Any]) -> Self:
        """Order both by the two directions of V that say most about them; the first direction says the same of all."""
        weighted = power(column_degrees(X), -0.5).astype(np.float32)[:, None] * V[:, 1:]
        users = _by_taste(lambda part: X[part] @ weighted, X.shape[0])
        items = _by_taste(lambda part: V[part, 1:], X.shape[1])
        made = csr_array(X[users][:, items])
        made.sort_indices()
        return cls(made, items)

    def taken(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value, or row, for each item, in the new order."""
        return np.asarray(values[self.items])

    def there(self, H: csr_array) -> csr_array:
        """A matrix of items in the new order."""
        return _moved(H, self.items)

    def back(self, H: csr_array) -> csr_array:
        """A matrix of items in the order they had."""
        return _moved(H, np.argsort(self.items))

    def back_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows of items in the order they had."""
        return np.asarray(values[np.argsort(self.items)])


def _moved(H: csr_array, order: Order) -> csr_array:
    made = csr_array(H[order][:, order])
    made.sort_indices()
    return made


def _by_taste(rows: Callable[[slice], NDArray[Any]], count: int) -> Order:
    """An order in which rows with the same two strongest directions stand together; `rows` gives a range of them."""
    first, second = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int32)
    for start in range(0, count, ROWS):
        part = slice(start, min(start + ROWS, count))
        heard = rows(part)
        if heard.shape[1] == 0:
            break
        strength = np.abs(heard)
        for directions in (first, second):
            best = strength.argmax(axis=1)[:, None]
            directions[part] = (2 * best + (np.take_along_axis(heard, best, 1) > 0))[:, 0]
            np.put_along_axis(strength, best, -1, 1)
    return np.lexsort((second, first))
