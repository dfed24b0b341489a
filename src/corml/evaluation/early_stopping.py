"""Which held-out pairs a model that learns in epochs stops early by: the valid part, if it can score its users."""

from typing import TYPE_CHECKING

from corml.data.interactions import Interactions
from corml.models.neural.training.gradient_model import GradientModel
from corml.splits import Split

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["early_stopping"]


def early_stopping(model: "Recommender", split: Split) -> dict[str, Interactions]:
    """What to give to `fit` besides the train part; nothing where no user of the valid part can be scored."""
    history = split.valid_history if isinstance(model, GradientModel) and model._folds_in else None
    known = split.train if history is None else history
    if not (known.user_degrees[split.valid.user] > 0).any():
        return {}
    return {"valid": split.valid} | ({} if history is None else {"valid_history": history})
