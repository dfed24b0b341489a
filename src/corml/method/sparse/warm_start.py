"""What a new fit can take over from an earlier one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import UsageError
from corml.fitted import Fitted, on_items
from corml.interactions import Interactions
from corml.method.spectral import Norms, unshaped
from corml.settings import values_of

if TYPE_CHECKING:
    from corml.recommender import Recommender

__all__ = ["WarmStart"]


@dataclass(frozen=True)
class WarmStart:
    """An earlier H on the items of the new data, and V where the data are the same."""

    H: csr_array
    V: NDArray[Any] | None
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

    def vectors(self, rank: int, norms: Norms) -> NDArray[Any] | None:
        """V of a rank, if there are that many (they are nested: the first are the largest)."""
        if self.V is None or self.norms != norms or self.V.shape[1] < rank:
            return None
        return self.V[:, :rank]
