"""Step 1, the query: from users or histories as people write them to rows of a matrix."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory
from corml.data.ids import Ids, is_one_id, labels_of
from corml.data.interactions import Interactions
from corml.data.requested_ids import ids_and_rows, meant, required
from corml.errors import UsageError, ascii_line, quoted, warn
from corml.linalg.sparse import rows_or_none
from corml.recommend.seen import KEEP_OUT, SeenRule, known_in, known_of_both, known_of_users, marked

if TYPE_CHECKING:
    from corml.data.histories import Histories
    from corml.models.recommender import Recommender

PER_SCORE = 9  # bytes: of a score, with its temporaries and the check that it is finite
PER_ITEM, PER_LIST = 36, 450  # bytes: of an item in a list, while it is ranked and in the result; and of a list
FEW = 1 << 20  # numbers for which free memory is not checked
NO_VECTOR = "the model has no vector for a user it did not learn from"
UNKNOWN_USER = "the model does not know this user"
ITEM_IDS = "These are item ids: pass them as history=[[…]] (--history)."

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Query:
    """A name for each row, the items of its history, its unknown ids, and row numbers of users."""

    names: tuple[str, ...]
    matrix: csr_array
    unknown: tuple[tuple[str, ...], ...]
    known: csr_array  # every item that is known of the row, also those that it is not scored by
    users: Rows | None = None
    cold: Mapping[int, str] = field(default_factory=dict)  # why a row is not personal, other than by its history

    @property
    def is_cold(self) -> NDArray[np.bool_]:
        """Rows without a history: they get popular items."""
        return np.asarray(np.diff(self.matrix.indptr) == 0)

    def without_history(self, rows: NDArray[np.intp], reason: str) -> "Query":
        """The query in which some rows have no history, for this reason."""
        kept = np.arange(len(self.names))
        kept[rows] = -1
        reasons = {**self.cold, **dict.fromkeys(rows.tolist(), reason)}
        return replace(self, matrix=rows_or_none(self.matrix, kept), cold=reasons)


@dataclass(frozen=True)
class FromData:
    """Users by what data say of them; ages count from the latest moment of all of the data.

    They are scored by these histories, a user of the fit by its embedding where the model has one, and what either the
    data or the model know of a user is kept out of the list.
    """

    history: Interactions
    latest: float | None


def resolve(
    model: "Recommender",
    users: Sequence[Hashable] | str | None,
    history: Any,
    rule: SeenRule = KEEP_OUT,
    unknown: str | None = None,
) -> Query:
    """Histories of known users, or the histories given, with weights and negative feedback where the model uses them.

    A user whom the model does not know has an empty row, unless `unknown` is "error". So has one whom a model that
    does not fold in did not learn from; what is known of that user stays out of the list all the same.
    """
    state = model.fitted_
    if (users is None) == (history is None):
        raise UsageError("Say for whom: either users=[…] (known users) or history=[[…], …] (their items).")
    if rule.by_type:
        own = history.event_types if isinstance(history, Interactions) else ()
        rule.check([*state.histories.event_types, *own], "these histories" if own else "the histories of the model")
    if isinstance(history, FromData):
        return _from_data(model, history, rule)
    if history is not None:
        return histories(state.items, history, rule, weighted=model.LEARNS_WEIGHTS)
    labels, numbers = known_users(state.histories.users, users, unknown, items=state.items)
    rows, learned, new = scored_by(model, numbers)
    cold = dict.fromkeys(np.flatnonzero(numbers < 0).tolist(), UNKNOWN_USER)
    cold |= dict.fromkeys(np.flatnonzero(new).tolist(), NO_VECTOR)
    known = known_of_users(state.histories, numbers, rule)
    return Query(tuple(labels), rows, ((),) * len(labels), known, learned, cold)


def scored_by(model: "Recommender", numbers: Rows) -> tuple[csr_array, Rows, NDArray[np.bool_]]:
    """Histories of users by number, their numbers among the users of the fit (−1: new), and those without an embedding.

    The last have a history, but not for a model that does not fold in.
    """
    now = model.fitted_.histories
    learned = np.where(numbers < now.learned, numbers, -1)
    rows = now.scored(numbers) if model.LEARNS_WEIGHTS else rows_or_none(now.pairs.pattern, numbers)
    rows, new = _scorable(model, rows, learned)
    return rows, learned, new


def _scorable(model: "Recommender", rows: csr_array, learned: Rows) -> tuple[csr_array, NDArray[np.bool_]]:
    """The histories without those that the model cannot score, and which these are."""
    if model._folds_in:
        return rows, np.zeros(len(learned), dtype=bool)
    new = (np.diff(rows.indptr) > 0) & (np.diff(rows_or_none(model.fitted_.train, learned).indptr) == 0)
    return rows_or_none(rows, np.where(new, -1, np.arange(len(new)))), new


def _from_data(model: "Recommender", data: FromData, rule: SeenRule) -> Query:
    state, given = model.fitted_, data.history
    own = given if given.items == state.items else given.on(given.users, state.items)
    numbers, now = state.histories.users.find(own.users), state.histories
    learned = np.where(numbers < now.learned, numbers, -1)
    rows, new = _scorable(model, own.histories if model.LEARNS_WEIGHTS else own.matrix, learned)
    moments = (data.latest, now.latest) if rule.recent is not None else ()
    latest = max((moment for moment in moments if moment is not None), default=None)
    known = known_of_both(own, now, numbers, rule, latest)
    unknown: tuple[tuple[str, ...], ...] = ((),) * len(numbers) if own is given else _unknown_items(given, state.items)
    cold = dict.fromkeys(np.flatnonzero(new).tolist(), NO_VECTOR)
    return Query(tuple(own.users), rows, unknown, known, learned, cold)


def histories(
    items: Ids, history: Sequence[Sequence[Hashable]] | Interactions, rule: SeenRule = KEEP_OUT, *, weighted: bool
) -> Query:
    """Lists of item ids as rows; unknown ids are set aside, never mapped to something else."""
    if isinstance(history, Interactions):
        own = history.on(history.users, items)
        rows = own.histories if weighted else own.matrix
        return Query(tuple(own.users.labels), rows, _unknown_items(history, items), known_in(own, rule))
    if is_one_id(history) or not isinstance(history, Iterable) or any(is_one_id(one) for one in history):
        raise UsageError("history takes one list of item ids per user: for a single user write history=[[…]].")
    if rule.recent is not None:
        raise UsageError(
            "exclude_recent (--exclude-recent) needs the time of each interaction, and a list of items has none: ask "
            "for a known user, give history=Interactions with times, or leave it out."
        )
    lists = [ids_and_rows(items, one, "history") for one in history]
    unknown = tuple(tuple(labels[at] for at in np.flatnonzero(rows < 0)) for labels, rows in lists)
    names = tuple(f"history {number}" for number in range(1, len(lists) + 1))
    rows = pattern_of([rows[rows >= 0] for _, rows in lists], len(items))
    return Query(names, rows, unknown, marked(rows, rule.stays_out(rows.nnz, None, None, None)))


def history_of(items: Ids, now: "Histories", history: object) -> tuple[Rows, tuple[str, ...]]:
    """Known item numbers, each once, and unknown ids: of a known user (one id), or of a list of items."""
    if is_one_id(history):
        row = known_user(now, history)
        pairs = now.pairs.pattern
        return pairs.indices[pairs.indptr[row] : pairs.indptr[row + 1]].astype(np.int64), ()
    row_of = dict(zip(*ids_and_rows(items, history, "history"), strict=True))
    if len(row_of) == 1 and -1 in row_of.values() and (label := next(iter(row_of))) in now.users:
        warn(
            f"history: {ascii_line(label)} is a user id, not an item id: give a known user as one id, "
            f"{ascii_line(label)} (--user), not as a list."
        )
    rows = np.fromiter((row for row in row_of.values() if row >= 0), dtype=np.int64)
    return rows, tuple(label for label, row in row_of.items() if row < 0)


def _unknown_items(history: Interactions, items: Ids) -> tuple[tuple[str, ...], ...]:
    """Items of each history that are not in the catalogue."""
    unknown_ids: list[list[str]] = [[] for _ in range(len(history.users))]
    unknown = items.find(history.items) < 0
    for user, item in zip(history.user[unknown[history.item]], history.item[unknown[history.item]], strict=True):
        unknown_ids[user].append(history.items.labels[item])
    return tuple(map(tuple, unknown_ids))


def known_user(now: "Histories", label: Hashable) -> int:
    """The row of a user who must be known."""
    return int(known_users(now.users, label, "error")[1][0])


def known_users(users: Ids, given: object, unknown: str | None, *, items: Ids | None = None) -> tuple[list[str], Rows]:
    """Ids and rows of users; −1 for one that is not known, unless that is an error."""
    if len(users) == 0 and labels_of(given, "users"):
        raise UsageError("This model file was saved without its users: pass the items of a history instead.")
    labels, rows = ids_and_rows(users, given, "users")
    swapped = items is not None and are_items(labels, users, items)
    if unknown == "error":
        return required(users, given, "users", advice=ITEM_IDS if swapped else "")
    if unknown is None and len(rows) and (rows < 0).all():
        who = "The user is" if len(labels) == 1 else f"All {len(labels):,} users are"
        words = f"{who} unknown to the model, and popular items are the answer: {quoted(labels)}."
        advice = 'unknown="fallback" accepts this without a warning, unknown="error" refuses such users.'
        warn(" ".join(filter(None, [words, ITEM_IDS if swapped else meant(users, labels[0]), advice])))
    return labels, rows


def are_items(labels: Sequence[str], users: Ids, items: Ids) -> bool:
    """Whether ids given as users are items, all of them, and none is a user."""
    return bool(labels) and all(label in items and label not in users for label in labels)


def pattern_of(rows: Sequence[Rows], columns: int) -> csr_array:
    """Item numbers of each row as a matrix of ones."""
    sorted_rows = [np.unique(row) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in sorted_rows])]).astype(np.int32)
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *sorted_rows]).astype(np.int32)
    pattern = csr_array((np.ones(len(indices), dtype=np.float32), indices, indptr), shape=(len(rows), columns))
    pattern.has_sorted_indices = True
    return pattern


def require_memory_of_lists(lists: int, width: int) -> None:
    """Refuse more lists at once than fit in memory."""
    if lists * width > FEW:
        memory.require(
            PER_ITEM * lists * width + PER_LIST * lists,
            what=f"{lists:,} lists of {width:,} items at once",
            instead="ask for some users at a time, or write them with recommend_to(folder), in the space of a few.",
        )


def require_memory_of_scores(rows: int, columns: int) -> None:
    """Refuse more scores at once than fit in memory."""
    if rows * columns > FEW:
        memory.require(
            PER_SCORE * rows * columns,
            what=f"Scores of {columns:,} items for each of {rows:,} histories",
            instead="ask for some histories at a time, or for lists: recommend(…).",
        )
