"""What the paper says of its figures, held against curves: where they peak, and whether they fall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from corml.experiments.reproduce.outcome import Check

__all__ = ["Series", "checked"]

ROUNDING = 1e-9


@dataclass(frozen=True)
class Series:
    """One curve of a metric; `by` is the value of a second setting, if there is one."""

    title: str
    by: float | None
    symbol: str
    metric: str
    points: tuple[tuple[float, float], ...]

    @property
    def name(self) -> str:
        """What to call it in a legend."""
        return self.title if self.by is None else f"{self.title}, {self.symbol} = {self.by:g}"

    @property
    def peak(self) -> float:
        """Where it is highest."""
        return max(self.points, key=lambda point: point[1])[0]


def checked(claims: Sequence[Mapping[str, Any]], data: str, series: Sequence[Series], symbol: str) -> list[Check]:
    """Every claim about these data, on every curve it is about."""
    found: list[Check] = []
    for claim in claims:
        if data in claim.get("data", [data]):
            about = [one for one in series if one.metric in claim["metrics"] and len(one.points) > 1]
            found += _KINDS[claim["kind"]](claim, data, about, symbol)
    return found


def _falls(claim: Mapping[str, Any], data: str, series: Sequence[Series], symbol: str) -> list[Check]:
    checks = []
    for one in series:
        rises = [(a, b) for a, b in pairwise(sorted(one.points)) if b[1] >= a[1]]
        ends = f"{sorted(one.points)[0][1]:.4f} to {sorted(one.points)[-1][1]:.4f}"
        said = "".join(f", rises from {symbol} = {a[0]:g} to {b[0]:g}" for a, b in rises)
        checks.append(_check(claim, data, one, not rises, ends + said))
    return checks


def _peak(claim: Mapping[str, Any], data: str, series: Sequence[Series], symbol: str) -> list[Check]:
    low, high = claim["between"]
    return [
        _check(claim, data, one, low - ROUNDING <= one.peak <= high + ROUNDING, f"best at {symbol} = {one.peak:g}")
        for one in series
    ]


def _peaks_fall(claim: Mapping[str, Any], data: str, series: Sequence[Series], symbol: str) -> list[Check]:
    """Along the second setting, for each model and metric."""
    groups: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        groups.setdefault((one.title, one.metric), []).append(one)
    checks = []
    for group in groups.values():
        ordered = sorted(group, key=lambda one: one.by or 0.0)
        peaks = [one.peak for one in ordered]
        said = ", ".join(f"{symbol} = {one.peak:g} for {one.symbol} = {one.by:g}" for one in ordered)
        holds = all(a >= b for a, b in pairwise(peaks)) and peaks[0] > peaks[-1]
        checks.append(Check(claim["says"], f"{data}, {group[0].title}, {group[0].metric}", holds, f"best at {said}"))
    return checks


def _check(claim: Mapping[str, Any], data: str, one: Series, holds: bool, found: str) -> Check:
    return Check(claim["says"], f"{data}, {one.name}, {one.metric}", holds, found)


_KINDS = {"falls": _falls, "peak": _peak, "peaks fall": _peaks_fall}
