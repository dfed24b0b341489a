"""The doctor: what is in the data, what looks wrong, and what to do about it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.datasets._load import SWAPPED, load
from corml.errors import UsageError, quoted
from corml.ids import Ids
from corml.interactions import Interactions
from corml.long_histories import LONGEST

__all__ = ["Finding", "Report", "examine"]

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)
MANY_SINGLES = 0.2  # share of users or items with one interaction that deserves a remark
HEAVY_HEAD = 0.5  # share of interactions on the top 1 % of items that does
WEAK_NO = 0.25  # of the mean weight of a pair: a no that is weaker does little
NOTHING = {"na", "n/a", "nan", "null", "none", "nil", "undefined", "unknown", "-"}

Advice = tuple[str, str, str]  # severity, finding, and what to do

_TWINS: tuple[tuple[str, Callable[[str], str], str], ...] = (
    ("blanks around them", str.strip, "trim=True (--trim) makes them one"),
    ("upper and lower case", str.casefold, "if they are one, write them alike in the file"),
    ("a final .0", lambda label: re.sub(r"^(\d+)\.0+$", r"\1", label), "write whole numbers without .0 in the file"),
    ("leading zeros", lambda label: re.sub(r"^0+(?=\d)", "", label), "if they are one, write them alike in the file"),
)


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong («warning») or is worth knowing («note»), and what to do about it."""

    severity: str
    what: str
    advice: str


@dataclass(frozen=True)
class Report:
    """Facts in reading order, and findings, the serious ones first."""

    facts: list[tuple[str, Any]]
    findings: list[Finding]

    def to_dict(self) -> dict[str, Any]:
        """Give the report as JSON would have it."""
        return {"facts": dict(self.facts), "findings": [asdict(finding) for finding in self.findings]}


def examine(source: Any, **options: Any) -> Report:
    """Examine interactions, or whatever `load` takes, with its options."""
    if isinstance(source, Interactions) and options:
        raise UsageError("Options say how to load: give them with a file, a frame or a name, not with Interactions.")
    data = source if isinstance(source, Interactions) else load(source, **options)
    remarks = [
        *_about_rows(data),
        *_about_noes(data),
        *_about_shape(data),
        *_about_long_histories(data),
        *_about_ids(data.users),
        *_about_ids(data.items),
    ]
    findings = sorted((Finding(*remark) for remark in remarks), key=lambda finding: finding.severity != "warning")
    return Report(list(_facts(data)), findings)


def _facts(data: Interactions) -> Iterator[tuple[str, Any]]:
    users, items = data.shape
    yield "users", users
    yield "items", items
    yield "interactions", len(data)
    for label, key in (
        ("rows read", "rows"),
        ("bad rows skipped", "bad_rows"),
        ("rows without a user or item", "without_id"),
        ("repeated rows", "duplicates"),
        ("pairs with differing ratings", "conflicts"),
        ("pairs rated too low", "filtered"),
    ):
        if key in data.source:
            yield label, data.source[key]
    if data.seen is not None:
        yield "pairs only seen, not learned from", len(data.seen)
    if data.others is not None:
        yield "people not learned from, only known", len(data.others.users)
    if data.weights is not None:
        weights = data.weights.astype(np.float64)
        yield "weights", _quantiles(weights)
        yield "weight of the strongest 10 % of pairs", _head(weights, 0.1)
        yield "interactions the weights are worth", round(float(weights.sum() ** 2 / (weights**2).sum()))
    yield from _strength_facts(data)
    yield "density", len(data) / (users * items)
    yield "interactions per user", _quantiles(data.user_degrees)
    yield "interactions per item", _quantiles(data.item_degrees)
    yield "users with one interaction", int((data.user_degrees == 1).sum())
    yield "items with one interaction", int((data.item_degrees == 1).sum())
    yield "share of the top 1 % of items", _head(data.item_degrees, 0.01)
    yield "share of the top 10 % of items", _head(data.item_degrees, 0.1)
    yield "items with a title", sum(label in data.titles for label in data.items.labels)
    if data.times is not None:
        yield "first time", _moment(float(data.times.min()))
        yield "last time", _moment(float(data.times.max()))


def _strength_facts(data: Interactions) -> Iterator[tuple[str, Any]]:
    """What kinds, ratings and noes do."""
    weights = np.ones(len(data)) if data.weights is None else data.weights.astype(np.float64)
    if data.kinds is not None:
        names, codes = data.kinds.names, data.kinds.codes
        pairs = np.bincount(codes, minlength=len(names))
        by_kind = np.bincount(codes, weights=weights, minlength=len(names)) / weights.sum()
        yield "pairs by their last event", {names[at]: int(pairs[at]) for at in np.flatnonzero(pairs)}
        yield "share of the weight by last event", {names[at]: float(by_kind[at]) for at in np.flatnonzero(pairs)}
    options = data.source.get("options", {})
    if options.get("rating_strength"):
        yield "weight of a rating", f"rating - {options['at_least']:g} + 1"
    if data.negative is not None:
        yield "pairs said no to", len(data.negative)
        yield "users who said no", int((data.negative.user_degrees > 0).sum())
        yield "strength of a no", _quantiles(_noes(data))
        yield "noes beside the weight of all pairs", float(_noes(data).sum() / weights.sum())


def _noes(data: Interactions) -> NDArray[np.float64]:
    """How strong each no is."""
    no = data.negative
    return np.zeros(0) if no is None else np.ones(len(no)) if no.weights is None else no.weights.astype(np.float64)


def _about_noes(data: Interactions) -> Iterator[Advice]:
    if data.negative is None or data.weights is None:
        return
    no, yes = float(_noes(data).mean()), float(data.weights.mean())
    if no < WEAK_NO * yes:
        advice = "a stronger no pushes down more: give its kind a number in weights= (--weights)"
        yield "note", f"a no weighs {no:.3g} where an interaction weighs {yes:.3g} on average", advice


def _about_rows(data: Interactions) -> Iterator[Advice]:
    rows = data.source
    if rows.get("bad_rows"):
        yield "warning", f"{rows['bad_rows']:,} rows could not be read and were left out", "correct them in the file"
    if rows.get("duplicates"):
        advice = (
            f"nothing to do: {'repeated pairs count once' if data.weights is None else 'their weights are added up'}"
        )
        yield "note", f"{rows['duplicates']:,} rows repeat a pair", advice
    if rows.get("conflicts"):
        advice = "the latest rating counts (without times the highest): give time= (--time) if there is such a column"
        yield "warning", f"{rows['conflicts']:,} pairs have ratings that differ", advice


def _about_shape(data: Interactions) -> Iterator[Advice]:
    users, items = data.shape
    if items > SWAPPED * users:
        advice = "if user and item are swapped, give user= (--user) and item= (--item)"
        yield "warning", f"there are {items:,} items but only {users:,} users", advice
    if min(users, items) < 2:
        yield (
            "warning",
            f"{users:,} users and {items:,} items",
            "at least two of each are needed to learn from: add data",
        )
    for kind, degrees in (("users", data.user_degrees), ("items", data.item_degrees)):
        share = float((degrees == 1).mean())
        if share > MANY_SINGLES:
            advice = "k_core=5 (--k-core 5) leaves out what cannot be learned or tested"
            yield "note", f"{share:.0%} of {kind} have a single interaction", advice
    head = _head(data.item_degrees, 0.01)
    if head > HEAVY_HEAD and items >= 100:
        advice = "compare with the popularity baseline, and watch novelty beside accuracy"
        yield "note", f"the top 1 % of items hold {head:.0%} of all interactions", advice


def _about_long_histories(data: Interactions) -> Iterator[Advice]:
    """Users that are probably not one person, and what models that count pairs make of them."""
    long = np.flatnonzero(data.user_degrees > LONGEST)
    if not len(long):
        return
    left_out = int((data.user_degrees[long] - LONGEST).sum())
    longest_first = long[np.argsort(-data.user_degrees[long], kind="stable")]
    yield (
        "note",
        f"{len(long):,} users have more than {LONGEST:,} items: {quoted(data.users.labels[longest_first].tolist())}; "
        f"models that count pairs of items learn from {LONGEST:,} of each, without {left_out:,} interactions",
        "if they are programs, or accounts that many share, take their rows out; else longest_history "
        "(--set longest_history=none) says how much of a history is learned from",
    )


def _about_ids(ids: Ids) -> Iterator[Advice]:
    """Ids that are probably not what they seem: blanks, twins and words for «nothing»."""
    labels = [str(label) for label in ids.labels]
    blank = [label for label in labels if label != label.strip()]
    if blank:
        what = f"{len(blank):,} {ids.kind} ids begin or end with a blank: {quoted(blank)}"
        yield "warning", what, "trim=True (--trim) takes the blanks off"
    empty = [label for label in labels if label.strip().lower() in NOTHING]
    if empty:
        what = f"{ids.kind} ids that may stand for a missing one: {quoted(empty)}"
        yield "warning", what, "if they do, null_ids='drop' (--null-ids drop) leaves such rows out"
    for difference, normal, advice in _TWINS:
        twins = _twins(labels, normal)
        if twins:
            yield (
                "warning",
                f"{len(twins):,} {ids.kind} ids differ from another only by {difference}: {quoted(twins)}",
                advice,
            )


def _twins(labels: list[str], normal: Callable[[str], str]) -> list[str]:
    first: dict[str, str] = {}
    return [label for label in labels if first.setdefault(normal(label), label) != label]


def _quantiles(degrees: NDArray[Any]) -> dict[str, float]:
    names = ("min", "25 %", "median", "75 %", "95 %", "max")
    return dict(zip(names, np.quantile(degrees, QUANTILES).tolist(), strict=True))


def _head(degrees: NDArray[Any], share: float) -> float:
    top = max(1, round(share * len(degrees)))
    return float(np.sort(degrees)[::-1][:top].sum() / degrees.sum())


def _moment(seconds: float) -> str:
    """Write a date where the number can be one since 1970 (in seconds or thousandths), else the number."""
    for scale in (1.0, 1e3):
        if 1e8 <= seconds / scale < 1e10:
            return datetime.fromtimestamp(seconds / scale, UTC).isoformat(timespec="seconds")
    return f"{seconds:g}"
