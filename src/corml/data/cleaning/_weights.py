"""The weight of an interaction: by its event type, a quantity, its age and its rating.

    a row      weight of its event type × its quantity × 2^(−age / half_life), with ages counted from the latest row
    a pair     transform(the sum of its rows); without event types and quantities repeated rows add nothing, and the
               latest row counts alone; with `rating_strength` times (its rating − at_least + 1)

A pair is excluded from training, and from lists, where the sum is not above 0, or where its last event is a negative
one (without times: any of its events). Then its negative rows, added up and transformed alike, are the weight of the
negative feedback; for a rating below `at_least`, with `low_ratings="negative"`, it is at_least − rating.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corml._runtime import durations
from corml.data._options import Options
from corml.data.cleaning._columns import Check, Floats
from corml.data.kinds import UNKNOWN, Kinds, are_too_many
from corml.errors import DataError, UsageError, quoted

if TYPE_CHECKING:
    import polars as pl

OLDEST = 1e-200  # what is left of a row at least, so that no interaction is lost by its age
TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {"none": lambda x: x, "log1p": np.log1p, "sqrt": np.sqrt}


@dataclass(frozen=True)
class EventTypes:
    """The event type of each row: its weight, whether it is a negative one, and which it is."""

    weights: Floats
    negative: NDArray[np.bool_]
    names: tuple[str, ...]
    codes: NDArray[np.int32]  # numbers into the names

    def where(self, keep: NDArray[np.bool_]) -> "EventTypes":
        """Of some of the rows."""
        return EventTypes(self.weights[keep], self.negative[keep], self.names, self.codes[keep])


@dataclass(frozen=True)
class Weights:
    """One number for each row, whether numbers add up, and the event types, where there are some."""

    numbers: Floats
    adds_up: bool
    events: EventTypes | None


def event_types(series: "pl.Series", options: Options, where: str) -> tuple[EventTypes, Check]:
    """The event type of each row; a row without one is a bad row."""
    from corml._runtime.lazy_polars import polars as pl

    names = series.cast(pl.String).fill_null("").str.strip_chars()
    negative = set(options.negative or ())
    weights = {str(name): float(weight) for name, weight in (options.weights or {}).items()}
    distinct = names.unique(maintain_order=True)
    if are_too_many(len(distinct), int(distinct.str.len_bytes().sum())):
        raise DataError(
            f"{where} has {len(distinct):,} event types: name the right column as event= (--event), "
            "or group them first."
        )
    present = [name for name in distinct.to_list() if name] or [UNKNOWN]
    unknown = [
        name
        for name in present
        if name and options.weights is not None and name not in weights and name not in negative
    ]
    if unknown:
        rows = int(names.is_in(unknown).sum())
        raise DataError(
            f"{where} has {rows:,} event{'s' * (rows > 1)} of a type without a weight: {quoted(unknown, 8)}: give each "
            "type a number in weights= (--weights), 0 to keep it as seen only."
        )
    code = {name: number for number, name in enumerate(present)}
    codes = np.array([code.get(name, 0) for name in names.to_list()], dtype=np.int32)  # of bad rows any
    values, refuses = np.array([weights.get(name, 1.0) for name in present]), np.array([n in negative for n in present])
    missing = Check((names == "").to_numpy(), lambda row: "the event is missing")
    return EventTypes(values[codes], refuses[codes], tuple(present), codes), missing


def of_rows(
    quantity: Floats | None, events: EventTypes | None, time: Floats | None, options: Options
) -> Weights | None:
    """The weight of each row; None where there is nothing to weigh by."""
    if quantity is None and events is None and options.half_life is None:
        return None
    factors = [part for part in (quantity, None if events is None else events.weights) if part is not None]
    adds_up = bool(factors)
    if options.half_life is not None:
        if time is None:
            raise UsageError("half_life needs the time of each row: name its column with time= (--time).")
        age = time - float(time.max(initial=0.0))
        factors.append(np.maximum(np.exp2(age / durations.seconds(options.half_life, "half_life")), OLDEST))
    return Weights(np.prod(factors, axis=0), adds_up, events)


def of_pairs(
    weights: Weights, pair: NDArray[np.int64], count: int, time: Floats | None, transform: str | None
) -> tuple[Floats, Floats, Kinds | None]:
    """The weight of each pair, 0 where it is excluded; that of its negative feedback, 0 without; and its events.

    The last event is that of the latest row; without times of the strongest, and a negative one before others.
    """
    add, change = np.add if weights.adds_up else np.maximum, TRANSFORMS[transform or "none"]
    total, against, events = np.zeros(count), np.zeros(count), weights.events
    if events is None:
        add.at(total, pair, weights.numbers)
        return change(np.maximum(total, 0.0)), against, None
    no = events.negative
    add.at(total, pair[~no], weights.numbers[~no])
    add.at(against, pair[no], np.abs(weights.numbers[no]))
    order = np.lexsort((weights.numbers, no, pair) if time is None else (time, pair))
    rejected = np.zeros(count, dtype=bool)
    rejected[pair[order]] = no[order]  # of equal positions the last stays
    when = None if time is None else time[order]
    kinds = Kinds.of_events(events.names, pair[order], events.codes[order], when, count)
    return change(np.where(rejected, 0.0, np.maximum(total, 0.0))), change(np.where(rejected, against, 0.0)), kinds


def of_ratings(rating: Floats, options: Options) -> tuple[Floats, Floats]:
    """By how much a rating multiplies a weight, and the weight of the negative feedback it is."""
    above = rating - float(options.at_least or 0)
    factor = np.where(above >= 0, above + 1, 0.0) if options.rating_strength else np.ones(len(rating))
    return factor, np.maximum(-above, 0.0) if options.low_ratings == "negative" else np.zeros(len(rating))
