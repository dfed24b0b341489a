"""Leakage: a warning for a model that is evaluated on pairs it was fitted on, which makes its figures optimistic."""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from corml.data.interactions import Interactions
from corml.errors import LeakageWarning
from corml.linalg.sparse import filled, rows_or_none
from corml.splits import Split, StoreSplit

if TYPE_CHECKING:
    from corml.models.recommender import Recommender


def leakage(model: "Recommender", split: Split | StoreSplit, part: str) -> str | None:
    """How many held-out pairs of a part the model learned from, in a sentence; None if none."""
    if _fitted_on_train(model, split):
        return None
    if not len(model.users_):  # saved without its users: their pairs cannot be looked up
        return "the model was not fitted on the train part of this split: it may have learned the held-out pairs"
    seen = held_out = 0
    for piece in [split] if isinstance(split, Split) else split.pieces():
        targets = piece.part(part)[2]
        seen, held_out = seen + _learned(model, targets), held_out + len(targets)
    if not seen:
        return None
    return (
        f"the model learned from {seen:,} of the {held_out:,} held-out {part} pairs, so the figures flatter it: "
        "fit it on the train part of the split it is evaluated on"
    )


def _fitted_on_train(model: "Recommender", split: Split | StoreSplit) -> bool:
    if isinstance(split, Split):
        return split.train.fingerprint == model.fitted_.fingerprint
    return model.fitted_.source.get("store") == split.train.fingerprint


def _learned(model: "Recommender", targets: Interactions) -> int:
    """How many of these pairs the model was fitted on."""
    rows = model.fitted_.users.find(targets.users)
    learned = rows_or_none(model.train_, rows)
    there = targets.on(targets.users, model.items_)
    return int(np.count_nonzero(filled(learned, there.user, there.item)))


def warn_of_leakage(model: "Recommender", split: Split | StoreSplit, part: str) -> None:
    """Warn the caller of `evaluate`."""
    fault = leakage(model, split, part)
    if fault:
        warnings.warn(fault, LeakageWarning, stacklevel=3)
