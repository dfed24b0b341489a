"""The doctor: what is in the data, what looks wrong, and what to do about it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from corml.data._load import SWAPPED, load
from corml.data._options import LoadOptions
from corml.data.clock import Clock
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.long_histories import LONGEST
from corml.errors import UsageError, ascii_line, printable, quoted

__all__ = ["Finding", "Report", "examine"]

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)
MANY_SINGLES = 0.2  # share of users or items with one interaction that deserves a remark
HEAVY_HEAD = 0.5  # share of interactions on the top 1 % of items that does
HEAVY_TAIL = 0.6  # share of the weight on the strongest 10 % of pairs that does
WEAK_NO = 0.25  # of the mean weight of a pair: a no that is weaker does little
NOTHING = {"na", "n/a", "nan", "null", "none", "nil", "undefined", "unknown", "-"}

_POINT_ZERO = re.compile(r"\d+\.0")

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

    def __str__(self) -> str:
        rows = [(label, str(value)) for label, value in self.written()]
        width = max((len(label) for label, _ in rows), default=0)
        return "\n".join([*(f"{label:<{width}}  {value}" for label, value in rows), "", self.advice()])

    def written(self) -> list[tuple[str, Any]]:
        """The facts as people read them."""
        return [(label, _written(label, value)) for label, value in self.facts]

    def advice(self) -> str:
        """All findings with what to do about each, as text."""
        lines = [f"{one.severity}: {one.what}\n    → {one.advice}" for one in self.findings]
        return "\n".join(lines) or "No problems found."

    def to_dict(self) -> dict[str, Any]:
        """Give the report as JSON would have it."""
        return {"facts": dict(self.facts), "findings": [asdict(finding) for finding in self.findings]}


def examine(source: object, **options: Unpack[LoadOptions]) -> Report:
    """Examine interactions, or whatever `load` takes, with its options."""
    if isinstance(source, Interactions) and options:
        raise UsageError("Options say how to load: give them with a file, a frame or a name, not with Interactions.")
    data = source if isinstance(source, Interactions) else load(source, **options)
    remarks = [
        *_about_rows(data),
        *_about_times(data, options.get("now")),
        *_about_noes(data),
        *_about_weights(data),
        *_about_known_items(data),
        *_about_shape(data),
        *_about_long_histories(data),
        *_about_ids(data.users),
        *_about_ids(data.items),
    ]
    findings = sorted((Finding(*remark) for remark in remarks), key=lambda finding: finding.severity != "warning")
    return Report(list(_facts(data)), findings)


def _written(label: str, value: Any) -> Any:
    """A fact as people read it; a number that stands alone stays one."""
    if isinstance(value, dict) and label.startswith("share"):
        return "  ".join(f"{name} {number:.1%}" for name, number in value.items())
    if isinstance(value, dict) and label in ("weights", "strength of a no"):
        return "  ".join(f"{name} {number:.3g}" for name, number in value.items())
    if isinstance(value, dict):
        return "  ".join(f"{name} {number:,.0f}" for name, number in value.items())
    if label == "density" or label.startswith(("share", "weight of the strongest", "noes beside")):
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) else value


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
        yield "pairs of equal weight that would say as much", round(float(weights.sum() ** 2 / (weights**2).sum()))
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
        clock = Clock.of(data.times)
        yield "first time", clock.shown(float(data.times.min()))
        yield "last time", clock.shown(float(data.times.max()))


def _strength_facts(data: Interactions) -> Iterator[tuple[str, Any]]:
    """What kinds, ratings and noes do."""
    weights = np.ones(len(data)) if data.weights is None else data.weights.astype(np.float64)
    if data.kinds is not None:
        names, codes = data.kinds.names, data.kinds.last
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


def _about_weights(data: Interactions) -> Iterator[Advice]:
    """Quantities such as hours of play: a few pairs would be nearly all that a fit sees."""
    options = data.source.get("options", {})
    if data.weights is None or "weight" not in options or options.get("transform") not in (None, "none"):
        return
    head = _head(data.weights.astype(np.float64), 0.1)
    if head > HEAVY_TAIL:
        yield (
            "note",
            f"10 % of the pairs have {head:.0%} of the weight",
            "use transform='log1p' (--transform log1p), and compare with no weight",
        )


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
        f"lists leave out everything known of a user: {np.median(known):,.0f} items of the median user, "
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
    rows = data.source
    if rows.get("bad_rows"):
        yield "warning", f"{rows['bad_rows']:,} rows could not be read and were left out", "correct them in the file"
    if rows.get("duplicates"):
        advice = (
            f"nothing to do: {'repeated pairs count once' if data.weights is None else 'their weights are added up'}"
        )
        yield "note", f"{rows['duplicates']:,} rows repeat a pair", advice
    if rows.get("exact_duplicates"):
        advice = "if an export was put together twice, take them out" + (
            ": their weights are added up" if data.weights is not None else "; here they count once"
        )
        same = f"{rows['exact_duplicates']:,} rows say the same as another"
        what = f"{same}: same user, item, time and all else that is read"
        yield "note" if data.weights is None else "warning", what, advice
    if rows.get("conflicts"):
        advice = "the latest rating counts (without times the highest): give time= (--time) if there is such a column"
        yield "warning", f"{rows['conflicts']:,} pairs have ratings that differ", advice


def _about_times(data: Interactions, now: Any) -> Iterator[Advice]:
    """Times that cannot be meant, in data that did not come through `load`, which has them as bad rows."""
    if data.times is None:
        return
    clock = Clock.of(data.times)
    late, absent = clock.late(data.times, now), clock.absent(data.times)
    if late.any():
        yield (
            "warning",
            f"{int(late.sum()):,} pairs have a time later than now, the last {clock.shown(float(data.times.max()))}",
            "take them out: ages (half_life, exclude_recent) count from the latest time; load refuses such rows",
        )
    if absent.any():
        days = sorted({clock.shown(float(moment))[:10] for moment in np.unique(data.times[absent])})
        yield (
            "warning",
            f"{int(absent.sum()):,} pairs have a time that stands for none: {quoted(days)}",
            "take them out, or correct their times; load refuses such rows",
        )


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
    if all(map(_POINT_ZERO.fullmatch, labels)):
        what = f"all {ids.kind} ids end in .0, as whole numbers do that came from a column with gaps: {quoted(labels)}"
        yield "warning", what, "write them without .0 where the file is made: 7.0 is not the 7 of another file"
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
