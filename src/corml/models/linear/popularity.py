"""Popularity: the items with most users, the same for everyone. The floor every model must beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.settings import described
from corml.errors import ModelFileError
from corml.linalg.sparse import Values
from corml.models.fitted import Outcome, learned
from corml.models.recommender import FitCall, Recommender

__all__ = ["Popularity"]


@described
@dataclass(kw_only=True, eq=False)
class Popularity(Recommender):
    """Score every item by its number of users. No settings, no personal part, nothing to cite."""

    NAME: ClassVar[str] = "popularity"

    degrees_ = learned(np.ndarray, "items")

    def _fit(self, call: FitCall) -> Outcome:
        return Outcome(arrays={"degrees": call.fitted.counts.astype(np.float32)})

    def _check_state(self) -> None:
        """Refuse degrees that are not those of the data."""
        if not np.array_equal(self.degrees_, self.counts_.astype(np.float32)):
            raise ModelFileError("its degrees are not those of its data")

    def score_block(self, users: csr_array, columns: slice) -> Values:
        """The same row for every history."""
        row = self.degrees_[columns]
        return np.broadcast_to(row, (users.shape[0], len(row)))
