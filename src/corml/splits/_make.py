"""Splits from data: by the name of a procedure, all folds of a cross-validation, or from parts made elsewhere."""

from collections.abc import Iterator
from typing import Any

from corml.errors import UsageError, ascii_line
from corml.interactions import Interactions
from corml.splits._parts import without
from corml.splits._procedure import option, run
from corml.splits._split import Split
from corml.splits.k_fold import FOLDS, k_fold

__all__ = ["folds", "ready_made", "split"]


def split(data: Interactions, how: str = "ratio", **options: Any) -> Split:
    """Divide interactions into train, valid and test.

    `how` names a split (dashes and underscores are the same); `options` are that split's own.
    """
    if not isinstance(data, Interactions):
        raise UsageError(f"Only Interactions can be split, not {type(data).__name__}: read it with corml.load first.")
    if not isinstance(how, str):
        raise UsageError(f"The kind of split must be a name such as 'ratio', not {ascii_line(how)}.")
    parts = run(data, how, options)
    if not isinstance(parts, Split):  # of a plug-in from another package
        raise UsageError(f"The split {ascii_line(how)} made a {type(parts).__name__}: it must make a corml.Split.")
    return parts


def folds(data: Interactions, folds: int = 5, *, seed: int = 2026) -> Iterator[Split]:
    """One split after the other; together their test parts are the data, each pair once."""
    total = int(option("k-fold", "folds", folds, FOLDS))
    return (k_fold(data, folds=total, fold=fold, seed=seed) for fold in range(total))


def ready_made(train: Interactions, valid: Interactions | None = None, test: Interactions | None = None) -> Split:
    """Join parts that were split elsewhere.

              pairs   in train      in valid      in test
        Ann           a, b          c             d, b       b was in train: dropped from test
        Bob           a             .             z          z is in no train pair's catalogue: dropped from test

    Valid and test pairs of unknown users or items, and pairs that an earlier part already has (a model must not
    recommend them, so they could only be missed), are dropped and counted in `dropped`.
    """
    joined = Split(train=train, valid=valid, test=test, procedure={"name": "ready-made"})
    fresh_valid = without(joined.valid, [joined.train])
    fresh_test = without(joined.test, [joined.train, fresh_valid])
    dropped = {name: dict(reasons) for name, reasons in joined.dropped.items()}
    for name, before, after in (("valid", joined.valid, fresh_valid), ("test", joined.test, fresh_test)):
        if len(after) < len(before):
            dropped.setdefault(name, {})["already in an earlier part"] = len(before) - len(after)
    parts = {"train": joined.train, "valid": fresh_valid, "test": fresh_test}
    return Split(**parts, procedure=joined.procedure, dropped=dropped)
