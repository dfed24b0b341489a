"""All the splits of a cross-validation."""

from collections.abc import Iterator

from corml.interactions import Interactions
from corml.splits._options import option
from corml.splits._split import Split
from corml.splits.k_fold import FOLDS, k_fold

__all__ = ["folds"]


def folds(data: Interactions, folds: int = 5, *, seed: int = 2026) -> Iterator[Split]:
    """One split after the other; together their test parts are the data, each pair once."""
    total = int(option("k-fold", "folds", folds, FOLDS))
    return (k_fold(data, folds=total, fold=fold, seed=seed) for fold in range(total))
