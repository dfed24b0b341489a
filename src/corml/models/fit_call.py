"""One call of `fit`, as a model sees it."""

from dataclasses import dataclass

from scipy.sparse import csr_array

from corml._runtime.progress import Progress, silent
from corml.data.interactions import Interactions
from corml.data.strength import of_mean_square_one
from corml.errors import UsageError
from corml.models.fitted import Fitted

__all__ = ["FitCall", "check_is_data"]


@dataclass(frozen=True, kw_only=True)
class FitCall:
    """One call of `fit`: its data and who hears of its progress. Nothing of it outlives the call."""

    train: Interactions
    fitted: Fitted  # the state the model will have, but for what is learned
    valid: Interactions | None = None
    progress: Progress = silent

    @property
    def X(self) -> csr_array:  # noqa: N802 (the paper's letter)
        """The binary users × items matrix."""
        return self.train.matrix

    @property
    def R(self) -> csr_array:  # noqa: N802
        """The users × items matrix with the weights of the interactions, of mean square 1; without weights it is X."""
        return self.X if self.train.weights is None else of_mean_square_one(self.train.weighted)


def check_is_new(given: object) -> None:
    """Refuse what cannot be added to a model."""
    if not isinstance(given, Interactions):
        raise UsageError(
            f"update adds Interactions, not {type(given).__name__}: use corml.load(…, as_update=True), with the "
            "options of the first load."
        )


def check_is_data(given: object, name: str) -> None:
    """Refuse what cannot be learned from."""
    if hasattr(given, "interactions"):
        raise UsageError(
            "fit learns from Interactions in memory: for a store use corml.fit_store(model, store), or pass "
            "store.interactions() if they fit in memory."
        )
    if not isinstance(given, Interactions):
        raise UsageError(
            f"fit learns from Interactions, not {type(given).__name__}: use corml.load(…), "
            f"Interactions.from_pairs(users, items), or the .{name} of a split."
        )
