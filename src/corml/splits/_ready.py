"""Parts that somebody else made, from files or frames."""

import numpy as np

from corml.interactions import Interactions
from corml.splits._split import Split

__all__ = ["ready_made"]


def ready_made(train: Interactions, valid: Interactions | None = None, test: Interactions | None = None) -> Split:
    """Join parts that were split elsewhere.

              pairs   in train      in valid      in test
        Ann           a, b          c             d, b       b was in train: left out of test
        Bob           a             .             z          z is in no train pair's catalogue: left out of test

    Valid and test pairs of unknown users or items, and pairs that an earlier part already has (a model must not
    recommend them, so they could only be missed), are left out and counted in `dropped`.
    """
    joined = Split(train=train, valid=valid, test=test, procedure={"name": "ready-made"})
    fresh_valid = _not_in(joined.valid, [joined.train])
    fresh_test = _not_in(joined.test, [joined.train, fresh_valid])
    dropped = {name: dict(reasons) for name, reasons in joined.dropped.items()}
    for name, before, after in (("valid", joined.valid, fresh_valid), ("test", joined.test, fresh_test)):
        if len(after) < len(before):
            dropped.setdefault(name, {})["already in an earlier part"] = len(before) - len(after)
    parts = {"train": joined.train, "valid": fresh_valid, "test": fresh_test}
    return Split(**parts, procedure=joined.procedure, dropped=dropped)


def _not_in(part: Interactions, earlier: list[Interactions]) -> Interactions:
    seen = np.isin(_numbers(part), np.concatenate([_numbers(other) for other in earlier]))
    return part.where(~seen)


def _numbers(part: Interactions) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """One number per pair."""
    return part.user.astype(np.int64) * len(part.items) + part.item
