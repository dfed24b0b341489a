"""Which event types each pair had, such as "view" and "buy", and when there was last one of each type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from corml._runtime.values import nearest
from corml.errors import UsageError, ascii_line, quoted

UNKNOWN = ""  # the name of an event type that is not known
MOST_KINDS = 10_000  # event types; each name is an object of Python
LONGEST_NAMES = 1 << 20  # bytes of all of them

Floats = NDArray[np.float64]


def are_too_many(kinds: int, size: int) -> bool:
    """Whether so many names, of so many bytes together, are no event types."""
    return kinds > MOST_KINDS or size > LONGEST_NAMES


def event_types(given: Any, option: str) -> tuple[str, ...]:
    """The names in an option: several, or one text with commas between them."""
    parts = given.split(",") if isinstance(given, str) else given
    named = isinstance(parts, Iterable) and not isinstance(parts, Mapping)
    names = tuple(dict.fromkeys(str(name).strip() for name in parts)) if named else (UNKNOWN,)
    if UNKNOWN in names:
        raise UsageError(f"{option} must name event types, such as 'purchase,cart'; got {ascii_line(given)}.")
    return names


def require(names: Iterable[str], known: Iterable[str], option: str, what: str) -> None:
    """Refuse event types that some data do not have."""
    there = tuple(dict.fromkeys(known))
    if not there:
        raise UsageError(
            f"{option} needs the event type of each interaction, and {what} have none: load them with an event column "
            "(event=, --event), fit again, and save the model with its histories."
        )
    wrong = next((name for name in names if name not in there), None)
    if wrong is not None:
        hint = nearest(wrong, there)
        listed = "" if hint.startswith("; there is") else f" There are: {quoted(there, 8)}."
        raise UsageError(f"{option}: {what} have no event type {ascii_line(wrong)}{hint}{listed}")


@dataclass(frozen=True, eq=False)
class Kinds:
    """The event types of each pair, each type once with the latest time of such an event; the last event comes last.

    Pair p has `codes[starts[p]:starts[p + 1]]`, numbers into `names`, and at least one: if nothing is known of its
    events, their type is UNKNOWN.
    """

    names: tuple[str, ...]
    starts: NDArray[np.integer[Any]]
    codes: NDArray[np.int32]
    times: Floats | None = None

    @classmethod
    def of_events(
        cls, names: tuple[str, ...], pair: NDArray[Any], codes: NDArray[np.int32], times: Floats | None, count: int
    ) -> Self:
        """From the events of so many pairs. Of equal times, and without times, the later event in the order counts."""
        if times is None:
            order = np.argsort(pair, kind="stable")
        else:
            order = np.lexsort((np.where(np.isnan(times), -np.inf, times), pair))
        pair, codes = pair[order], codes[order]
        cells = pair.astype(np.int64) * len(names) + codes
        _, from_behind = np.unique(cells[::-1], return_index=True)
        last = np.sort(len(cells) - 1 - from_behind)
        starts = _starts(np.bincount(pair[last], minlength=count))
        return cls(names, starts, codes[last], None if times is None else times[order[last]])

    @classmethod
    def unknown(cls, count: int) -> Self:
        """Those of so many pairs of whose events nothing is known."""
        return cls((UNKNOWN,), _starts(np.ones(count, dtype=np.int64)), np.zeros(count, dtype=np.int32))

    @classmethod
    def joined(cls, parts: "Sequence[Kinds | None]", counts: Sequence[int]) -> "Kinds | None":
        """The event types of so many pairs each, one part after the other; None if no part knows any."""
        if all(part is None for part in parts):
            return None
        given = zip(parts, counts, strict=True)
        every = [cls.unknown(count) if part is None else part for part, count in given if part is not None or count]
        place = {name: code for code, name in enumerate(dict.fromkeys(name for part in every for name in part.names))}
        codes = [np.array([place[name] for name in part.names], dtype=np.int32)[part.codes] for part in every]
        times = None
        if any(part.times is not None for part in every):
            blank = [np.full(len(part.codes), np.nan) if part.times is None else part.times for part in every]
            times = np.concatenate(blank)
        starts = _starts(np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(part.starts) for part in every)]))
        return cls(tuple(place), starts, np.concatenate([np.zeros(0, dtype=np.int32), *codes]), times)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def known(self) -> tuple[str, ...]:
        """The names of the event types that are known."""
        return tuple(name for name in self.names if name != UNKNOWN)

    @property
    def last(self) -> NDArray[np.int32]:
        """The number of the last event type of each pair."""
        codes: NDArray[np.int32] = self.codes[self.starts[1:] - 1]
        return codes

    def words(self) -> list[str]:
        """The last event type of each pair."""
        return [self.names[code] for code in self.last]

    def where(self, keep: NDArray[Any] | slice) -> "Kinds":
        """Of some pairs (a mask, positions or a slice)."""
        first, lengths = self.starts[:-1][keep], np.diff(self.starts)[keep]
        starts = _starts(lengths)
        at = np.arange(starts[-1]) + np.repeat(first - starts[:-1], lengths)
        return Kinds(self.names, starts, self.codes[at], None if self.times is None else self.times[at])

    def onto(self, pair: NDArray[Any], count: int) -> "Kinds":
        """The same events of so many pairs, given the number there of each pair here: several may become one."""
        return Kinds.of_events(self.names, np.repeat(pair, np.diff(self.starts)), self.codes, self.times, count)

    def any_of(self, events: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The pairs that have one of some events, which are marked in the order of `codes`."""
        return np.logical_or.reduceat(events, self.starts[:-1]) if len(self) else np.zeros(0, dtype=bool)

    def having(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """The pairs that ever had an event of one of some types."""
        wanted = set(names)
        return self.any_of(np.array([name in wanted for name in self.names], dtype=bool)[self.codes])


def _starts(lengths: NDArray[Any]) -> NDArray[Any]:
    """Where each pair begins, with numbers no wider than they have to be."""
    total = int(lengths.sum())
    starts = np.zeros(len(lengths) + 1, dtype=np.int32 if total < 2**31 else np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
