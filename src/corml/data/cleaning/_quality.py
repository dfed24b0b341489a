"""The data-quality report: what is in the data, what looks wrong, and what to do about it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from corml._runtime.values import counted
from corml.data._load import LONGER, SWAPPED, load
from corml.data._options import LoadOptions
from corml.data.cleaning._filters import core
from corml.data.clock import Clock
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.long_histories import LONGEST
from corml.data.strength import faded
from corml.errors import UsageError, ascii_line, printable, quoted

QUANTILES = {"min": 0.0, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "max": 1.0}
FEW = 5  # interactions that the suggested k-core asks for
MANY_SINGLES = 0.2  # share of users or items with one interaction that deserves a note
HEAVY_HEAD = 0.5  # share of interactions on the top 1 % of items that does
HEAVY_TAIL = 0.6  # share of the weight on the strongest 10 % of pairs that does
WEAK = 0.25  # of the mean weight of a pair: weaker negative feedback does little
NOTHING = {"na", "n/a", "nan", "null", "none", "nil", "undefined", "unknown", "-"}
COUNTS = {  # facts that `load` counts
    "rows": "rows read",
    "bad_rows": "bad rows skipped",
    "without_id": "rows without a user or item",
    "duplicates": "repeated rows",
    "conflicts": "pairs with differing ratings",
    "filtered": "pairs rated too low",
}
AS_SHARE = ("density", "share", "weight of the strongest", "negative feedback relative")
AS_WEIGHTS = ("weights", "weight of negative feedback")

_POINT_ZERO = re.compile(r"\d+\.0")

Advice = tuple[str, str, str]  # severity, finding, and what to do
Fact = tuple[str, object]

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

    facts: list[Fact]
    findings: list[Finding]

    def __str__(self) -> str:
        rows = [(label, str(value)) for label, value in self.written()]
        width = max((len(label) for label, _ in rows), default=0)
        return "\n".join([*(f"{label:<{width}}  {value}" for label, value in rows), "", self.advice()])

    def written(self) -> list[Fact]:
        """The facts as text for readers."""
        return [(label, _written(label, value)) for label, value in self.facts]

    def advice(self) -> str:
        """All findings with what to do about each, as text."""
        lines = [f"{one.severity}: {one.what}\n    → {one.advice}" for one in self.findings]
        return "\n".join(lines) or "No problems found."

    def to_dict(self) -> dict[str, object]:
        """The report for JSON."""
        return {"facts": dict(self.facts), "findings": [asdict(finding) for finding in self.findings]}


def examine(source: object, **options: Unpack[LoadOptions]) -> Report:
    """Examine interactions, or whatever `load` takes, with its options."""
    if isinstance(source, Interactions) and options:
        raise UsageError("Options say how to load: give them with a file, a frame or a name, not with Interactions.")
    data = source if isinstance(source, Interactions) else load(source, **options)
    advice = [
        *_about_rows(data),
        *_about_times(data, options.get("now")),
        *_about_weights(data),
        *_about_known_items(data),
        *_about_shape(data),
        *_about_long_histories(data),
        *_about_ids(data.users),
        *_about_ids(data.items),
    ]
    findings = sorted((Finding(*one) for one in advice), key=lambda finding: finding.severity != "warning")
    return Report(list(_facts(data)), findings)


def _written(label: str, value: object) -> object:
    """A fact as text; a number that stands alone stays one."""
    shape = ".1%" if label.startswith("share") else ".3g" if label in AS_WEIGHTS else ",.0f"
    if isinstance(value, dict):
        return "  ".join(f"{name} {number:{shape}}" for name, number in value.items())
    if label.startswith(AS_SHARE):
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) else value


def _facts(data: Interactions) -> Iterator[Fact]:
    users, items = data.shape
    yield from (("users", users), ("items", items), ("interactions", len(data)))
    yield from ((label, data.source[key]) for key, label in COUNTS.items() if key in data.source)
    if data.seen is not None:
        yield "exclude-only pairs", len(data.seen)
    if data.others is not None:
        yield "users excluded from training", len(data.others.users)
    if data.weights is not None:
        weights = data.weights.astype(np.float64)
        yield "weights", _quantiles(weights)
        yield "weight of the strongest 10 % of pairs", _head(weights, 0.1)
        yield "pairs of equal weight with the same information", round(float(weights.sum() ** 2 / (weights**2).sum()))
    yield from _weight_facts(data)
    yield "density", len(data) / (users * items)
    for noun, degrees in (("user", data.user_degrees), ("item", data.item_degrees)):
        yield f"interactions per {noun}", _quantiles(degrees)
    for noun, degrees in (("users", data.user_degrees), ("items", data.item_degrees)):
        yield f"{noun} with one interaction", int((degrees == 1).sum())
    yield "share of the top 1 % of items", _head(data.item_degrees, 0.01)
    yield "share of the top 10 % of items", _head(data.item_degrees, 0.1)
    yield "items with a title", sum(label in data.titles for label in data.items.labels)
    if data.times is not None:
        clock = Clock.of(data.times)
        yield "first time", clock.shown(float(data.times.min()))
        yield "last time", clock.shown(float(data.times.max()))


def _weight_facts(data: Interactions) -> Iterator[Fact]:
    """What event types, ratings and negative feedback do."""
    weights = np.ones(len(data)) if data.weights is None else data.weights.astype(np.float64)
    if data.kinds is not None:
        names, codes = data.kinds.names, data.kinds.last
        pairs = np.bincount(codes, minlength=len(names))
        by_type = np.bincount(codes, weights=weights, minlength=len(names)) / weights.sum()
        which = "strongest" if data.times is None else "last"  # without times the strongest event comes last
        yield f"pairs by their {which} event", {names[at]: int(pairs[at]) for at in np.flatnonzero(pairs)}
        yield f"share of the weight by {which} event", {names[at]: float(by_type[at]) for at in np.flatnonzero(pairs)}
    options = data.source.get("options", {})
    if options.get("rating_strength"):
        yield "weight of a rating", f"rating - {options['at_least']:g} + 1"
    if data.negative is not None:
        yield "pairs with negative feedback", len(data.negative)
        yield "users with negative feedback", int((data.negative.user_degrees > 0).sum())
        yield "weight of negative feedback", _quantiles(_negative_weights(data.negative))
        relative = float(_negative_weights(data.negative).sum() / weights.sum())
        yield "negative feedback relative to the weight of all pairs", relative


def _negative_weights(negative: Interactions) -> NDArray[np.float64]:
    return np.ones(len(negative)) if negative.weights is None else negative.weights.astype(np.float64)


def _about_weights(data: Interactions) -> Iterator[Advice]:
    """Weak negative feedback; and quantities such as hours of play, where a few pairs dominate a fit."""
    if data.weights is None:
        return
    if data.negative is not None:
        negative, mean = float(_negative_weights(data.negative).mean()), float(data.weights.mean())
        if negative < WEAK * mean:
            advice = "a larger weight pushes down more: give its event type a number in weights= (--weights)"
            yield "note", f"negative feedback weighs {negative:.3g}, an interaction {mean:.3g} on average", advice
    options = data.source.get("options", {})
    if remark := faded(data.weights, options.get("half_life")):
        yield "warning", remark, LONGER[0].lower() + LONGER[1:]
    head = _head(data.weights.astype(np.float64), 0.1)
    if "weight" in options and options.get("transform") in (None, "none") and head > HEAVY_TAIL:
        advice = "use transform='log1p' (--transform log1p), and compare with no weight"
        yield "note", f"10 % of the pairs have {head:.0%} of the weight", advice


def _about_known_items(data: Interactions) -> Iterator[Advice]:
    """How many items lists leave out, and how many without those that only had the commonest event type."""
    options = data.source.get("options", {})
    refused, weights = options.get("negative") or (), options.get("weights") or {}
    types = [name for name in data.event_types if name not in refused]
    if len(types) < 2:
        return
    pairs = {name: int(_known_items(data, [name]).sum()) for name in types}
    commonest = max(types, key=lambda name: pairs[name])
    others = [name for name in types if name != commonest]
    if weights.get(commonest, 1) >= max(weights.get(name, 1) for name in others):
        return  # it says as much as any other: a purchase is not offered again because there are many
    known, hidden = _known_items(data, data.event_types), _known_items(data, [*others, *refused])
    yield (
        "note",
        f"lists leave out all known items of a user: {np.median(known):,.0f} items of the median user, "
        f"{known.max():,} of the heaviest; without those that had nothing but {ascii_line(commonest)} events it would "
        f"be {np.median(hidden):,.0f} and {hidden.max():,}",
        f"if these may be recommended again, give hide_events= (--hide-events {','.join(map(printable, others))}) to "
        "recommend",
    )


def _known_items(data: Interactions, names: Sequence[str]) -> NDArray[np.int64]:
    """How many items each user ever had an event of these types on."""
    counts = np.zeros(len(data.users), dtype=np.int64)
    for part in (data, data.seen):
        if part is not None and part.kinds is not None:
            counts += np.bincount(part.user[part.kinds.having(names)], minlength=len(counts))
    return counts


def _about_rows(data: Interactions) -> Iterator[Advice]:
    counts, weighted = data.source, data.weights is not None
    options = counts.get("options", {})
    adds_up = weighted and ("weight" in options or data.kinds is not None)
    merged = "the latest row of each pair counts" if "half_life" in options else "repeated pairs count once"
    merged = "their weights are added up" if adds_up else merged
    if bad := counts.get("bad_rows"):
        what = _some(bad, "row", "could not be read and was left out", "could not be read and were left out")
        yield "warning", what, "correct them in the file"
    if repeats := counts.get("duplicates"):
        yield "note", f"{_some(repeats, 'row', 'repeats', 'repeat')} a pair", f"nothing to do: {merged}"
    if exact := counts.get("exact_duplicates"):
        effect = ": their weights are added up" if adds_up else "; here they count once"
        what = f"{_some(exact, 'row', 'equals', 'equal')} another: same user, item, time and all else that is read"
        advice = f"if an export was put together twice, take them out{effect}"
        yield "warning" if adds_up else "note", what, advice
    if conflicts := counts.get("conflicts"):
        advice = "the latest rating counts (without times the highest): give time= (--time) if there is such a column"
        yield "warning", f"{_some(conflicts, 'pair', 'has', 'have')} ratings that differ", advice


def _about_times(data: Interactions, now: object) -> Iterator[Advice]:
    """Implausible times, in data that did not come through `load`, where they are bad rows."""
    if data.times is None:
        return
    clock = Clock.of(data.times)
    late, absent = clock.late(data.times, now), clock.absent(data.times)
    if late.any():
        last = clock.shown(float(data.times.max()))
        advice = "take them out: ages (half_life, exclude_recent) count from the latest time; load refuses such rows"
        yield "warning", f"{int(late.sum()):,} pairs have a time later than now, the last {last}", advice
    if absent.any():
        days = sorted({clock.shown(float(moment))[:10] for moment in np.unique(data.times[absent])})
        advice = "take them out, or correct their times; load refuses such rows"
        yield "warning", f"{int(absent.sum()):,} pairs have a time that stands for none: {quoted(days)}", advice


def _about_shape(data: Interactions) -> Iterator[Advice]:
    users, items = data.shape
    if items > SWAPPED * users:
        advice = "if user and item are swapped, give user= (--user) and item= (--item)"
        yield "warning", f"there are {items:,} items but only {users:,} users", advice
    if min(users, items) < 2:
        yield "warning", f"{users:,} users and {items:,} items", "at least two of each are needed: add data"
    for kind, degrees in (("users", data.user_degrees), ("items", data.item_degrees)):
        share = float((degrees == 1).mean())
        if share > MANY_SINGLES:
            left = core(data.user, data.item, data.shape, FEW).any()
            advice = f"k_core={FEW} (--k-core {FEW}) leaves out what cannot be learned or tested"
            advice = advice if left else f"add data: no {FEW}-core (--k-core {FEW}) would be left of these"
            yield "note", f"{share:.0%} of {kind} have a single interaction", advice
    head = _head(data.item_degrees, 0.01)
    if head > HEAVY_HEAD and items >= 100:
        advice = "compare with the popularity baseline, and watch novelty as well as accuracy"
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
        "(--set longest_history=none) limits how much of a history is used",
    )


def _about_ids(ids: Ids) -> Iterator[Advice]:
    """Ids that are probably not what they seem: blanks, twins and words for «nothing»."""
    labels = [str(label) for label in ids.labels]
    if blank := [label for label in labels if label != label.strip()]:
        what = f"{_some(len(blank), f'{ids.kind} id', 'begins or ends', 'begin or end')} with a blank: {quoted(blank)}"
        yield "warning", what, "trim=True (--trim) takes the blanks off"
    if all(map(_POINT_ZERO.fullmatch, labels)):
        what = f"all {ids.kind} ids end in .0, as whole numbers do that came from a column with gaps: {quoted(labels)}"
        yield "warning", what, "write them without .0 where the file is made: 7.0 is not the 7 of another file"
    if empty := [label for label in labels if label.strip().lower() in NOTHING]:
        what = f"{ids.kind} ids that may stand for a missing one: {quoted(empty)}"
        yield "warning", what, "if they do, null_ids='drop' (--null-ids drop) leaves such rows out"
    for difference, normal, advice in _TWINS:
        first: dict[str, str] = {}
        if twins := [label for label in labels if first.setdefault(normal(label), label) != label]:
            differ = _some(len(twins), f"{ids.kind} id", "differs", "differ")
            what = f"{differ} from another only by {difference}: {quoted(twins)}"
            yield "warning", what, advice


def _some(number: int, noun: str, one_does: str, many_do: str) -> str:
    return f"{counted(number, noun)} {one_does if number == 1 else many_do}"


def _quantiles(values: NDArray[np.int64] | NDArray[np.float64]) -> dict[str, float]:
    return dict(zip(QUANTILES, np.quantile(values, list(QUANTILES.values())).tolist(), strict=True))


def _head(values: NDArray[np.int64] | NDArray[np.float64], share: float) -> float:
    top = max(1, round(share * len(values)))
    return float(np.sort(values)[::-1][:top].sum() / values.sum())
