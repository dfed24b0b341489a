"""Metrics by name («ndcg@10»), and their descriptions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corml import plugins
from corml._runtime.values import whole_number
from corml.errors import UsageError, ascii_line
from corml.evaluation.metrics._lists import Lists, Values

GROUP = "corml.metrics"
MAX_K = 10_000
USUAL_K = 10  # of functions, where no metric by name says another length

Function = Callable[[Lists, int], NDArray[np.generic] | float]
Asked = str | Function | Sequence[str | Function]  # what callers may give for metrics

# Random lists would win these: they show what accuracy costs, so no value is marked as the best.
NO_BEST = frozenset({"novelty", "self_information", "popularity", "diversity", "coverage", "gini"})


@dataclass(frozen=True)
class Metric:
    """A metric at a list length: one number per user, or one for all lists together."""

    name: str
    k: int
    function: Function

    @property
    def label(self) -> str:
        """The one way this metric is written."""
        return f"{self.name}@{self.k}"

    def __call__(self, lists: Lists) -> Values | float:
        given = self.function(lists, self.k)
        values: Values = np.asarray(given, dtype=np.float64)
        if values.ndim == 0:
            return float(values)
        if values.shape != (len(lists.items),):
            raise UsageError(
                f"The metric {self.name} must give one number, or one for each of the {len(lists.items):,} lists; "
                f"got an array of shape {values.shape}."
            )
        return values


class Described(NamedTuple):
    """A metric in words, as a formula, and which way is better."""

    name: str
    words: str
    formula: str
    better: str

    @property
    def direction(self) -> int:
        """Which way is better: 1 for higher, −1 for lower, 0 where neither is good by itself."""
        if self.name in NO_BEST:
            return 0
        return -1 if self.better.startswith("lower") else 1


def names() -> tuple[str, ...]:
    """All metric names, sorted."""
    return plugins.names(GROUP)


def parse(text: str) -> Metric:
    """Read a metric and its list length: «ndcg@10», in either case, with - or _."""
    name, at, length = str(text).strip().lower().partition("@")
    key, function = name.replace("-", "_"), plugins.get(GROUP, name)
    number = whole_number(length)
    if number is None or not 1 <= number <= MAX_K:
        fault = f"got {ascii_line(length)}" if at else "none was given"
        raise UsageError(f"{key} needs a list length from 1 to {MAX_K:,} ({fault}): write {key}@10.")
    return Metric(key, number, function)


def parse_all(wanted: Asked) -> tuple[Metric, ...]:
    """Read several metrics (or a single one), names and functions; each once, in the order given.

    A function takes `Lists` and a length, as every metric does, and is used at the lengths of the named metrics.
    """
    if callable(wanted):
        wanted = [wanted]
    if not isinstance(wanted, Iterable):
        raise UsageError(f"Metrics are names such as 'ndcg@10', or functions; got {ascii_line(wanted)}.")
    listed = wanted.split(",") if isinstance(wanted, str) else list(wanted)
    if not listed:
        raise UsageError("No metric was given: name at least one, such as ndcg@10.")
    named = {one: parse(one) for one in listed if not callable(one)}
    lengths = dict.fromkeys(metric.k for metric in named.values()) or [USUAL_K]
    metrics: dict[str, Metric] = {}
    for one in listed:
        for metric in (Metric(_name(one), k, one) for k in lengths) if callable(one) else (named[one],):
            if metrics.setdefault(metric.label, metric).function is not metric.function:
                raise UsageError(f"Two metrics are called {metric.name}: give one of the functions another name.")
    return tuple(metrics.values())


def _name(function: Function) -> str:
    """The name of a function; a `functools.partial` has the name of its function."""
    within = getattr(function, "func", function)
    return str(getattr(function, "__name__", getattr(within, "__name__", type(function).__name__)))


def direction(label: str) -> int:
    """Which way is better: 1 for higher, −1 for lower, 0 where neither is good by itself."""
    return _described(parse(label).name).direction


def describe() -> list[Described]:
    """All metrics in words and as formulas, in the order of their names."""
    return [_described(name) for name in names()]


def _described(name: str) -> Described:
    try:
        function = plugins.get(GROUP, name)
    except UsageError as fault:  # a plug-in that cannot be loaded: the list of metrics shows why
        return Described(name, str(fault), "", "")
    lines = [line.strip() for line in (function.__doc__ or name).strip().splitlines()]
    return Described(name, lines[0], _field(lines, "Formula:"), _field(lines, "Better:"))


def _field(lines: list[str], head: str) -> str:
    return next((line.removeprefix(head).strip() for line in lines if line.startswith(head)), "")
