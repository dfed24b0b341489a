"""A model that was measured learns once more, from everything; what was measured can be measured again.

`corml fit --split` learns from the train part and is measured on the test part. Then the same model learns from all the
data, and that one is written. The record of the file has, under "refit", the settings of the fit that was measured;
`corml evaluate`, `verify` and `report` repeat that fit on the train part before they measure.
"""

from dataclasses import fields
from typing import Any

from corml import models
from corml._runtime.progress import Progress
from corml.cli._console import tell
from corml.data.interactions import Interactions
from corml.errors import ModelFileError
from corml.evaluation import Result
from corml.evaluation.task import early_stopping
from corml.models.fitted import Fitted
from corml.models.recommender import Recommender
from corml.splits import Split


def record_with_settings(result: Result, measured: Recommender) -> dict[str, Any]:
    """The record of a result for the file of a refitted model: with what it takes to repeat the fit it is about."""
    return {**result.record(), "refit": {"settings": dict(measured.fitted_.settings)}}


def refit(measured: Recommender, data: Interactions, show: Progress | None = None) -> Recommender:
    """The same model on all the data; one that stopped early has nothing to stop by now, and runs as many epochs."""
    settings, training = dict(measured.fitted_.settings), measured.fitted_.training
    if training is not None and "epochs" in {spec.name for spec in fields(measured)}:
        settings["epochs"] = training.epochs if training.best_epoch is None else training.best_epoch
    return models.make(measured.NAME, settings).fit(data, progress=show)


def is_refitted(state: Fitted) -> bool:
    """Whether the figures of a file are those of another fit of the same model, on the train part alone."""
    return isinstance(state.evaluation.get("refit"), dict)


def measurable(model: Recommender, split: Split, show: Progress | None = None) -> Recommender:
    """A model that does not know the held-out pairs of its split: of a refitted one, the fit that was measured.

    On another split the model itself is measured, and the warning of leakage says what that is worth.
    """
    same = model.fitted_.evaluation.get("split") == split.fingerprint
    return fit_measured_again(model, split, show) if is_refitted(model.fitted_) and same else model


def fit_measured_again(model: Recommender, split: Split, show: Progress | None = None) -> Recommender:
    """Repeat the fit that a refitted file has the figures of."""
    settings = model.fitted_.evaluation["refit"].get("settings")
    if not isinstance(settings, dict):
        raise ModelFileError("The model file does not say with which settings it was measured: fit again.")
    tell("note: the file learned from all the data after it was measured; the measured fit, on train, is repeated")
    again = models.make(model.NAME, settings)
    return again.fit(split.train, progress=show, **early_stopping(again, split))
