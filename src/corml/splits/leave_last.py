"""Each user's latest items are held out: what comes next."""

import numpy as np
from numpy.typing import NDArray

from corml._runtime.settings import whole
from corml.data.interactions import Interactions
from corml.splits._draw import AnySplit, Data, Whole, assemble, by_counts, check_times, ranks
from corml.splits._options import option, record

__all__ = ["leave_last"]

COUNT = whole(0, 1_000_000)


def leave_last(data: Data, *, n: int = 1, n_valid: int | None = None) -> AnySplit:
    """Test on each user's last n items by time, validate on the n before (or on `n_valid`).

              time →   1      2      3      4      5
        Ann (4)        train  train  .      valid  test
        Bob (2)        .      train  .      .      train     too few: nothing is held out

    A user is held out only if a train item remains. Of items at the same time the one in the later row is the later.
    """
    check_times(data, "leave-last")
    test = int(option("leave-last", "n", n, COUNT))
    valid = test if n_valid is None else int(option("leave-last", "n_valid", n_valid, COUNT))

    def part(some: Interactions) -> Whole:
        degrees = np.arange(some.user_degrees.max(initial=0) + 1)
        return by_counts(some, ranks(some.user, np.asarray(some.times)), _counts(degrees, valid, test))

    return assemble(data, part, record("leave-last", data, n=test, n_valid=valid), until=_last_of_train)


def _last_of_train(data: Interactions, part: Whole) -> NDArray[np.float64]:
    last, times = np.full(len(data.users), -np.inf), np.asarray(data.times)
    np.maximum.at(last, data.user[part == 0], times[part == 0])
    return last


def _counts(degrees: Whole, valid: int, test: int) -> Whole:
    """Count from the front, so that holding out 0 items holds out none (a slice [-0:] would take them all)."""
    held_out = (degrees > valid + test)[:, None] * np.array([valid, test])
    return np.column_stack([degrees - held_out.sum(axis=1), held_out])
