"""Leakage: a model that is evaluated on pairs it was fitted on. Such figures flatter it, so a warning says so."""

import warnings
from typing import TYPE_CHECKING

from corml.errors import LeakageWarning
from corml.splits import Split

if TYPE_CHECKING:
    from corml.recommender import Recommender

__all__ = ["leakage", "warn_of_leakage"]


def leakage(model: "Recommender", split: Split, part: str) -> str | None:
    """What the model may have seen of the held-out pairs of a part, in one sentence; None where it saw nothing."""
    if split.train.fingerprint == model.fitted_.fingerprint:
        return None
    if not len(model.users_):  # saved without its users: their pairs cannot be looked up
        return "the model was not fitted on the train part of this split: it may have learned the held-out pairs"
    held_out = split.part(part)[2]
    seen = held_out.on(model.fitted_.users, model.items_).matrix.multiply(model.train_).nnz
    if not seen:
        return None
    return (
        f"the model learned from {seen:,} of the {len(held_out):,} held-out {part} pairs, so the figures flatter it: "
        "fit it on the train part of the split it is evaluated on"
    )


def warn_of_leakage(model: "Recommender", split: Split, part: str) -> None:
    """Warn the caller of `evaluate`."""
    fault = leakage(model, split, part)
    if fault:
        warnings.warn(fault, LeakageWarning, stacklevel=3)
