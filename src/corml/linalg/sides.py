"""A users × items matrix in rows of both, as bare arrays: what kernels that go from items to users and back read.

The arrays may be mapped files: nothing here copies them.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.scaling import values_unless_ones
from corml.linalg.support import unsigned

__all__ = ["Rows", "Sides"]


class Rows(NamedTuple):
    """Compressed rows; `values` is None where all entries are one."""

    indptr: NDArray[Any]
    indices: NDArray[Any]  # unsigned
    values: NDArray[np.float32] | None

    @classmethod
    def of(cls, X: csr_array) -> Self:
        """The rows of a matrix."""
        return cls(X.indptr, unsigned(X.indices), values_unless_ones(X))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many entries each row has."""
        return np.diff(self.indptr).astype(np.int64)


class Sides(NamedTuple):
    """Items of each user, and users of each item."""

    users: Rows
    items: Rows

    @classmethod
    def of(cls, X: csr_array) -> Self:
        """Both sides of a matrix in rows of users."""
        return cls(Rows.of(X), Rows.of(X.T.tocsr()))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Both patterns, and both values, as kernels take them: what is None must be an argument of its own."""
        (ptr, items, values), (i_ptr, users, i_values) = self
        return (ptr, items), (i_ptr, users), values, i_values

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and of items."""
        return len(self.users), len(self.items)

    @property
    def nnz(self) -> int:
        """How many pairs there are."""
        return len(self.users.indices)
