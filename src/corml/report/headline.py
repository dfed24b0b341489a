"""The top of a page: one plain sentence and three numbers, all from the same results."""

from corml.evaluation.significance import LEVEL
from corml.report import _text as text
from corml.report._chance import tests
from corml.report._measures import measure
from corml.report.page import Number
from corml.report.subject import Subject

__all__ = ["numbers", "sentence"]

_WORDS = {"5": "five", "10": "ten", "20": "twenty"}


def sentence(subject: Subject) -> str:
    """Who is the most accurate by the deciding metric, if that is more than chance, and what it finds for users."""
    metric, hits = subject.metric, subject.of_family("hit_rate")
    if metric is None:
        return ""
    first, second = subject.ranking[0], subject.rival
    if second is None:
        label, value = measure(metric).label, subject.results[first][metric]
        return _found(subject, hits) if hits else f"{first} reaches {label} {value:.3f}."
    return " ".join(filter(None, [_compared(subject, metric, first, second), _found(subject, hits) if hits else ""]))


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


def _compared(subject: Subject, metric: str, first: str, second: str) -> str:
    """The best model and its rival by one metric; no winner is named where the difference may be chance."""
    one, other = subject.results[first][metric], subject.results[second][metric]
    if not _clear(subject):
        models = _how_many(subject)
        best = "" if models == 2 else f", the best of {models} models"
        values = f"{measure(metric).label} {one:.3f} and {other:.3f}"
        return f"No clear difference between {first} and {second}{best}: {values}."
    return f"{first} is {_place(subject)}, with {measure(metric).label} {one:.3f} against {other:.3f} for {second}."


def _clear(subject: Subject) -> bool:
    """Whether the lead over the rival is unlikely to be chance, or was not tested."""
    p = tests(subject).get(subject.rival or "")
    return p is None or p < LEVEL


def _found(subject: Subject, hits: str) -> str:
    """The share of users with a hit, in words."""
    first = subject.ranking[0]
    types = " or ".join((subject.split.procedure if subject.split else {}).get("targets", ()))
    item = f"with a hidden event of type {types}" if types else "that the user chose and that was hidden from the model"
    return (
        f"With {first}, for {100 * subject.results[first][hits]:.0f} of 100 users the first {_length(hits)} "
        f"recommendations hold at least one item {item}."
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
    words = f"more accurate than {second}" if _clear(subject) else f"above {second}, no clear difference"
    return Number(f"+{text.percent(value / other - 1)}", words, beside)


def _place(subject: Subject) -> str:
    models = _how_many(subject)
    return "the more accurate of two models" if models == 2 else f"the most accurate of {models} models"


def _how_many(subject: Subject) -> int:
    """How many models there are; tuned and with default settings a model counts once."""
    return len({subject.contestants.get(name, name) for name in subject.models})


def _length(metric: str) -> str:
    k = metric.partition("@")[2]
    return _WORDS.get(k, k)
