"""How strong an interaction is: by the kind of event, a quantity and its age.

    a row      weight of its kind × its quantity × 2^(−age / half_life), with the age counted from the latest row
    a pair     transform(the sum of its rows); without kinds and quantities repeated rows say nothing, and the latest
               row counts alone

A pair is only seen, and not learned from, where the sum is not above 0, or where its last event was a negative one
(without times: any of its events).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml import durations
from corml.datasets._options import Options
from corml.errors import DataError, UsageError, ascii_line, quoted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TRANSFORMS", "Strength", "check_options", "kinds", "of_pairs", "of_rows"]

Floats = NDArray[np.float64]
TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {"none": lambda x: x, "log1p": np.log1p, "sqrt": np.sqrt}


@dataclass(frozen=True)
class Strength:
    """One number for each row, whether numbers add up, and which rows are events of a negative kind."""

    numbers: Floats
    adds_up: bool
    negative: NDArray[np.bool_] | None

    def where(self, keep: NDArray[np.bool_]) -> "Strength":
        """Of some of the rows."""
        negative = None if self.negative is None else self.negative[keep]
        return Strength(self.numbers[keep], self.adds_up, negative)


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
    given = options.weights
    if given is not None and not (isinstance(given, Mapping) and all(map(_is_weight, given.values()))):
        raise UsageError(f"weights must give each kind of event a number of 0 or more; got {ascii_line(given)}.")


def kinds(series: "pl.Series", options: Options, where: str) -> tuple[Floats, NDArray[np.bool_]]:
    """The weight of each row by its kind of event, and whether that kind is a negative one."""
    import polars as pl

    names = series.cast(pl.String).fill_null("").str.strip_chars()
    negative = set(options.negative or ())
    weights = {str(name): float(weight) for name, weight in (options.weights or {}).items()}
    present = names.unique(maintain_order=True).to_list()
    unknown = [name for name in present if options.weights is not None and name not in weights and name not in negative]
    if unknown:
        rows = int(names.is_in(unknown).sum())
        raise DataError(
            f"{where} has {rows:,} events of a kind without a weight: {quoted(unknown, 8)}: give each a number in "
            "weights= (--weights), 0 to keep it as seen only."
        )
    values = {name: 0.0 if name in negative else weights.get(name, 1.0) for name in present}
    numbers = np.array([values[name] for name in names.to_list()], dtype=np.float64)
    return numbers, np.asarray(names.is_in(sorted(negative)).to_numpy(), dtype=bool)


def of_rows(
    quantity: Floats | None, by_kind: tuple[Floats, NDArray[np.bool_]] | None, time: Floats | None, options: Options
) -> Strength | None:
    """The strength of each row; None where nothing was asked for."""
    if quantity is None and by_kind is None and options.half_life is None:
        return None
    factors = [part for part in (quantity, None if by_kind is None else by_kind[0]) if part is not None]
    if options.half_life is not None:
        factors.append(_decay(time, options.half_life))
    numbers = np.prod(factors, axis=0)
    return Strength(numbers, len(factors) > (options.half_life is not None), None if by_kind is None else by_kind[1])


def of_pairs(
    strength: Strength, pair: NDArray[np.int64], count: int, time: Floats | None, transform: str | None
) -> Floats:
    """The strength of each pair; 0 where it is only seen."""
    total = np.zeros(count)
    (np.add if strength.adds_up else np.maximum).at(total, pair, strength.numbers)
    rejected = np.zeros(count, dtype=bool)
    if strength.negative is not None:
        if time is None:
            rejected[pair[strength.negative]] = True
        else:
            last = np.lexsort((time, pair))
            rejected[pair[last]] = strength.negative[last]  # of repeated positions the last one stays
    values = np.where(rejected, 0.0, np.maximum(total, 0.0))
    return TRANSFORMS[transform or "none"](values)


def _decay(time: Floats | None, half_life: Any) -> Floats:
    if time is None:
        raise UsageError("half_life needs the time of each row: name its column with time= (--time).")
    latest = float(time.max(initial=0.0))
    length = durations.in_units_of(durations.seconds(half_life, "half_life"), latest)
    return np.asarray(np.exp2((time - latest) / length), dtype=np.float64)


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
