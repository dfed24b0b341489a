"""Popularity: what most people met, the same for everyone. The floor every model must beat."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import ModelFileError
from corml.linalg.scaling import column_degrees
from corml.recommender import Recommender

__all__ = ["Popularity"]


@dataclass(kw_only=True, eq=False)
class Popularity(Recommender):
    """Score every item by how many users met it. No settings, no personal part, nothing to cite."""

    NAME: ClassVar[str] = "popularity"
    STATE: ClassVar[Mapping[str, tuple[str | None, ...]]] = {"degrees": ("items",)}

    def _fit(self, X: csr_array) -> None:
        self.degrees_ = (column_degrees(X) * (np.bincount(X.indices, minlength=X.shape[1]) > 0)).astype(np.float32)

    def check_state(self) -> None:
        """Refuse degrees that are not those of the data."""
        if not np.array_equal(self.degrees_, self.counts_.astype(np.float32)):
            raise ModelFileError("its degrees are not those of its data")

    def score_block(self, people: csr_array, columns: slice) -> NDArray[np.float32]:
        """The same row for every history."""
        row = self.degrees_[columns]
        return np.broadcast_to(row, (people.shape[0], len(row)))
