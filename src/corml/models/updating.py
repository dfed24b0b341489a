"""New interactions for a fitted model: what was known and what is new become one, pair by pair.

A pair that is known already:

    learned from?   the later word decides: that of the new data, unless both have times and the known one is later
    its time        the later of both
    its weight      as if all rows had been loaded at once: weights of events and quantities add up under the same
                    transform, and with a half-life everything is counted from the latest moment of both

Nothing is learned: H, vectors and counts stay those of the fit. Items the model does not know are kept for the next.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from corml._runtime import durations, memory
from corml.data.attributes import Attributes
from corml.data.clock import Clock
from corml.data.histories import Added
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.kinds import Kinds
from corml.data.strength import known_weights, latest_of
from corml.errors import UsageError, ascii_line, quoted, warn
from corml.models.fitted import Fitted, present

Floats = NDArray[np.float64]
A_PAIR = 160  # bytes, of both data, while they become one
SUMS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {  # of a transform, and back
    "none": (lambda x: x, lambda x: x),
    "log1p": (np.expm1, np.log1p),
    "sqrt": (np.square, np.sqrt),
}


def to_learn(state: Fitted) -> Interactions:
    """Everything that is known, for the next fit: with the items that somebody has, and a record of the updates."""
    data = present(state)
    items = data.items.take(data.item_degrees > 0)
    records = () if state.added is None else state.added.records
    source = {**data.source, "updates": [*data.source.get("updates", []), *records]} if records else data.source
    return replace(data.on(data.users, items).with_elsewhere(data), source=source)


def updated(state: Fitted, new: Interactions, *, weighted: bool) -> Fitted:
    """The state with new interactions, and a record of them; nothing of what was learned is changed."""
    known = present(state)
    memory.require(
        A_PAIR * sum(len(part) for one in (known, new) for part in _people(one)),
        what="Adding interactions to a model",
        instead="free some memory first.",
    )
    _check_loaded_alike(known, new)
    _check_times_alike(known, new)
    if len(new):
        _warn_if_known(state, new)
    data, again, withdrawn = _joined(known, new if weighted else replace(new, weights=None), weighted=weighted)
    unknown = state.items.find(new.items) < 0
    record = {
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        **{name: new.source[name] for name in ("from", "rows", "bad_rows", "without_id") if name in new.source},
        "fingerprint": new.fingerprint,
        "interactions": len(new),
        "known_before": again,
        "withdrawn": withdrawn,
        "only_seen": 0 if new.seen is None else len(new.seen),
        "users": sum(_users_of(part) for part in _people(new)),
        "new_users": len(data.users) - sum(int((data.users.find(one.users) >= 0).sum()) for one in _people(known)),
        "unknown_items": int(unknown.sum()),
        "with_unknown_items": int(unknown[new.item].sum()),
    }
    earlier = () if state.added is None else state.added.records
    return replace(state, added=Added(data=data, records=(*earlier, record)))


def _users_of(data: Interactions) -> int:
    """How many users some data tell anything of."""
    return len(np.unique(np.concatenate([data.user, [] if data.seen is None else data.seen.user])))


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
        said = ["; ".join(f"{kind}={weight:g}" for kind, weight in one.items()) or "none" for one in (before, now)]
        warn(
            f"The data of the model were loaded with weights {said[0]}, and the new ones with {said[1]}: earlier pairs "
            "keep the weights they have."
        )


def _warn_if_known(state: Fitted, new: Interactions) -> None:
    """Warn of the same interactions a second time."""
    updates = [*state.source.get("updates", []), *(() if state.added is None else state.added.records)]
    first = {"fingerprint": state.fingerprint, "from": state.source.get("from", "interactions"), "when": "with the fit"}
    print_of_new = new.fingerprint
    same = next((one for one in (first, *updates) if one.get("fingerprint") == print_of_new), None)
    if same is not None:
        effect = "nothing changes" if new.weights is None else "their weights count twice"
        warn(
            f"The same interactions were added before ({same.get('when')}, from "
            f"{ascii_line(same.get('from', 'interactions'))}): {effect}."
        )


def _check_times_alike(known: Interactions, new: Interactions) -> None:
    """Times can be put together only if all are dates, or none."""
    clocks = [Clock.of(times) for times in map(_all_times, (known, new)) if np.isfinite(times).any()]
    dates = [clock.per_second is not None for clock in clocks]
    if any(dates) and not all(dates):
        said = ["dates" if one else "numbers that are no dates" for one in dates]
        raise UsageError(
            f"The times of the model's data are {said[0]} and the new ones {said[1]}: load them alike, or the new ones "
            "with time=False (--no-time)."
        )


def _all_times(data: Interactions) -> Floats:
    parts = [data] if data.seen is None else [data, data.seen]
    return np.concatenate([np.zeros(0), *(part.times for part in parts if part.times is not None)])


# --- pair by pair ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Words:
    """What some data say of each pair they know: whether it is learned from, when, and how strong it is."""

    cells: NDArray[np.int64]  # ascending
    learned: NDArray[np.bool_]
    times: Floats  # NaN where there is none
    sums: Floats  # weights before the transform; 0 of pairs that were only seen
    no: Floats  # how strongly it was said no to; 0 where it was not

    @classmethod
    def of_everyone(cls, parts: Sequence[Interactions], transform: str) -> Self:
        """Of parts without a common pair, on the same ids."""
        words = [cls.of(part, transform) for part in parts]
        columns = {one.name: np.concatenate([getattr(part, one.name) for part in words]) for one in fields(cls)}
        order = np.argsort(columns["cells"])
        return cls(**{name: column[order] for name, column in columns.items()})

    @classmethod
    def of(cls, data: Interactions, transform: str) -> Self:
        parts = [data] if data.seen is None else [data, data.seen]
        cells = np.concatenate([part.user.astype(np.int64) * len(data.items) + part.item for part in parts])
        order = np.argsort(cells)
        times = [np.full(len(part), np.nan) if part.times is None else part.times for part in parts]
        weights = np.ones(len(data)) if data.weights is None else data.weights.astype(np.float64)
        sums = np.concatenate([SUMS[transform][0](weights), np.zeros(len(cells) - len(data))])
        cells, sums, no = cells[order], sums[order], np.zeros(len(cells))
        if data.negative is not None:
            at = np.searchsorted(cells, data.negative.user.astype(np.int64) * len(data.items) + data.negative.item)
            no[at] = 1.0 if data.negative.weights is None else data.negative.weights
        learned = (np.arange(len(cells)) < len(data))[order]
        return cls(cells, learned, np.concatenate(times)[order], sums, no)

    def on(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.bool_], Self]:
        """The same on more pairs, and of which of them something is said."""
        at = np.searchsorted(cells, self.cells)
        said, learned = np.zeros(len(cells), dtype=bool), np.zeros(len(cells), dtype=bool)
        times, sums, no = np.full(len(cells), np.nan), np.zeros(len(cells)), np.zeros(len(cells))
        said[at], learned[at], times[at], sums[at], no[at] = True, self.learned, self.times, self.sums, self.no
        return said, type(self)(cells, learned, times, sums, no)


def _people(data: Interactions) -> list[Interactions]:
    """Some data, and what they know of others."""
    return [data] if data.others is None else [data, data.others]


def _events(parts: Sequence[Interactions], cells: NDArray[np.int64]) -> Kinds | None:
    """The event types of pairs that are in these cells, as all parts together know them."""
    known = [one for part in parts for one in (part, part.seen) if one is not None]
    kinds = Kinds.joined([one.kinds for one in known], [len(one) for one in known])
    if kinds is None:
        return None
    own = np.concatenate([one.user.astype(np.int64) * len(one.items) + one.item for one in known])
    return kinds.onto(np.searchsorted(cells, own), len(cells))


def _joined(known: Interactions, new: Interactions, *, weighted: bool) -> tuple[Interactions, int, int]:
    """Both as one, how many pairs to learn from were known before, and how many are not to be learned from any more."""
    options = known.source.get("options", {})
    users, items = known.users.union(new.users), known.items.union(new.items)
    if new.others is not None:
        users = users.union(new.others.users)
    source, transform = _source(known, new), str(options.get("transform") or "none")
    everyone = [*_people(known), *_people(new)]
    moved = [[replace(part, others=None).on(users, items) for part in _people(data)] for data in (known, new)]
    words = [_Words.of_everyone(parts, transform) for parts in moved]
    cells = np.union1d(words[0].cells, words[1].cells)
    (in_old, old), (in_new, fresh) = (one.on(cells) for one in words)
    later = in_new & ~(in_old & (fresh.times < old.times))
    learned = np.where(later, fresh.learned, old.learned)
    if not _withdraws(new.source):
        learned |= old.learned
    fade_old, fade_new = _fading(known, new, source.get("latest"), options.get("half_life"))
    adds_up = "half_life" not in options or "event" in options or "weight" in options
    sums = (np.add if adds_up else np.maximum)(old.sums * old.learned * fade_old, fresh.sums * fresh.learned * fade_new)
    counted = not {"event", "weight", "half_life"} & options.keys() and all(part.weights is None for part in everyone)
    strengths = np.maximum(SUMS[transform][1](sums[learned]), np.finfo(np.float32).tiny)  # however old, it counts
    weights = None if counted or not weighted else known_weights(strengths)
    times = None if known.times is None and new.times is None else np.fmax(old.times, fresh.times)
    no = np.where(learned, 0.0, np.where(later, fresh.no, old.no))
    beside = {"titles": {**new.titles, **known.titles}, "source": source, "attributes": _attributes(known, new, items)}
    made = _Pairs((users, items), cells, times, _events([*moved[0], *moved[1]], cells))
    data = made.interactions(learned, weights, no, beside)
    if known.others is not None or known.elsewhere is not None:
        data = replace(data, others=known.on(users, items).others).with_elsewhere(known)
    if new.elsewhere is not None:
        data = data.with_elsewhere(new)
    return data, int((in_old & fresh.learned).sum()), int((old.learned & ~learned).sum())


def _attributes(known: Interactions, new: Interactions, items: Ids) -> Attributes | None:
    """What is known of items: a new table says what the one of the fit leaves open, such as what new items are."""
    if known.attributes is None or new.attributes is None:
        return known.attributes
    return known.attributes.extended(new.attributes.on(items)).on(items)


@dataclass(frozen=True)
class _Pairs:
    """Pairs by cell, with the time and the event types of each."""

    ids: tuple[Ids, Ids]
    cells: NDArray[np.int64]
    times: Floats | None
    kinds: Kinds | None

    def interactions(
        self,
        learned: NDArray[np.bool_],
        weights: NDArray[np.float32] | None,
        no: Floats,
        beside: Mapping[str, Any],
    ) -> Interactions:
        """Those to learn from; the others are only seen, and some of them were said no to."""
        negative = self._where(no > 0, weights=known_weights(no[no > 0])) if (no > 0).any() else None
        seen = None if learned.all() else self._where(~learned)
        return self._where(learned, seen=seen, negative=negative, weights=weights, **beside)

    def _where(self, keep: NDArray[np.bool_], **more: Any) -> Interactions:
        user, item = (part.astype(np.int32) for part in np.divmod(self.cells[keep], len(self.ids[1])))
        kinds = None if self.kinds is None else self.kinds.where(keep)
        times = None if self.times is None else self.times[keep]
        return Interactions(*self.ids, user, item, times, kinds=kinds, **more)


def _withdraws(source: Mapping[str, Any]) -> bool:
    """Whether a pair that new data have only seen is not to be learned from any more.

    A low rating or a return takes back what was said before. An event of a kind that weighs 0 does not.
    """
    weights = source.get("options", {}).get("weights") or {}
    return all(weights.values())


def _fading(known: Interactions, new: Interactions, latest: float | None, half_life: Any) -> tuple[float, float]:
    """What is left of weights when ages are counted from the latest moment of both."""
    if half_life is None or latest is None:
        return 1.0, 1.0
    length = durations.seconds(half_life, "half_life")
    moments = (_reference(one) for one in (known, new))
    old, fresh = (1.0 if moment is None else float(np.exp2((moment - latest) / length)) for moment in moments)
    return old, fresh


def _reference(data: Interactions) -> float | None:
    """The moment from which the ages of some weights were counted."""
    recorded = data.source.get("latest")
    if isinstance(recorded, int | float):
        return float(recorded)
    return latest_of(data.times, None if data.seen is None else data.seen.times)


def _source(known: Interactions, new: Interactions) -> dict[str, Any]:
    """Where all of it came from: loaded as the known data were, from all files."""
    before = known.source.get("from", "unknown")
    names = [*(before if isinstance(before, list) else [before]), str(new.source.get("from", "interactions"))]
    lasting = ("options", "licence", "citation", "updates")
    kept = {name: value for name, value in known.source.items() if name in lasting}
    moments = [moment for moment in map(_reference, (known, new)) if moment is not None]
    aged = "half_life" in kept.get("options", {}) and moments
    return {"from": names, **kept, **({"latest": max(moments)} if aged else {})}
