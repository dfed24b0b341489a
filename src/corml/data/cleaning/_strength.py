"""How strong an interaction is: by the kind of event, a quantity, its age and its rating.

    a row      weight of its kind × its quantity × 2^(−age / half_life), with the age counted from the latest row
    a pair     transform(the sum of its rows); without kinds and quantities repeated rows say nothing, and the latest
               row counts alone; with `rating_strength` this times (its rating − at_least + 1)

A pair is only seen, and not learned from, where the sum is not above 0, or where its last event was a negative one
(without times: any of its events). Then its negative rows, added up and transformed alike, are how strong the no is;
of a rating below `at_least`, with `low_ratings="negative"`, it is at_least − rating.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime import durations
from corml.data._options import Options
from corml.data.cleaning._columns import Check
from corml.data.kinds import UNKNOWN, Kinds, are_too_many
from corml.errors import DataError, UsageError, ascii_line, quoted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TRANSFORMS", "OfKind", "Strength", "check_options", "kinds", "of_pairs", "of_ratings", "of_rows"]

Floats = NDArray[np.float64]
TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {"none": lambda x: x, "log1p": np.log1p, "sqrt": np.sqrt}


@dataclass(frozen=True)
class OfKind:
    """What the event type of each row says: its weight, whether it is a negative one, and which it is."""

    weights: Floats
    negative: NDArray[np.bool_]
    names: tuple[str, ...]
    codes: NDArray[np.int32]  # numbers into the names

    def where(self, keep: NDArray[np.bool_]) -> "OfKind":
        """Of some of the rows."""
        return OfKind(self.weights[keep], self.negative[keep], self.names, self.codes[keep])


@dataclass(frozen=True)
class Strength:
    """One number for each row, whether numbers add up, and what its kind says, where there are kinds."""

    numbers: Floats
    adds_up: bool
    by_kind: OfKind | None

    def where(self, keep: NDArray[np.bool_]) -> "Strength":
        """Of some of the rows."""
        return Strength(self.numbers[keep], self.adds_up, None if self.by_kind is None else self.by_kind.where(keep))


def check_options(options: Options) -> None:
    """Refuse options about strength that cannot be meant."""
    if options.half_life is not None:
        durations.seconds(options.half_life, "half_life")
    if options.transform not in (None, *TRANSFORMS):
        raise UsageError(f"transform must be one of {', '.join(TRANSFORMS)}; got {ascii_line(options.transform)}.")
    if options.transform is not None and options.weight is None and options.event is None:
        raise UsageError("transform is about weights: give weight= or event= (--weight, --event) too.")
    if (options.weights is not None or options.negative is not None) and options.event is None:
        raise UsageError("weights and negative are about kinds of events: name their column with event= (--event).")
    if (options.rating_strength or options.low_ratings == "negative") and options.at_least is None:
        raise UsageError(
            "rating_strength= (--rating-strength) and low_ratings= (--low-ratings) count from a threshold of ratings: "
            "give at_least= (--at-least) too."
        )
    if options.low_ratings not in (None, "seen", "negative"):
        shown = ascii_line(options.low_ratings)
        raise UsageError(f"low_ratings= (--low-ratings) must be 'seen' or 'negative'; got {shown}.")
    given = options.weights
    if given is not None and not (isinstance(given, Mapping) and all(map(_is_weight, given.values()))):
        raise UsageError(f"weights must give each kind of event a number of 0 or more; got {ascii_line(given)}.")


def kinds(series: "pl.Series", options: Options, where: str) -> tuple[OfKind, Check]:
    """What the event type of each row says; a row without one is a bad row."""
    from corml._runtime.lazy_polars import polars as pl

    names = series.cast(pl.String).fill_null("").str.strip_chars()
    negative = set(options.negative or ())
    weights = {str(name): float(weight) for name, weight in (options.weights or {}).items()}
    distinct = names.unique(maintain_order=True)
    if are_too_many(len(distinct), int(distinct.str.len_bytes().sum())):
        raise DataError(
            f"{where} has {len(distinct):,} kinds of events: name the right column as event= (--event), "
            "or put kinds into groups first."
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
    return OfKind(values[codes], refuses[codes], tuple(present), codes), missing


def of_rows(quantity: Floats | None, by_kind: OfKind | None, time: Floats | None, options: Options) -> Strength | None:
    """The strength of each row; None where nothing was asked for."""
    if quantity is None and by_kind is None and options.half_life is None:
        return None
    factors = [part for part in (quantity, None if by_kind is None else by_kind.weights) if part is not None]
    if options.half_life is not None:
        factors.append(_decay(time, options.half_life))
    numbers = np.prod(factors, axis=0)
    return Strength(numbers, len(factors) > (options.half_life is not None), by_kind)


def of_pairs(
    strength: Strength, pair: NDArray[np.int64], count: int, time: Floats | None, transform: str | None
) -> tuple[Floats, Floats, Kinds | None]:
    """The strength of each pair, 0 where it is only seen; how strong its no is, 0 where there is none; and its events.

    The last event is that of the latest row; without times of the strongest, and a negative one before others.
    """
    add, change = np.add if strength.adds_up else np.maximum, TRANSFORMS[transform or "none"]
    total, against = np.zeros(count), np.zeros(count)
    by_kind = strength.by_kind
    if by_kind is None:
        add.at(total, pair, strength.numbers)
        return change(np.maximum(total, 0.0)), against, None
    no = by_kind.negative
    add.at(total, pair[~no], strength.numbers[~no])
    add.at(against, pair[no], np.abs(strength.numbers[no]))
    order = np.lexsort((strength.numbers, no, pair) if time is None else (time, pair))
    rejected = np.zeros(count, dtype=bool)
    rejected[pair[order]] = no[order]  # of equal positions the last stays
    when = None if time is None else time[order]
    kinds = Kinds.of_events(by_kind.names, pair[order], by_kind.codes[order], when, count)
    return change(np.where(rejected, 0.0, np.maximum(total, 0.0))), change(np.where(rejected, against, 0.0)), kinds


def of_ratings(rating: Floats, options: Options) -> tuple[Floats, Floats]:
    """What ratings say of pairs: by how much a strength is multiplied, and how strong a no is."""
    above = rating - float(options.at_least or 0)
    factor = np.where(above >= 0, above + 1, 0.0) if options.rating_strength else np.ones(len(rating))
    return factor, np.maximum(-above, 0.0) if options.low_ratings == "negative" else np.zeros(len(rating))


def _decay(time: Floats | None, half_life: Any) -> Floats:
    if time is None:
        raise UsageError("half_life needs the time of each row: name its column with time= (--time).")
    latest = float(time.max(initial=0.0))
    length = durations.seconds(half_life, "half_life")
    return np.asarray(np.exp2((time - latest) / length), dtype=np.float64)


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
