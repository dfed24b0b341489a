"""One trial: fit on each part, score what was held out; what settings do not change is made once."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corml._runtime import memory
from corml._runtime.settings import build
from corml.evaluation import evaluate
from corml.evaluation.resampling import Bootstrap, intervals
from corml.evaluation.task import early_stopping
from corml.experiments.tuning.space import Space
from corml.models.fitted import Epoch
from corml.models.neural.training.gradient_model import GradientModel
from corml.models.recommender import Recommender
from corml.splits import Split

__all__ = ["Objective", "Scored"]

ROOM = 2 * memory.GIB  # free memory below which parts no longer keep what their fits share

AfterEpoch = Callable[[Epoch], None]


class Scored(NamedTuple):
    """The mean score over the parts, the model fitted on the first, and values of users if the metric has them."""

    score: float
    model: Recommender
    values: NDArray[np.float64] | None


class Objective:
    """The mean score over the parts, of a model with some settings."""

    def __init__(self, model: type[Recommender], parts: tuple[Split, ...], metric: str, space: Space) -> None:
        self.model, self.parts, self.metric, self.space = model, parts, metric, space
        self._shared: dict[int, dict[str, Any]] = {}
        self.defaults: NDArray[np.float64] | None = None  # values of users with the default settings, once known

    def __call__(self, settings: Mapping[str, Any], after_epoch: AfterEpoch | None = None) -> Scored:
        """The score of some settings; `after_epoch` hears of the epochs on the first part."""
        scores: list[float] = []
        values: list[NDArray[np.float64]] = []
        first: Recommender | None = None
        for at, part in enumerate(self.parts):
            model: Recommender = build(self.model, settings)
            how = {**self._sharing(at), **_training(model, part, after_epoch if at == 0 else None)}
            model.fit(part.train, **how)
            result = evaluate(model, part, self.metric, part="valid", intervals=False)
            scores.append(result[self.metric])
            values += [result.per_user[self.metric]] if self.metric in result.per_user else []
            first = first or model
        assert first is not None
        return Scored(float(np.mean(scores)), first, np.concatenate(values) if values else None)

    def gain(self, scored: Scored, defaults: Mapping[str, Any]) -> tuple[float, float] | None:
        """Interval over users of the paired difference to the defaults; none if the metric has no values of users.

        A search that was continued scores the defaults once more.
        """
        if scored.values is None:
            return None
        if self.defaults is None:
            self.defaults = self(defaults).values
        assert self.defaults is not None
        return intervals({0: scored.values - self.defaults}, Bootstrap())[0]

    def _sharing(self, at: int) -> dict[str, Any]:
        if at not in self._shared:
            if self._shared and memory.budget() < ROOM:
                self._shared.clear()
                memory.release()
            self._shared[at] = self.model._shared_by_fits(self.parts[at].train, self.space)
        return self._shared[at]


def _training(model: Recommender, part: Split, after_epoch: AfterEpoch | None) -> dict[str, Any]:
    """For a model that learns in epochs: the pairs it stops early by, and who hears of an epoch."""
    if not isinstance(model, GradientModel):
        return {}
    return {**early_stopping(model, part), **({} if after_epoch is None else {"after_epoch": after_epoch})}
