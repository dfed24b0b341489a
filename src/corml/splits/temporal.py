"""One moment for all users: learn from the past, be evaluated on the future."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np

from corml._runtime.durations import moment
from corml._runtime.settings import Rule
from corml.data.clock import Clock
from corml.data.interactions import Interactions
from corml.errors import DataError, SettingError, UsageError, warn
from corml.splits._draw import AnySplit, Data, Whole, assemble, at_ranks, check_times, ordered, times_of, value_of
from corml.splits._options import Shares, numbers, option, record, three_shares

__all__ = ["temporal"]

Moment = float | str | date


def temporal(data: Data, *, shares: Shares | None = None, moments: Moment | Sequence[Moment] | None = None) -> AnySplit:
    """Cut all pairs at common moments: before the first is train, between them valid, from the last on test.

              time →   1      2      3    |  4      5    |  6          (moments 4 and 6)
        Ann            train  .      train   valid  .       test
        Bob            .      .      .       .      valid   test       has no train pair: counted by `counts`

    Cuts are given as one or two `moments`: dates such as "2024-05-31", datetimes or seconds since 1970 where the times
    are dates, else numbers in the unit of the times. Or they are found such that the parts have about the `shares`
    of the pairs (.6, .2, .2 by default); pairs of the same moment are never separated.
    """
    check_times(data, "temporal")
    earliest, latest, clock = _extent(data)
    if shares is not None and moments is not None:
        raise SettingError("The split 'temporal' takes shares or moments, not both: leave one out.")
    if moments is None:
        fractions = three_shares("temporal", (0.6, 0.2, 0.2) if shares is None else shares)
        options: dict[str, Any] = {"shares": fractions}
        first, last = _cuts(data, fractions)
    else:
        given = _read_moments(moments, dates=clock.per_second is not None)
        options = {"moments": given}
        first, last = given[0], given[-1]
    unit = " seconds since 1970" if clock.per_second is not None else ""
    if len(data) and earliest >= first:
        raise DataError(
            f"No pair is earlier than {_shown(first, clock)}{unit}, so train would be empty: choose a later moment or "
            "a larger share."
        )
    if moments is not None and len(data) and latest < first:
        warn(
            f"moments {_shown(first, clock)}{unit} is after the last time of the data, {_shown(latest, clock)}: valid "
            "and test are empty."
        )
    # np.inf stands for «after everything»; files write it as none
    cuts = tuple(float(cut) if np.isfinite(cut) else None for cut in (first, last))

    def part(some: Interactions) -> Whole:
        times = np.asarray(some.times)
        return (times >= first).astype(np.int64) + (times >= last)

    def last_of_train(some: Interactions, _: Whole) -> Any:
        return np.full(len(some.users), np.nextafter(first, -np.inf))

    return assemble(data, part, record("temporal", data, **options, cuts=cuts), until=last_of_train)


def _extent(data: Data) -> tuple[float, float, Clock]:
    """The earliest and the latest time, and whether times are dates."""
    chunks = [times for times in times_of(data) if len(times)]
    ends = [(float(times.min()), float(times.max())) for times in chunks]
    clock = next((one for one in map(Clock.of, chunks) if one.per_second is not None), Clock())
    return min((low for low, _ in ends), default=np.inf), max((high for _, high in ends), default=-np.inf), clock


def _shown(when: float, clock: Clock) -> str:
    """A moment as a number, and as a date where it is one."""
    return f"{when:.15g}" if clock.per_second is None else f"{clock.shown(when)}, {when:.15g}"


def _cuts(data: Data, shares: tuple[float, float, float]) -> tuple[float, float]:
    """The moments before which there are these shares of the pairs; after everything there is infinity."""
    ranks = np.rint(np.cumsum(shares)[:2] / sum(shares) * len(data)).astype(np.int64).tolist()
    inside = [rank for rank in ranks if rank < len(data)]
    found = [value_of(one) for one in at_ranks(lambda: map(ordered, times_of(data)), inside)] if inside else []
    first, last = [*found, np.inf, np.inf][:2]
    return first, last


def _read_moments(value: object, *, dates: bool) -> tuple[float, ...]:
    """One or two moments: where the times are dates, given as dates or as seconds since 1970."""
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",")]
    several = list(value) if isinstance(value, Iterable) else [value]
    with suppress(UsageError):  # left for the rule to refuse
        several = [_seconds(one) if dates else one for one in several]
    shown = ", ".join(map(str, value)) if isinstance(value, list) else value
    read = option("temporal", "moments", numbers(several), _DATES if dates else _NUMBERS, shown)
    return tuple(read)


def _seconds(given: object) -> float:
    return moment(given.item() if isinstance(given, np.generic) else given, "moments")


def _are_moments(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) not in (1, 2):
        return False
    return bool(np.isfinite(value).all()) and value[0] <= value[-1]


_NUMBERS = Rule("one finite number, or two of which the second is not smaller: the times are no dates", _are_moments)
_DATES = Rule(
    "one date such as 2024-05-31 (or seconds since 1970), or two of which the second is not earlier", _are_moments
)
