"""What trials are fitted on and scored on: one held-out part, or the folds of a cross-validation; never a test part."""

from dataclasses import dataclass, replace

import numpy as np

from corml import splits
from corml.data.interactions import Interactions
from corml.errors import DataError, UsageError
from corml.splits import Split

__all__ = ["Parts", "parts_of"]

HELD_OUT = 0.2  # of each user's items, where there is no valid part
SEED = 2026  # of what is held out: the same for every search, so that searches can be compared


@dataclass(frozen=True)
class Parts:
    """Splits without a test part, and what tells these data from others."""

    splits: tuple[Split, ...]
    fingerprint: str
    words: str


def parts_of(data: Interactions | Split, folds: int | None = None) -> Parts:
    """Parts to fit and to score: of a split its train and valid part, of interactions a part held out of them.

    With `folds`, every pair is held out once: of interactions all, of a split those of train and valid.
    """
    if not isinstance(data, Interactions | Split):
        raise UsageError(f"tune takes Interactions or a Split, not {type(data).__name__}: use corml.load(…).")
    if folds is not None:
        if isinstance(data, Split) and data.targets:
            raise UsageError("Folds count all held-out pairs as targets: tune on the valid part, or leave targets out.")
        pairs = data if isinstance(data, Interactions) else _without_test(data)
        parts = tuple(_sealed(fold.train, fold.test) for fold in splits.folds(pairs, folds, seed=SEED))
        return Parts(parts, f"{folds} folds of {pairs.fingerprint}", f"{len(parts)}-fold cross-validation")
    if isinstance(data, Interactions):
        part = splits.split(data, "ratio", shares=(1 - HELD_OUT, HELD_OUT, 0.0), seed=SEED)
        words = f"{HELD_OUT:.0%} of each user's items, held out"
        return Parts((_sealed(part.train, part.valid),), f"held out of {data.fingerprint}", words)
    if not len(data.valid):
        raise DataError("The split has no valid part to tune on: give it a share of valid, or tune with folds.")
    history = data.valid_history
    known = "" if history is None else f", history {history.fingerprint}"
    parts = (Split(train=data.train, valid=data.valid, valid_history=history, procedure=data.procedure),)
    known += f", targets {', '.join(data.targets)}" if data.targets else ""
    return Parts(parts, f"train {data.train.fingerprint}, valid {data.valid.fingerprint}{known}", "the valid part")


def _sealed(train: Interactions, valid: Interactions) -> Split:
    return Split(train=train, valid=valid)


def _without_test(split: Split) -> Interactions:
    """The pairs of train and valid: as many as a model may see, so that folds are as dense as what is fitted later."""
    if split.valid_history is not None:
        raise UsageError("Folds divide the items of each user, and this split divides users: tune without folds.")
    train, valid = split.train, split.valid
    times = None if train.times is None or valid.times is None else np.concatenate([train.times, valid.times])
    user, item = (np.concatenate([getattr(part, name) for part in (train, valid)]) for name in ("user", "item"))
    alike = train.weights is None or valid.weights is None
    weights = None if alike else np.concatenate([train.weights, valid.weights])
    return replace(train, user=user, item=item, times=times, weights=weights, kinds=None)
