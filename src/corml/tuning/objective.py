"""One trial: fit on each part, score what was held out; what settings do not change is made once."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from corml import memory
from corml.evaluation import evaluate
from corml.evaluation.early_stopping import early_stopping
from corml.fitted import Epoch
from corml.neural.gradient_model import GradientModel
from corml.recommender import Recommender
from corml.settings import build
from corml.splits import Split
from corml.tuning.space import Space

__all__ = ["Objective"]

ROOM = 2 * memory.GIB  # free memory below which parts no longer keep what their fits share

AfterEpoch = Callable[[Epoch], None]


class Objective:
    """The mean score over the parts, of a model with some settings."""

    def __init__(self, model: type[Recommender], parts: tuple[Split, ...], metric: str, space: Space) -> None:
        self.model, self.parts, self.metric, self.space = model, parts, metric, space
        self._shared: dict[int, dict[str, Any]] = {}

    def __call__(self, settings: Mapping[str, Any], after_epoch: AfterEpoch) -> tuple[float, Recommender]:
        """The score, and the model fitted on the first part; `after_epoch` hears of the epochs there."""
        scores: list[float] = []
        first: Recommender | None = None
        for at, part in enumerate(self.parts):
            model: Recommender = build(self.model, settings)
            how = {**self._sharing(at), **_training(model, part, after_epoch if at == 0 else None)}
            model.fit(part.train, **how)
            result = evaluate(model, part, self.metric, part="valid", intervals=False)
            scores.append(result[self.metric])
            first = first or model
        assert first is not None
        return float(np.mean(scores)), first

    def _sharing(self, at: int) -> dict[str, Any]:
        if at not in self._shared:
            if self._shared and memory.budget() < ROOM:
                self._shared.clear()
                memory.release()
            self._shared[at] = self.model.shared_by_fits(self.parts[at].train, self.space)
        return self._shared[at]


def _training(model: Recommender, part: Split, after_epoch: AfterEpoch | None) -> dict[str, Any]:
    """For a model that learns in epochs: the pairs it stops early by, and who hears of an epoch."""
    if not isinstance(model, GradientModel):
        return {}
    return {**early_stopping(model, part), **({} if after_epoch is None else {"after_epoch": after_epoch})}
