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

from corml import durations, memory
from corml.errors import UsageError, ascii_line
from corml.fitted import Fitted, present
from corml.histories import Added
from corml.ids import Ids
from corml.interactions import Interactions
from corml.strength import Kinds, known_weights, latest_of

__all__ = ["to_learn", "updated"]

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
    _check_loaded_alike(known.source, new.source)
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


def _check_loaded_alike(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Weights can be put together only if they mean the same."""
    for name in ("transform", "half_life"):
        before, now = (one.get("options", {}).get(name) for one in (old, new))
        if before != now:
            shown = ["none" if value is None else ascii_line(value) for value in (before, now)]
            raise UsageError(
                f"The data of the model were loaded with {name} {shown[0]} and the new ones with {shown[1]}: load them "
                "alike."
            )


# --- pair by pair ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Words:
    """What some data say of each pair they know: whether it is learned from, when, and how strong it is."""

    cells: NDArray[np.int64]  # ascending
    learned: NDArray[np.bool_]
    times: Floats  # NaN where there is none
    sums: Floats  # weights before the transform; 0 of pairs that were only seen
    no: Floats  # how strongly it was said no to; 0 where it was not
    kinds: NDArray[np.int32]  # of the last event, a number into the names of both; −1 where there is none

    @classmethod
    def of_everyone(cls, data: Interactions, users: Ids, items: Ids, transform: str, names: Sequence[str]) -> Self:
        """On other ids: of the users of some data, and of others who are users now."""
        parts = [replace(part, others=None).on(users, items) for part in _people(data)]
        words = [cls.of(part, transform, names) for part in parts]
        columns = {one.name: np.concatenate([getattr(part, one.name) for part in words]) for one in fields(cls)}
        order = np.argsort(columns["cells"])
        return cls(**{name: column[order] for name, column in columns.items()})

    @classmethod
    def of(cls, data: Interactions, transform: str, names: Sequence[str]) -> Self:
        parts = [data] if data.seen is None else [data, data.seen]
        cells = np.concatenate([part.user.astype(np.int64) * len(data.items) + part.item for part in parts])
        order = np.argsort(cells)
        times = [np.full(len(part), np.nan) if part.times is None else part.times for part in parts]
        weights = np.ones(len(data)) if data.weights is None else data.weights.astype(np.float64)
        sums = np.concatenate([SUMS[transform][0](weights), np.zeros(len(cells) - len(data))])
        kinds, no = np.full(len(cells), -1, dtype=np.int32), np.zeros(len(cells))
        kinds[: len(data)] = _codes(data, names)
        cells, kinds, sums = cells[order], kinds[order], sums[order]
        if data.negative is not None:
            at = np.searchsorted(cells, data.negative.user.astype(np.int64) * len(data.items) + data.negative.item)
            no[at] = 1.0 if data.negative.weights is None else data.negative.weights
            kinds[at] = _codes(data.negative, names)
        learned = (np.arange(len(cells)) < len(data))[order]
        return cls(cells, learned, np.concatenate(times)[order], sums, no, kinds)

    def on(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.bool_], Self]:
        """The same on more pairs, and of which of them something is said."""
        at = np.searchsorted(cells, self.cells)
        said, learned = np.zeros(len(cells), dtype=bool), np.zeros(len(cells), dtype=bool)
        times, sums, no = np.full(len(cells), np.nan), np.zeros(len(cells)), np.zeros(len(cells))
        kinds = np.full(len(cells), -1, dtype=np.int32)
        said[at], learned[at], times[at], sums[at] = True, self.learned, self.times, self.sums
        no[at], kinds[at] = self.no, self.kinds
        return said, type(self)(cells, learned, times, sums, no, kinds)


def _people(data: Interactions) -> list[Interactions]:
    """Some data, and what they know of others."""
    return [data] if data.others is None else [data, data.others]


def _names(*parts: Interactions | None) -> tuple[str, ...]:
    """The names of all kinds, where there are some; the last, "", is that of a pair whose kind is not known."""
    known = [part.kinds.names for part in parts if part is not None and part.kinds is not None]
    return (*dict.fromkeys(name for names in known for name in names if name), "") if known else ()


def _codes(data: Interactions, names: Sequence[str]) -> NDArray[np.int32]:
    """The kind of each pair as a number into names; −1 where it is not known."""
    if data.kinds is None:
        return np.full(len(data), -1, dtype=np.int32)
    place = {name: code for code, name in enumerate(names) if name}
    return np.array([place.get(name, -1) for name in data.kinds.names], dtype=np.int32)[data.kinds.codes]


def _joined(known: Interactions, new: Interactions, *, weighted: bool) -> tuple[Interactions, int, int]:
    """Both as one, how many pairs to learn from were known before, and how many are not to be learned from any more."""
    options = known.source.get("options", {})
    users, items = known.users.union(new.users), known.items.union(new.items)
    if new.others is not None:
        users = users.union(new.others.users)
    source, transform = _source(known, new), str(options.get("transform") or "none")
    everyone = [*_people(known), *_people(new)]
    names = _names(*(part for one in everyone for part in (one, one.negative)))
    words = [_Words.of_everyone(data, users, items, transform, names) for data in (known, new)]
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
    kinds = np.where(later & (fresh.kinds >= 0), fresh.kinds, np.where(old.kinds >= 0, old.kinds, fresh.kinds))
    no = np.where(learned, 0.0, np.where(later, fresh.no, old.no))
    beside = {"titles": {**new.titles, **known.titles}, "source": source, "attributes": known.attributes}
    named = Kinds(names, np.where(kinds < 0, len(names) - 1, kinds).astype(np.int32)) if names else None
    made = _Pairs((users, items), cells, times, named)
    data = made.interactions(learned, weights, no, beside)
    if known.others is not None or known.elsewhere is not None:
        data = replace(data, others=known.on(users, items).others).with_elsewhere(known)
    if new.elsewhere is not None:
        data = data.with_elsewhere(new)
    return data, int((in_old & fresh.learned).sum()), int((old.learned & ~learned).sum())


@dataclass(frozen=True)
class _Pairs:
    """Pairs by cell, with the time and the kind of each."""

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
        kinds, refused = (None if self.kinds is None else self.kinds.where(keep) for keep in (learned, no > 0))
        negative = self._where(no > 0, weights=known_weights(no[no > 0]), kinds=refused) if (no > 0).any() else None
        seen = None if learned.all() else self._where(~learned)
        return self._where(learned, seen=seen, negative=negative, weights=weights, kinds=kinds, **beside)

    def _where(self, keep: NDArray[np.bool_], **more: Any) -> Interactions:
        user, item = (part.astype(np.int32) for part in np.divmod(self.cells[keep], len(self.ids[1])))
        return Interactions(*self.ids, user, item, None if self.times is None else self.times[keep], **more)


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
    length = durations.in_units_of(durations.seconds(half_life, "half_life"), latest)
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
