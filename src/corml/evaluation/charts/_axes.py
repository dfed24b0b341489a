"""Axes: from values to places, round numbers for ticks, and values as text."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

MAX_DECADES = 6
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Axis:
    """What a direction of a chart means. `form` is how values are written: "number", "percent", "count" or "power"."""

    label: str
    form: str = "number"
    log: bool = False
    zero: bool = False  # whether it begins at zero, as lengths of bars must

    def shows(self, value: float) -> bool:
        """Whether a value can be shown on the axis."""
        return math.isfinite(value) and (value > 0 or not self.log)

    def written(self, value: float) -> str:
        """A single value as text."""
        if self.form == "percent":
            digits = 0 if abs(value) >= 0.0995 or value == 0 else 1 if abs(value) > 0.00995 else 2
            return f"{100 * value:.{digits}f} %"
        return f"{value:,.0f}" if self.form == "count" else f"{value:.3f}"

    def wording(self, ticks: Sequence[float]) -> list[str]:
        """Ticks as text, all with equally many digits."""
        if self.form == "power" or (self.log and self.form == "number"):
            return ["10" + str(round(math.log10(tick))).translate(SUPERSCRIPT) for tick in ticks]
        if self.form == "count":
            return [f"{tick:,.0f}" if float(tick).is_integer() else f"{tick:,g}" for tick in ticks]
        scaled = [100 * tick for tick in ticks] if self.form == "percent" else list(ticks)
        step = min(np.diff(scaled), default=1.0)
        digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
        return [f"{tick:.{digits}f}" + (" %" if self.form == "percent" else "") for tick in scaled]

    def fitted(
        self, values: Iterable[float], start: float, end: float, *, count: int = 5
    ) -> tuple["Scale", list[float]]:
        """A scale that holds all values, and its ticks."""
        usable = [float(value) for value in values if self.shows(value)]
        low, high = (min(usable), max(usable)) if usable else (1.0, 10.0) if self.log else (0.0, 1.0)
        if self.log:
            low, high = (low, high) if high > low else (low / 2, high * 2)
            return Scale(low, high, start, end, log=True), decades(low, high)
        if self.zero:
            low, high = min(low, 0.0), max(high, 0.0)
        if high <= low:
            margin = max(abs(low), 1) * 0.05
            low, high = (low, low + 1.0) if self.zero else (low - margin, low + margin)
        ticks = nice_ticks(low, high, count)
        return Scale(min(low, ticks[0]), max(high, ticks[-1]), start, end), ticks


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` on places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The position of a value; values outside are put on the edge."""
        low, high, value = map(math.log10, (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About so many round numbers around [low, high], a multiple of 1, 2 or 5 apart."""
    rough = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [round(at * step, digits + 1) for at in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """Whole powers of ten between the ends, at most a few."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**at for at in range(first, last + 1, max(1, -(-(last - first + 1) // MAX_DECADES)))]
