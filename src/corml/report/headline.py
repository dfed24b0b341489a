"""The top of a page: one plain sentence and three numbers, all from the same results."""

from collections.abc import Mapping, Sequence

from corml.report import _text as text
from corml.report._measures import measure
from corml.report._results import Measured, by_accuracy, main_names, primary, shared_names
from corml.report.page import Number

__all__ = ["numbers", "sentence"]

SHOWN = 2  # of accuracy, coverage and novelty, after the first number


def sentence(results: Mapping[str, Measured]) -> str:
    """What the most accurate model does for users, and the runner-up beside it; in words without a metric's name."""
    metric = primary(results)
    if metric is None:
        return ""
    first, *others = by_accuracy(results, metric)
    best = f"{first} is the most accurate of {len(results)} models: for " if others else f"With {first}, for "
    hits = _at(results, "hit_rate", metric)
    if hits is None:
        return _without_hits(results, metric)
    found = (
        f"{_of_100(results[first][hits])} of 100 users the first {_length(hits)} recommendations hold at least one "
        "item that the user chose and that was hidden from the model"
    )
    beside = f"; with {others[0]} it is {_of_100(results[others[0]][hits])} of 100" if others else ""
    return f"{best}{found}{beside}."


def numbers(results: Mapping[str, Measured]) -> tuple[Number, ...]:
    """Users with a hit, the lead in accuracy, and how much of the catalogue is recommended."""
    metric = primary(results)
    if metric is None:
        return ()
    first, *others = by_accuracy(results, metric)
    second = others[0] if others else None
    rest = [name for family in ("coverage", "novelty", "recall", "mrr") if (name := _at(results, family, metric))]
    hits = _at(results, "hit_rate", metric)
    chosen = [*([_share(results, hits, first, second, "of users get a hit")] if hits else [])]
    chosen.append(_accuracy(results, metric, first, second))
    for name in rest[: 3 - len(chosen)]:
        words = "of the catalogue is recommended" if name.startswith("coverage") else measure(name).label
        chosen.append(_share(results, name, first, second, words))
    return tuple(chosen)


def _without_hits(results: Mapping[str, Measured], metric: str) -> str:
    first, *others = by_accuracy(results, metric)
    label, value = measure(metric).label, results[first][metric]
    if not others:
        return f"{first} reaches {label} {value:.3f}."
    return (
        f"{first} is the most accurate of {len(results)} models, with {label} {value:.3f} "
        f"against {results[others[0]][metric]:.3f} of {others[0]}."
    )


def _share(results: Mapping[str, Measured], name: str, first: str, second: str | None, words: str) -> Number:
    shown = text.percent if name.startswith(("hit_rate", "coverage")) else "{:.3f}".format
    beside = f"{second}: {shown(results[second][name])}" if second else ""
    return Number(shown(results[first][name]), words, beside)


def _accuracy(results: Mapping[str, Measured], metric: str, first: str, second: str | None) -> Number:
    """The lead over the runner-up where there is one; else the value itself."""
    label, value = measure(metric).label, results[first][metric]
    if second is None or results[second][metric] <= 0:
        span = results[first].intervals.get(metric)
        return Number(f"{value:.3f}", label, f"between {span[0]:.3f} and {span[1]:.3f}" if span else "")
    lead = value / results[second][metric] - 1
    return Number(
        f"+{text.percent(lead)}",
        f"more accurate than {second}",
        f"{label}: {value:.3f} against {results[second][metric]:.3f}",
    )


def _at(results: Mapping[str, Measured], family: str, metric: str) -> str | None:
    """The metric of a family at the length people compare at."""
    names: Sequence[str] = main_names(shared_names(results.values()))
    return next((name for name in names if name.partition("@")[0] == family), None)


def _of_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _length(metric: str) -> str:
    k = metric.partition("@")[2]
    return {"5": "five", "10": "ten", "20": "twenty"}.get(k, k)
