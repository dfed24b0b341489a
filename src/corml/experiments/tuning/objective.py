"""One trial: fit, and score what was held out; what the hyperparameters do not change is computed once.

The test set of a split is never opened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from corml import splits
from corml._runtime import memory
from corml._runtime.settings import build
from corml.data.interactions import Interactions
from corml.errors import DataError, UsageError
from corml.evaluation import evaluate
from corml.evaluation.resampling import Bootstrap, intervals
from corml.evaluation.task import early_stopping
from corml.experiments.tuning.space import Space
from corml.models.fitted import Epoch
from corml.models.neural.training.gradient_model import GradientModel
from corml.models.recommender import Recommender
from corml.splits import Split

HELD_OUT = 0.2  # of each user's items, where there is no validation set
SEED = 2026  # of what is held out: the same for every search, so that searches can be compared
ROOM = 2 * memory.GIB  # free memory below which folds no longer keep what their fits share

AfterEpoch: TypeAlias = Callable[[Epoch], None]


@dataclass(frozen=True)
class Validation:
    """Splits without a test set, what identifies their data, and a phrase for messages."""

    splits: tuple[Split, ...]
    fingerprint: str
    phrase: str


def validation_of(data: Interactions | Split, folds: int | None = None) -> Validation:
    """What to fit and to score on: the train and validation set of a split, or pairs held out of interactions.

    With `folds`, every pair is held out once: for interactions all, for a split those of train and validation set.
    """
    if not isinstance(data, Interactions | Split):
        raise UsageError(f"tune takes Interactions or a Split, not {type(data).__name__}: use corml.load(…).")
    if folds is not None:
        if isinstance(data, Split) and data.targets:
            raise UsageError(
                "Folds count all held-out pairs as targets: tune on the validation set, or leave targets out."
            )
        pairs = data if isinstance(data, Interactions) else _without_test(data)
        made = tuple(Split(train=fold.train, valid=fold.test) for fold in splits.folds(pairs, folds, seed=SEED))
        return Validation(made, f"{folds} folds of {pairs.fingerprint}", f"{len(made)}-fold cross-validation")
    if isinstance(data, Interactions):
        split = splits.split(data, "ratio", shares=(1 - HELD_OUT, HELD_OUT, 0.0), seed=SEED)
        phrase = f"{HELD_OUT:.0%} of each user's items, held out"
        return Validation((Split(train=split.train, valid=split.valid),), f"held out of {data.fingerprint}", phrase)
    if not len(data.valid):
        raise DataError("The split has no validation set to tune on: give it a share of valid, or tune with folds.")
    history = data.valid_history
    more = "" if history is None else f", history {history.fingerprint}"
    more += f", targets {', '.join(data.targets)}" if data.targets else ""
    split = Split(train=data.train, valid=data.valid, valid_history=history, procedure=data.procedure)
    fingerprint = f"train {data.train.fingerprint}, valid {data.valid.fingerprint}{more}"
    return Validation((split,), fingerprint, "the validation set")


def _without_test(split: Split) -> Interactions:
    """The pairs of train and validation set: as many as a model may see, so that folds are as dense as later fits."""
    if split.valid_history is not None:
        raise UsageError("Folds divide the items of each user, and this split divides users: tune without folds.")
    train, valid = split.train, split.valid
    times = None if train.times is None or valid.times is None else np.concatenate([train.times, valid.times])
    user, item = (np.concatenate([getattr(part, name) for part in (train, valid)]) for name in ("user", "item"))
    unweighted = train.weights is None or valid.weights is None
    weights = None if unweighted else np.concatenate([train.weights, valid.weights])
    return replace(train, user=user, item=item, times=times, weights=weights, kinds=None)


class Scored(NamedTuple):
    """The mean score over the splits, the model fitted on the first, and values of users if the metric has them."""

    score: float
    model: Recommender
    values: NDArray[np.float64] | None


class Objective:
    """The mean score over the splits, of a model with some hyperparameters."""

    def __init__(self, model: type[Recommender], splits: tuple[Split, ...], metric: str, space: Space) -> None:
        self.model, self.splits, self.metric, self.space = model, splits, metric, space
        self._shared: dict[int, dict[str, object]] = {}
        self.defaults: NDArray[np.float64] | None = None  # values of users with the defaults, once they are computed

    def __call__(self, settings: Mapping[str, object], after_epoch: AfterEpoch | None = None) -> Scored:
        """The score of some hyperparameters; `after_epoch` is called after each epoch on the first split."""
        first: Recommender | None = None
        scores: list[float] = []
        values: list[NDArray[np.float64]] = []
        for at, split in enumerate(self.splits):
            model: Recommender = build(self.model, settings)
            options: dict[str, Any] = dict(self._sharing(at))
            if isinstance(model, GradientModel):
                options |= early_stopping(model, split)
                options |= {} if after_epoch is None or at else {"after_epoch": after_epoch}
            model.fit(split.train, **options)
            result = evaluate(model, split, self.metric, part="valid", intervals=False)
            first = first or model
            scores.append(result[self.metric])
            values += [result.per_user[self.metric]] if self.metric in result.per_user else []
        assert first is not None
        return Scored(float(np.mean(scores)), first, np.concatenate(values) if values else None)

    def gain(self, scored: Scored, defaults: Mapping[str, object]) -> tuple[float, float] | None:
        """Interval over users of the paired difference to the defaults; None if the metric has no values of users.

        A search that was resumed scores the defaults once more.
        """
        if scored.values is None:
            return None
        if self.defaults is None:
            self.defaults = self(defaults).values
        assert self.defaults is not None
        return intervals({0: scored.values - self.defaults}, Bootstrap())[0]

    def _sharing(self, at: int) -> dict[str, object]:
        if at not in self._shared:
            if self._shared and memory.budget() < ROOM:
                self._shared.clear()
                memory.release()
            self._shared[at] = self.model._shared_by_fits(self.splits[at].train, self.space)
        return self._shared[at]
