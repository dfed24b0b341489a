"""A model that was measured is fitted again on all data; the measured fit can be repeated.

`corml fit --split` fits on the train set and measures on the test set. Then the same model is fitted on all the data,
and that one is written. The evaluation record of its file has, under "refit", the settings of the measured fit;
`corml evaluate`, `verify` and `report` repeat that fit on the train set before they measure.
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
    """The evaluation record for the file of a refitted model, with the settings of the measured fit."""
    return {**result.record(), "refit": {"settings": dict(measured.fitted_.settings)}}


def refit(measured: Recommender, data: Interactions, show: Progress | None = None) -> Recommender:
    """The same model on all the data; one that stopped early runs as many epochs as it kept."""
    settings, training = dict(measured.fitted_.settings), measured.fitted_.training
    if training is not None and "epochs" in {spec.name for spec in fields(measured)}:
        settings["epochs"] = training.epochs if training.best_epoch is None else training.best_epoch
    return models.make(measured.NAME, settings).fit(data, progress=show)


def is_refitted(state: Fitted) -> bool:
    """Whether the figures of a file belong to another fit of the same model, on the train set alone."""
    return isinstance(state.evaluation.get("refit"), dict)


def measurable(model: Recommender, split: Split, show: Progress | None = None) -> Recommender:
    """A model that has not seen the held-out pairs of its split: for a refitted one, the fit that was measured.

    The targets may be others than recorded: the train set is the same. On another split the model itself is measured,
    and a warning of leakage says what that means.
    """
    recorded = model.fitted_.evaluation
    targets = recorded.get("procedure", {}).get("targets", ())
    same = recorded.get("split") == split.fingerprint_with(map(str, targets) if isinstance(targets, list) else ())
    return fit_measured_again(model, split, show) if is_refitted(model.fitted_) and same else model


def fit_measured_again(model: Recommender, split: Split, show: Progress | None = None) -> Recommender:
    """Repeat the fit whose figures a refitted file has."""
    settings = model.fitted_.evaluation["refit"].get("settings")
    if not isinstance(settings, dict):
        raise ModelFileError("The model file does not say with which settings it was measured: fit again.")
    tell("note: the model was fitted on all data after it was measured; the measured fit on the train set is repeated")
    again = models.make(model.NAME, settings)
    return again.fit(split.train, progress=show, **early_stopping(again, split))
