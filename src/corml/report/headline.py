"""The top of a page: one plain sentence and three numbers, all from the same results."""

from corml.report import _text as text
from corml.report._measures import measure
from corml.report.page import Number
from corml.report.subject import Subject

__all__ = ["numbers", "sentence"]

_WORDS = {"5": "five", "10": "ten", "20": "twenty"}


def sentence(subject: Subject) -> str:
    """What the most accurate model does for users, and its rival beside it; without a metric's name where it can be."""
    metric, hits = subject.metric, subject.of_family("hit_rate")
    if metric is None:
        return ""
    first, second = subject.ranking[0], subject.rival
    if hits is None:
        return _without_hits(subject, metric)
    opening = f"{first} is {_place(subject)}: for " if second else f"With {first}, for "
    found = (
        f"{_of_100(subject.results[first][hits])} of 100 users the first {_length(hits)} recommendations hold at least "
        "one item that the user chose and that was hidden from the model"
    )
    beside = f"; with {second} it is {_of_100(subject.results[second][hits])} of 100" if second else ""
    return f"{opening}{found}{beside}."


def numbers(subject: Subject) -> tuple[Number, ...]:
    """Users with a hit, the lead in accuracy, and how much of the catalogue is recommended; or what there is."""
    metric, hits = subject.metric, subject.of_family("hit_rate")
    if metric is None:
        return ()
    chosen = [_number(subject, hits, "of users get a hit")] if hits else []
    chosen.append(_accuracy(subject, metric))
    for family in ("coverage", "novelty", "recall", "mrr"):
        name = subject.of_family(family)
        if name is not None and name != metric:
            words = "of the catalogue is recommended" if family == "coverage" else measure(name).label
            chosen.append(_number(subject, name, words))
    return tuple(chosen[:3])


def _without_hits(subject: Subject, metric: str) -> str:
    first, second = subject.ranking[0], subject.rival
    label, value = measure(metric).label, subject.results[first][metric]
    if second is None:
        return f"{first} reaches {label} {value:.3f}."
    return (
        f"{first} is {_place(subject)}, with {label} {value:.3f} "
        f"against {subject.results[second][metric]:.3f} of {second}."
    )


def _number(subject: Subject, name: str, words: str) -> Number:
    first, second = subject.ranking[0], subject.rival
    shown = text.percent if name.startswith(("hit_rate", "coverage")) else "{:.3f}".format
    beside = f"{second}: {shown(subject.results[second][name])}" if second else ""
    return Number(shown(subject.results[first][name]), words, beside)


def _accuracy(subject: Subject, metric: str) -> Number:
    """The lead over the rival where there is one; else the value itself."""
    first, second = subject.ranking[0], subject.rival
    label, value = measure(metric).label, subject.results[first][metric]
    if second is None or subject.results[second][metric] <= 0:
        span = subject.results[first].intervals.get(metric)
        return Number(f"{value:.3f}", label, f"between {span[0]:.3f} and {span[1]:.3f}" if span else "")
    other = subject.results[second][metric]
    beside = f"{label}: {value:.3f} against {other:.3f}"
    return Number(f"+{text.percent(value / other - 1)}", f"more accurate than {second}", beside)


def _place(subject: Subject) -> str:
    """What the first is among how many; tuned and untouched a model counts once."""
    models = len({subject.contestants.get(name, name) for name in subject.models})
    return "the more accurate of two models" if models == 2 else f"the most accurate of {models} models"


def _of_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _length(metric: str) -> str:
    k = metric.partition("@")[2]
    return _WORDS.get(k, k)
