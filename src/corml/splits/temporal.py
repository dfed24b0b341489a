"""One moment for all users: learn from the past, be evaluated on the future."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from corml._runtime.settings import Rule
from corml.data.interactions import Interactions
from corml.errors import DataError, SettingError
from corml.splits._draw import AnySplit, Data, Whole, assemble, at_ranks, check_times, ordered, times_of, value_of
from corml.splits._options import Shares, numbers, option, read_numbers, record, three_shares

__all__ = ["temporal"]


def temporal(data: Data, *, shares: Shares | None = None, moments: float | Sequence[float] | None = None) -> AnySplit:
    """Cut all pairs at common moments: before the first is train, between them valid, from the last on test.

              time →   1      2      3    |  4      5    |  6          (moments 4 and 6)
        Ann            train  .      train   valid  .       test
        Bob            .      .      .       .      valid   test       has no train pair: counted by `counts`

    Cuts are given as one or two `moments` in the unit of the data's times, or found such that the parts have about
    the `shares` of the pairs (.6, .2, .2 by default); pairs of the same moment are never separated.
    """
    check_times(data, "temporal")
    if shares is not None and moments is not None:
        raise SettingError("The split 'temporal' takes shares or moments, not both: leave one out.")
    if moments is None:
        fractions = three_shares("temporal", (0.6, 0.2, 0.2) if shares is None else shares)
        options: dict[str, Any] = {"shares": fractions}
        first, last = _cuts(data, fractions)
    else:
        given = _read_moments(moments)
        options = {"moments": given}
        first, last = given[0], given[-1]
    if len(data) and min(times.min(initial=np.inf) for times in times_of(data)) >= first:
        raise DataError(
            f"No pair is earlier than {first:.15g}, so train would be empty: choose a later moment or a larger share."
        )
    # np.inf stands for «after everything»; files write it as none
    cuts = tuple(float(cut) if np.isfinite(cut) else None for cut in (first, last))

    def part(some: Interactions) -> Whole:
        times = np.asarray(some.times)
        return (times >= first).astype(np.int64) + (times >= last)

    def last_of_train(some: Interactions, _: Whole) -> Any:
        return np.full(len(some.users), np.nextafter(first, -np.inf))

    return assemble(data, part, record("temporal", data, **options, cuts=cuts), until=last_of_train)


def _cuts(data: Data, shares: tuple[float, float, float]) -> tuple[float, float]:
    """The moments before which there are these shares of the pairs; after everything there is infinity."""
    ranks = np.rint(np.cumsum(shares)[:2] / sum(shares) * len(data)).astype(np.int64).tolist()
    inside = [rank for rank in ranks if rank < len(data)]
    found = [value_of(one) for one in at_ranks(lambda: map(ordered, times_of(data)), inside)] if inside else []
    first, last = [*found, np.inf, np.inf][:2]
    return first, last


def _read_moments(value: Any) -> tuple[float, ...]:
    return tuple(option("temporal", "moments", numbers(value), _MOMENTS))


def _are_moments(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) not in (1, 2):
        return False
    return bool(np.isfinite(value).all()) and value[0] <= value[-1]


_MOMENTS = Rule("one finite number, or two of which the second is not smaller", _are_moments, read_numbers)
