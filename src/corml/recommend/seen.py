"""Known items: all of them are kept out of the lists, unless an option lets some come back.

The known items of the rows of a query are one matrix with an entry for every item, learned from or not: OUT if the item
stays out of the list, FREE if it may come back.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import durations
from corml.data.ids import canonical
from corml.data.interactions import Interactions
from corml.data.kinds import UNKNOWN, Kinds, event_types, require
from corml.data.strength import latest_of
from corml.errors import UsageError, ascii_line
from corml.linalg.sparse import entries_of, filled, rows_of, rows_or_none

if TYPE_CHECKING:
    from corml.data.histories import Histories

FREE, OUT = np.float32(1), np.float32(2)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class SeenRule:
    """Which known items may come back, and how long after they were last seen.

    exclude     none of them
    allow       all of them
    only        all of them, and nothing else
    learned     those that were not learned from: for lists that are judged by held-out pairs

    With `events` (event types) or `recent` (a length of time, or one for each event type) what these name stays out,
    and no other known item. What a user rejected always stays out, except with `learned`.
    """

    def __init__(self, mode: str = "exclude", recent: object = None, events: object = None) -> None:
        self.mode, self.recent = mode, recent
        self.narrows = recent is not None or events is not None
        if self.narrows and mode == "learned":
            raise UsageError(
                "seen='learned' (--seen learned) excludes what the model learned from and nothing else: leave "
                "hide_events and exclude_recent out."
            )
        self.hidden = () if events is None else event_types(events, "hide_events")
        self.ages = None if recent is None else _ages(recent)
        by_age = self.ages if isinstance(self.ages, Mapping) else ()
        self.types = tuple(dict.fromkeys([*self.hidden, *by_age]))
        self.by_type = events is not None or isinstance(self.ages, Mapping)
        self.option = "exclude_recent" if events is None else "hide_events"

    def check(self, known: Iterable[str], what: str) -> None:
        """Refuse event types that are not among those that are known."""
        if self.by_type:
            require(self.types, known, self.option, what)

    def stays_out(self, count: int, times: Floats | None, kinds: Kinds | None, latest: float | None) -> Bools:
        """Which of so many known pairs stay out, given their times and event types; ages count from `latest`.

        A pair without a time counts as recent, and one whose event type is not known as one of those that are named.
        """
        if not self.narrows:
            return np.full(count, self.mode == "exclude")
        ages = self.ages
        if ages is not None and latest is None:
            raise UsageError(
                "exclude_recent needs the time of each interaction, and these histories have none: fit on data with a "
                "time column (time=, --time), or leave it out."
            )
        out = np.zeros(count, dtype=bool)
        if isinstance(ages, float) and latest is not None:
            out |= _younger(times, count, ages, latest)
        if self.by_type:
            out |= np.ones(count, dtype=bool) if kinds is None else kinds.any_of(self._events_out(kinds, latest))
        return out

    def _events_out(self, kinds: Kinds, latest: float | None) -> Bools:
        """Which events keep their pair out."""
        out = np.array([name in (UNKNOWN, *self.hidden) for name in kinds.names], dtype=bool)[kinds.codes]
        if isinstance(self.ages, Mapping) and latest is not None:
            lengths = [self.ages.get(name, -1.0) for name in kinds.names]
            of_event = np.array(lengths, dtype=np.float64)[kinds.codes]
            out |= (of_event > 0) & _younger(kinds.times, len(kinds.codes), of_event, latest)
        return out

    def kept_out(self, known: csr_array, learned: csr_array) -> csr_array:
        """The known items that a list may not have."""
        if self.mode == "learned":
            return learned
        everything = self.mode == "exclude" and not self.narrows
        return known if everything else _where(known, known.data == OUT)

    def let_in(self, known: csr_array, only: csr_array | None) -> csr_array | None:
        """The only items that a list may have, where there is such a limit."""
        if self.mode != "only":
            return only
        if only is None:
            return known
        lines = np.minimum(rows_of(known), only.shape[0] - 1)  # one row holds for all
        return _where(known, filled(only, lines, known.indices))


def _ages(given: object) -> Mapping[str, float] | float:
    """For how many seconds an item stays out after it was last seen, or after the last event of each type."""
    name, ages = "exclude_recent", given
    if isinstance(given, str) and "=" in given:
        parts = [part.partition("=") for part in given.split(",")]
        ages = {kind.strip(): age for kind, _, age in parts}
        if len(ages) < len(parts) or not all(ages) or not all(ages.values()):
            raise UsageError(
                "exclude_recent must give each event type one length of time, such as 'purchase=90d,view=1h'; "
                f"got {ascii_line(given)}."
            )
    if isinstance(ages, Mapping):
        return {canonical(kind): durations.seconds(age, f"{name} of {kind}") for kind, age in ages.items()}
    return durations.seconds(ages, name)


KEEP_OUT = SeenRule()


def known_of_users(
    histories: "Histories", rows: NDArray[np.int64], rule: SeenRule = KEEP_OUT, latest: float | None = None
) -> csr_array:
    """What is known of users by their row numbers, learned from or not; of −1 nothing is.

    Ages count from `latest`, or else from the latest moment that is known of anybody.
    """
    latest = histories.latest if latest is None and rule.recent is not None else latest
    known = []
    for part in (histories.pairs, histories.seen):
        if part is not None:
            at = entries_of(part.pattern, rows)
            times = None if part.times is None else part.times[at]
            kinds = None if part.kinds is None or not rule.by_type else part.kinds.where(at)
            known.append(marked(rows_or_none(part.pattern, rows), rule.stays_out(len(at), times, kinds, latest)))
    negative = histories.negative
    return _all_of(known, None if negative is None else rows_or_none(negative.pattern, rows))


def known_of_both(
    data: Interactions, histories: "Histories", rows: NDArray[np.int64], rule: SeenRule, latest: float | None
) -> csr_array:
    """What data say is known of their users, and what else a model knows of them, by their row numbers."""
    known = _known_in(data, rule, latest).maximum(known_of_users(histories, rows, rule, latest)).tocsr()
    known.sort_indices()
    return known


def known_in(history: Interactions, rule: SeenRule) -> csr_array:
    """What histories themselves say is known; ages count from their latest moment."""
    return _known_in(history, rule, latest_of(history.times, None if history.seen is None else history.seen.times))


def _known_in(history: Interactions, rule: SeenRule, latest: float | None) -> csr_array:
    parts = [part for part in (history, history.seen) if part is not None]
    known = []
    for part in parts:
        kinds = part.kinds_by_row if rule.by_type else None
        known.append(marked(part.matrix, rule.stays_out(len(part), part.times_by_row, kinds, latest)))
    return _all_of(known, None if history.negative is None else history.negative.matrix)


def marked(pattern: csr_array, out: Bools) -> csr_array:
    """Known items, and which of them stay out."""
    return csr_array((np.where(out, OUT, FREE), pattern.indices, pattern.indptr), shape=pattern.shape)


def _all_of(parts: list[csr_array], rejected: csr_array | None) -> csr_array:
    """Matrices without a common entry as one, where what was rejected stays out."""
    known = parts[0] if len(parts) == 1 else (parts[0] + parts[1]).tocsr()
    known.sort_indices()
    if rejected is not None:
        known.data[filled(rejected, rows_of(known), known.indices)] = OUT
    return known


def _younger(times: Floats | None, count: int, length: float | Floats, latest: float) -> Bools:
    """Which of so many times are no longer ago than this; one that is not known counts as recent."""
    if times is None:
        return np.ones(count, dtype=bool)
    return np.asarray(~(latest - times > length))


def _where(matrix: csr_array, keep: Bools) -> csr_array:
    """The entries that are kept, in a matrix of its own."""
    chosen = csr_array((matrix.data * keep, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    chosen.eliminate_zeros()
    chosen.sort_indices()
    return chosen
