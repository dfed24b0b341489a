"""What people type for a metric («ndcg@10»), and what each metric says about itself."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from corml import plugins
from corml.errors import UsageError, ascii_line
from corml.metrics._lists import Lists, Values
from corml.numerals import whole_number

__all__ = ["Described", "Metric", "describe", "direction", "names", "parse", "parse_all"]

ROOM = "corml.metrics"
MAX_K = 10_000

# Random lists would win these: they say what accuracy costs, and a mark for "best" would mislead.
NO_BEST = frozenset({"novelty", "self_information", "popularity", "diversity", "coverage", "gini"})


@dataclass(frozen=True)
class Metric:
    """A metric at a list length: one number per user, or one for all lists together."""

    name: str
    k: int
    function: Callable[[Lists, int], Values | float]

    @property
    def label(self) -> str:
        """The one way this metric is written."""
        return f"{self.name}@{self.k}"

    def __call__(self, lists: Lists) -> Values | float:
        return self.function(lists, self.k)


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
    return plugins.names(ROOM)


def parse(text: str) -> Metric:
    """Read a metric and its list length: «ndcg@10», in either case, with - or _."""
    name, at, length = str(text).strip().lower().partition("@")
    key, function = name.replace("-", "_"), plugins.get(ROOM, name)
    number = whole_number(length)
    if number is None or not 1 <= number <= MAX_K:
        fault = f"got {ascii_line(length)}" if at else "none was given"
        raise UsageError(f"{key} needs a list length from 1 to {MAX_K:,} ({fault}): write {key}@10.")
    return Metric(key, number, function)


def parse_all(texts: str | Iterable[str]) -> tuple[Metric, ...]:
    """Read several metrics (or a single one); each once, in the order given."""
    if not isinstance(texts, Iterable):
        raise UsageError(f"Metrics are names such as 'ndcg@10'; got {ascii_line(texts)}.")
    listed = texts.split(",") if isinstance(texts, str) else list(texts)
    if not listed:
        raise UsageError("No metric was asked for: name at least one, such as ndcg@10.")
    return tuple({metric.label: metric for metric in (parse(text) for text in listed)}.values())


def direction(label: str) -> int:
    """Which way is better: 1 for higher, −1 for lower, 0 where neither is good by itself."""
    return _described(parse(label).name).direction


def describe() -> list[Described]:
    """All metrics in words and as formulas, in the order of their names."""
    return [_described(name) for name in names()]


def _described(name: str) -> Described:
    try:
        function = plugins.get(ROOM, name)
    except UsageError as fault:  # of another package, and not usable: say so where the metrics are listed
        return Described(name, str(fault), "", "")
    lines = [line.strip() for line in (function.__doc__ or name).strip().splitlines()]
    return Described(name, lines[0], _field(lines, "Formula:"), _field(lines, "Better:"))


def _field(lines: list[str], head: str) -> str:
    """Read the rest of the line that begins so; a metric of another package may have none."""
    return next((line.removeprefix(head).strip() for line in lines if line.startswith(head)), "")
