"""What a new fit can take over from an earlier one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import UsageError
from corml.interactions import Ids, Interactions
from corml.method.spectral import Norms

if TYPE_CHECKING:
    from corml.method.estimator import CoRML

__all__ = ["Start"]


@dataclass(frozen=True)
class Start:
    """An earlier H on the items of the new data, and V where the data are the same."""

    H: csr_array
    V: NDArray[Any] | None
    norms: Norms

    @classmethod
    def of(cls, earlier: "CoRML", train: Interactions) -> "Start":
        """Take over from a fitted model; items it does not know begin at nothing."""
        if not hasattr(earlier, "H_"):
            raise UsageError("start must be a fitted CoRML: fit it first, or leave it out.")
        same = earlier.data_.get("fingerprint") == train.fingerprint and earlier.items_ == train.items
        H = _moved(earlier.H_, earlier.items_, train.items)
        return cls(H, earlier.V_ if same else None, earlier.graph_norms)

    def vectors(self, rank: int, norms: Norms) -> NDArray[Any] | None:
        """V of the rank wanted, if there are that many (they are nested: the first are the largest)."""
        if self.V is None or self.norms != norms or self.V.shape[1] < rank:
            return None
        return self.V[:, :rank]


def _moved(H: csr_array, old: Ids, new: Ids) -> csr_array:
    """H with its rows and columns where the new ids have them."""
    place = new.find(old.labels)
    rows = place[np.repeat(np.arange(len(old)), np.diff(H.indptr))]
    columns = place[H.indices]
    known = (rows >= 0) & (columns >= 0)
    made = csr_array((H.data[known], (rows[known], columns[known])), shape=(len(new), len(new)))
    made.sort_indices()
    return made
