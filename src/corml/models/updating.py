"""New interactions for a fitted model, merged with those it has, pair by pair.

A pair that is in both:

    learned from?   as in the new data, unless both have times and the earlier data the later one
    its time        the later of both
    its weight      as if all rows had been loaded at once: weights of events and quantities add up under the same
                    transform, and with a half-life everything is counted from the latest moment of both

Nothing is learned: H, vectors and counts do not change. Items that the model does not have wait for the next
fit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from corml._runtime import durations, memory
from corml.data.clock import Clock
from corml.data.histories import Added
from corml.data.interactions import Interactions
from corml.data.kinds import Kinds
from corml.data.merging import cells
from corml.data.strength import known_weights, latest_of
from corml.errors import UsageError, ascii_line, quoted, warn
from corml.models.fitted import Fitted, present

Floats = NDArray[np.float64]
A_PAIR = 160  # bytes, of both data, while they are merged
SUMS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {  # undo a transform, and apply it
    "none": (lambda x: x, lambda x: x),
    "log1p": (np.expm1, np.log1p),
    "sqrt": (np.square, np.sqrt),
}


def to_learn(state: Fitted) -> Interactions:
    """Everything for the next fit: with the items that any user has, and a record of the updates."""
    data = present(state)
    items = data.items.take(data.item_degrees > 0)
    records = () if state.added is None else state.added.records
    source = {**data.source, "updates": [*data.source.get("updates", []), *records]} if records else data.source
    return replace(data.on(data.users, items).with_elsewhere(data), source=source)


def updated(state: Fitted, new: Interactions, *, weighted: bool) -> Fitted:
    """The state with new interactions, and a record of them; nothing of what was learned is changed."""
    earlier = present(state)
    before = _with_others(earlier)
    memory.require(
        A_PAIR * sum(map(len, [*before, *_with_others(new)])),
        what="Adding interactions to a model",
        instead="free some memory first.",
    )
    _check_loaded_alike(earlier, new)
    _check_times_alike(earlier, new)
    if len(new):
        _warn_if_added_before(state, new)
    data, again, withdrawn = _merged(earlier, new if weighted else replace(new, weights=None), weighted=weighted)
    unknown = state.items.find(new.items) < 0
    record = {
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        **{name: new.source[name] for name in ("from", "rows", "bad_rows", "without_id") if name in new.source},
        "fingerprint": new.fingerprint,
        "interactions": len(new),
        "known_before": again,
        "withdrawn": withdrawn,
        "only_seen": 0 if new.seen is None else len(new.seen),
        "users": sum(len(np.unique(np.concatenate([one.user for one in _all(data)]))) for data in _with_others(new)),
        "new_users": len(data.users)
        - sum(int((data.users.find(one.users) >= 0).sum()) for one in _with_others(earlier)),
        "unknown_items": int(unknown.sum()),
        "with_unknown_items": int(unknown[new.item].sum()),
    }
    records = () if state.added is None else state.added.records
    return replace(state, added=Added(data=data, records=(*records, record)))


def _with_others(data: Interactions) -> list[Interactions]:
    """Some data, and the data of users excluded from training."""
    return [data] if data.others is None else [data, data.others]


def _all(data: Interactions) -> list[Interactions]:
    """Pairs to learn from, and those that are only seen."""
    return [data] if data.seen is None else [data, data.seen]


# --- checks ----------------------------------------------------------------------------------------------------------


def _check_loaded_alike(old: Interactions, new: Interactions) -> None:
    """Weights can be put together only if they mean the same."""
    options = [one.source.get("options", {}) for one in (old, new)]
    for name in ("transform", "half_life"):
        before, now = (one.get(name) for one in options)
        if before != now:
            shown = ["none" if value is None else ascii_line(value) for value in (before, now)]
            raise UsageError(
                f"The data of the model were loaded with {name} {shown[0]} and the new ones with {shown[1]}: load them "
                "alike."
            )
    if old.event_types and not new.event_types:
        raise UsageError(
            f"The data of the model were loaded with event types, {quoted(old.event_types)}, and the new ones without: "
            "each row would count 1. Load them alike, with event= and weights=, or as a file of one type: "
            f"corml.load({{{old.event_types[-1]!r}: data}}, as_update=True, …)."
        )
    if new.event_types and not old.event_types:
        warn(
            "The new data have event types, and those of the model have none: earlier pairs count 1 each, and are of "
            "no known type."
        )
    before, now = (one.get("weights") or {} for one in options)
    if old.event_types and new.event_types and before != now:
        shown = ["; ".join(f"{kind}={weight:g}" for kind, weight in one.items()) or "none" for one in (before, now)]
        warn(
            f"The data of the model were loaded with weights {shown[0]}, and the new ones with {shown[1]}: earlier "
            "pairs keep the weights they have."
        )


def _warn_if_added_before(state: Fitted, new: Interactions) -> None:
    updates = [*state.source.get("updates", []), *(() if state.added is None else state.added.records)]
    first = {"fingerprint": state.fingerprint, "from": state.source.get("from", "interactions"), "when": "with the fit"}
    same = next((one for one in (first, *updates) if one.get("fingerprint") == new.fingerprint), None)
    if same is not None:
        effect = "nothing changes" if new.weights is None else "their weights count twice"
        warn(
            f"The same interactions were added before ({same.get('when')}, from "
            f"{ascii_line(same.get('from', 'interactions'))}): {effect}."
        )


def _check_times_alike(earlier: Interactions, new: Interactions) -> None:
    """Times can be put together only if all are dates, or none."""
    columns = [[part.times for part in _all(one) if part.times is not None] for one in (earlier, new)]
    times = [np.concatenate([np.zeros(0), *column]) for column in columns]
    dates = [Clock.of(column).per_second is not None for column in times if np.isfinite(column).any()]
    if any(dates) and not all(dates):
        shown = ["dates" if one else "numbers that are no dates" for one in dates]
        raise UsageError(
            f"The times of the model's data are {shown[0]} and the new ones {shown[1]}: load them alike, or the new "
            "ones with time=False (--no-time)."
        )


# --- pair by pair ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Records:
    """What some data hold for each cell: whether there is a pair, whether it is learned from, when and how strong."""

    there: NDArray[np.bool_]
    learned: NDArray[np.bool_]
    times: Floats  # NaN where there is none
    sums: Floats  # weights before the transform; 0 of pairs that are only seen
    dislikes: Floats  # strength of negative feedback; 0 without

    @classmethod
    def of(cls, parts: Sequence[Interactions], every: NDArray[np.int64], transform: str) -> Self:
        """From parts without a common pair, on the same ids."""
        count = len(every)
        flags, numbers = np.zeros((2, count), dtype=bool), np.zeros((2, count))
        records = cls(flags[0], flags[1], np.full(count, np.nan), numbers[0], numbers[1])
        for data in parts:
            for part in _all(data):
                at = np.searchsorted(every, cells(part))
                records.there[at] = True
                records.times[at] = np.nan if part.times is None else part.times
            at = np.searchsorted(every, cells(data))
            records.learned[at] = True
            weights = np.ones(len(data)) if data.weights is None else data.weights.astype(np.float64)
            records.sums[at] = SUMS[transform][0](weights)
            if data.negative is not None:
                strengths = 1.0 if data.negative.weights is None else data.negative.weights
                records.dislikes[np.searchsorted(every, cells(data.negative))] = strengths
        return records


def _merged(earlier: Interactions, new: Interactions, *, weighted: bool) -> tuple[Interactions, int, int]:
    """Both as one, how many pairs to learn from were there before, and how many are no longer learned from."""
    users, items = earlier.users.union(new.users), earlier.items.union(new.items)
    if new.others is not None:
        users = users.union(new.others.users)
    source, transform = _source(earlier, new), _transform(earlier)
    moved = [[replace(part, others=None).on(users, items) for part in _with_others(data)] for data in (earlier, new)]
    parts = [one for data in moved for part in data for one in _all(part)]
    every = np.unique(np.concatenate([cells(part) for part in parts]))
    old, fresh = (_Records.of(data, every, transform) for data in moved)
    later = fresh.there & ~(old.there & (fresh.times < old.times))
    learned = np.where(later, fresh.learned, old.learned)
    if not _withdraws(new.source):
        learned |= old.learned & ~(later & (fresh.dislikes > 0))
    times = None if earlier.times is None and new.times is None else np.fmax(old.times, fresh.times)
    kinds = Kinds.joined([part.kinds for part in parts], [len(part) for part in parts])
    if kinds is not None:
        kinds = kinds.onto(np.searchsorted(every, np.concatenate([cells(part) for part in parts])), len(every))

    def pairs(keep: NDArray[np.bool_], **about: Any) -> Interactions:
        user, item = (part.astype(np.int32) for part in np.divmod(every[keep], len(items)))
        when, types = None if times is None else times[keep], None if kinds is None else kinds.where(keep)
        return Interactions(users, items, user, item, when, kinds=types, **about)

    attributes, dislikes = earlier.attributes, np.where(learned, 0.0, np.where(later, fresh.dislikes, old.dislikes))
    if attributes is not None and new.attributes is not None:  # a new table fills gaps, such as what new items are
        attributes = attributes.extended(new.attributes.on(items)).on(items)
    disliked = dislikes > 0
    data = pairs(
        learned,
        seen=None if learned.all() else pairs(~learned),
        negative=pairs(disliked, weights=known_weights(dislikes[disliked])) if disliked.any() else None,
        weights=_weights(old, fresh, learned, (earlier, new), source.get("latest")) if weighted else None,
        titles={**new.titles, **earlier.titles},
        source=source,
        attributes=attributes,
    )
    if earlier.others is not None or earlier.elsewhere is not None:
        data = replace(data, others=earlier.on(users, items).others).with_elsewhere(earlier)
    if new.elsewhere is not None:
        data = data.with_elsewhere(new)
    return data, int((old.there & fresh.learned).sum()), int((old.learned & ~learned).sum())


def _transform(data: Interactions) -> str:
    return str(data.source.get("options", {}).get("transform") or "none")


def _weights(
    old: _Records,
    fresh: _Records,
    learned: NDArray[np.bool_],
    data: tuple[Interactions, Interactions],
    latest: float | None,
) -> NDArray[np.float32] | None:
    """The weights of the pairs to learn from; None where all count alike."""
    options, weighing = data[0].source.get("options", {}), {"event", "weight", "half_life"}
    if not weighing & options.keys() and all(part.weights is None for one in data for part in _with_others(one)):
        return None
    fade_old, fade_new = _fading(*data, latest, options.get("half_life"))
    add = np.add if "half_life" not in options or {"event", "weight"} & options.keys() else np.maximum
    sums = add(old.sums * old.learned * fade_old, fresh.sums * fresh.learned * fade_new)[learned]
    return known_weights(np.maximum(SUMS[_transform(data[0])][1](sums), np.finfo(np.float32).tiny))  # however old


def _withdraws(source: Mapping[str, Any]) -> bool:
    """Whether a pair that the new data have only seen is no longer learned from.

    A low rating takes back an earlier interaction. An event of a type with weight 0 does not, so where there is such a
    type only negative events do.
    """
    weights = source.get("options", {}).get("weights") or {}
    return all(weights.values())


def _fading(earlier: Interactions, new: Interactions, latest: float | None, half_life: Any) -> tuple[float, float]:
    """What is left of weights when ages are counted from the latest moment of both."""
    if half_life is None or latest is None:
        return 1.0, 1.0
    length = durations.seconds(half_life, "half_life")
    moments = (_reference(one) for one in (earlier, new))
    old, fresh = (1.0 if moment is None else float(np.exp2((moment - latest) / length)) for moment in moments)
    return old, fresh


def _reference(data: Interactions) -> float | None:
    """The moment from which the ages of some weights were counted."""
    recorded = data.source.get("latest")
    if isinstance(recorded, int | float):
        return float(recorded)
    return latest_of(data.times, None if data.seen is None else data.seen.times)


def _source(earlier: Interactions, new: Interactions) -> dict[str, Any]:
    """Where all of it came from: loaded like the earlier data, from all files."""
    before = earlier.source.get("from", "unknown")
    names = [*(before if isinstance(before, list) else [before]), str(new.source.get("from", "interactions"))]
    kept = {
        name: earlier.source[name] for name in ("options", "licence", "citation", "updates") if name in earlier.source
    }
    moments = [moment for moment in map(_reference, (earlier, new)) if moment is not None]
    aged = "half_life" in kept.get("options", {}) and moments
    return {"from": names, **kept, **({"latest": max(moments)} if aged else {})}
