"""From what a person asks (ids) to what a model ranks (rows), and back to an answer with reasons."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory
from corml._runtime.finite import check_lists
from corml.data.ids import Ids, is_one_id, labels_of
from corml.data.interactions import Interactions
from corml.data.requested_ids import ids_and_rows, meant, required, rows_or_warn
from corml.data.strength import only_positive
from corml.errors import DataError, UsageError, ascii_line, quoted, warn
from corml.linalg.sparse import rows_or_none
from corml.recommend.preference import with_a_preference
from corml.recommend.recommendations import FALLBACK, PERSONAL, Recommendations, SimilarItems
from corml.recommend.seen import SeenRule, known_in, known_of_both, known_of_users, marked

if TYPE_CHECKING:
    from corml.data.histories import Histories
    from corml.models.fitted import Fitted
    from corml.models.recommender import Recommender

__all__ = [
    "FromData",
    "Limits",
    "Request",
    "answer",
    "histories",
    "history_of",
    "known_user",
    "known_users",
    "limits",
    "list_length",
    "require_memory_of_scores",
    "resolve",
    "scored_by",
    "similar_items",
]

MAX_K = 10_000
A_PLACE, A_LIST = 36, 450  # bytes: of a place in a list, while it is ranked and in the answer; and of a list
A_SCORE = 9  # bytes: of a score, with what it is made of and the look whether it is finite
A_LIMIT = 24  # bytes of an item that a list may not have, while that is put together
FEW = 1 << 20  # places, which are not worth asking how much memory there is
KEEP_OUT = SeenRule()
NO_VECTOR = "the model has no vector for a user it did not learn from"
UNKNOWN = (None, "fallback", "error")  # what becomes of users that the model does not know


@dataclass(frozen=True)
class Request:
    """Whose lists: a name for each row, the known items of its history, the unknown ids, and row numbers of users."""

    names: tuple[str, ...]
    matrix: csr_array
    unknown: tuple[tuple[str, ...], ...]
    known: csr_array  # every item that is known of the row, also those that it is not scored by
    users: NDArray[np.int64] | None = None
    cold: Mapping[int, str] = field(default_factory=dict)  # why a row is not personal, other than by its history


@dataclass(frozen=True)
class FromData:
    """People whom the model may know, by what data say of them; ages count from the latest moment of all of the data.

    They are scored by these histories, a known user by the vector a model may have, and what either the data or the
    model know of somebody is kept out of the list.
    """

    history: Interactions
    latest: float | None


@dataclass(frozen=True)
class Limits:
    """What each row may not get (`seen`), and, where it was limited, the only items it may (`allowed`).

    Where `allowed` has a single row, that holds for all: a condition on items costs the same for any number of users.
    """

    seen: csr_array
    allowed: csr_array | None


def list_length(k: object, items: Ids, *, lists: int = 0) -> int:
    """How many columns lists of k items have: no more than the catalogue; refuses more lists than fit in memory."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= MAX_K:
        raise UsageError(f"k must be a whole number from 1 to {MAX_K:,}; got {ascii_line(k)}.")
    width = min(int(k), len(items))
    _require_memory(lists, width)
    return width


def resolve(
    state: "Fitted",
    users: Sequence[Hashable] | str | None,
    history: Any,
    *,
    rule: SeenRule = KEEP_OUT,
    weighted: bool = False,
    unknown: str | None = None,
    folds_in: bool = True,
) -> Request:
    """Histories of known users, or the histories given; with weights and noes, where asked for.

    A user whom the model does not know has an empty row, unless `unknown` is "error". So has one whom a model that
    does not fold in did not learn from; what is known of that user stays out of the list all the same.
    """
    if unknown not in UNKNOWN:
        raise UsageError(f"unknown must be 'fallback' or 'error'; got {ascii_line(unknown)}.")
    if (users is None) == (history is None):
        raise UsageError("Say for whom: either users=[…] (known users) or history=[[…], …] (their items).")
    if rule.by_type:
        own = history.event_types if isinstance(history, Interactions) else ()
        rule.check([*state.histories.event_types, *own], "these histories" if own else "the histories of the model")
    if isinstance(history, FromData):
        return _from_data(state, history, rule, weighted=weighted, folds_in=folds_in)
    if history is not None:
        return histories(state.items, history, rule, weighted=weighted)
    now = state.histories
    labels, numbers = known_users(now.users, users, unknown)
    rows, learned, new = scored_by(state, numbers, weighted=weighted, folds_in=folds_in)
    cold = dict.fromkeys(np.flatnonzero(numbers < 0).tolist(), "the model does not know this user")
    cold |= dict.fromkeys(np.flatnonzero(new).tolist(), NO_VECTOR)
    known, nothing = known_of_users(now, numbers, rule), ((),) * len(labels)
    return Request(tuple(labels), rows, nothing, known, learned, cold)


def scored_by(
    state: "Fitted", numbers: NDArray[np.int64], *, weighted: bool, folds_in: bool
) -> tuple[csr_array, NDArray[np.int64], NDArray[np.bool_]]:
    """Histories of users by number, their numbers among the users of the fit (−1: new), and who is without a vector.

    The last have a history, but not for a model that does not fold in.
    """
    now = state.histories
    learned = np.where(numbers < now.learned, numbers, -1)
    rows = now.scored(numbers) if weighted else rows_or_none(now.pairs.pattern, numbers)
    if folds_in:
        return rows, learned, np.zeros(len(numbers), dtype=bool)
    new = (np.diff(rows.indptr) > 0) & (np.diff(rows_or_none(state.train, learned).indptr) == 0)
    return rows_or_none(rows, np.where(new, -1, np.arange(len(new)))), learned, new


def _from_data(state: "Fitted", data: FromData, rule: SeenRule, *, weighted: bool, folds_in: bool) -> Request:
    given, now = data.history, state.histories
    own = given if given.items == state.items else given.on(given.users, state.items)
    rows, numbers = own.histories if weighted else own.matrix, now.users.find(own.users)
    learned, cold = np.where(numbers < now.learned, numbers, -1), {}
    if not folds_in:
        new = (np.diff(rows.indptr) > 0) & (np.diff(rows_or_none(state.train, learned).indptr) == 0)
        rows = rows_or_none(rows, np.where(new, -1, np.arange(len(new))))
        cold = dict.fromkeys(np.flatnonzero(new).tolist(), NO_VECTOR)
    moments = (data.latest, now.latest) if rule.recent is not None else ()
    latest = max((moment for moment in moments if moment is not None), default=None)
    known = known_of_both(own, now, numbers, rule, latest)
    nothing: tuple[tuple[str, ...], ...] = ((),) * len(numbers)
    unknown = nothing if own is given else _unknown_items(given, state.items)
    return Request(tuple(own.users), rows, unknown, known, learned, cold)


def histories(
    items: Ids,
    history: Sequence[Sequence[Hashable]] | Interactions,
    rule: SeenRule = KEEP_OUT,
    *,
    weighted: bool = False,
) -> Request:
    """Lists of item ids as rows; ids nobody knows are set aside, never mapped to something else."""
    if isinstance(history, Interactions):
        own = history.on(history.users, items)
        rows = own.histories if weighted else own.matrix
        return Request(tuple(own.users.labels), rows, _unknown_items(history, items), known_in(own, rule))
    if is_one_id(history) or not isinstance(history, Iterable) or any(is_one_id(one) for one in history):
        raise UsageError("history takes one list of item ids per person: for a single person write history=[[…]].")
    if rule.recent is not None:
        raise UsageError(
            "exclude_recent (--exclude-recent) needs the time of each interaction, and a list of items has none: ask "
            "for a known user, give history=Interactions with times, or leave it out."
        )
    lists = [ids_and_rows(items, one, "history") for one in history]
    unknown = tuple(tuple(labels[at] for at in np.flatnonzero(rows < 0)) for labels, rows in lists)
    names = tuple(f"history {number}" for number in range(1, len(lists) + 1))
    rows = _pattern([rows[rows >= 0] for _, rows in lists], len(items))
    return Request(names, rows, unknown, marked(rows, rule.stays_out(rows.nnz, None, None, None)))


def history_of(items: Ids, now: "Histories", history: Any) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Known item numbers, each once, and unknown ids: of a known user (one id), or of a list of items."""
    if is_one_id(history):
        row = known_user(now, history)
        pairs = now.pairs.pattern
        return pairs.indices[pairs.indptr[row] : pairs.indptr[row + 1]].astype(np.int64), ()
    row_of = dict(zip(*ids_and_rows(items, history, "history"), strict=True))
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


def known_users(users: Ids, given: Any, unknown: str | None) -> tuple[list[str], NDArray[np.int64]]:
    """Ids and rows of users; −1 for one that is not known, unless that is an error."""
    if len(users) == 0 and labels_of(given, "users"):
        raise UsageError("This model file was saved without its users: pass the items of a history instead.")
    if unknown == "error":
        return required(users, given, "users")
    labels, rows = ids_and_rows(users, given, "users")
    if unknown is None and len(rows) and (rows < 0).all():
        who = "The user is" if len(labels) == 1 else f"All {len(labels):,} users are"
        words = f"{who} unknown to the model, and popular items are the answer: {quoted(labels)}."
        advice = 'unknown="fallback" says that this is meant, unknown="error" refuses them.'
        warn(" ".join(filter(None, [words, meant(users, labels[0]), advice])))
    return labels, rows


def limits(
    items: Ids, request: Request, exclude: Any, only: Any, rule: SeenRule = KEEP_OUT, mask: Any = None
) -> Limits:
    """Merge what is known of each row with `exclude`, and turn `only` into rows; `mask` are the items that may be."""
    kept_out = rule.kept_out(request.known, only_positive(request.matrix))
    if exclude is not None:
        kept_out = _union(kept_out, _lists(items, exclude, len(request.names), "exclude"))
    listed = None if only is None else _lists(items, only, len(request.names), "only")
    if mask is not None:
        listed = _pattern([np.flatnonzero(mask)], len(items)) if listed is None else _masked(listed, mask)
    return Limits(kept_out, rule.let_in(request.known, listed))


def answer(
    model: "Recommender",
    request: Request,
    bounds: Limits,
    columns: NDArray[np.int64],
    scores: NDArray[np.float32],
    *,
    k: int,
    fallback: bool = True,
) -> Recommendations:
    """Turn ranked rows into ids; cold users, without a known item, get what is popular, and `reasons` says so.

    So do those whose list has no order: see `with_a_preference`. Without `fallback` all these rows were ranked by
    popularity already.
    """
    if fallback:
        request = with_a_preference(model, request, bounds, columns, scores)
    cold = np.flatnonzero(np.diff(request.matrix.indptr) == 0)
    if len(cold) and fallback:
        columns[cold], scores[cold] = _popular(model._popularity, bounds, cold, columns.shape[1])
    check_lists(columns, scores)
    missing = columns < 0
    labels = model.items_.labels[np.maximum(columns, 0)]
    labels[missing] = None
    reasons = [
        _reason(request, bounds, row, int(missing[row].sum()), columns.shape[1], k) for row in range(len(columns))
    ]
    sources = np.where(np.isin(np.arange(len(columns)), cold), FALLBACK, PERSONAL)
    return Recommendations(
        items=labels,
        scores=np.where(missing, np.nan, scores).astype(np.float32),
        users=request.names,
        sources=tuple(sources.tolist()),
        reasons=tuple(reasons),
        unknown=request.unknown,
        titles=model.titles_,
        new=frozenset(model.new_items_),
    )


def _require_memory(lists: int, width: int) -> None:
    if lists * width > FEW:
        memory.require(
            A_PLACE * lists * width + A_LIST * lists,
            what=f"{lists:,} lists of {width:,} items at once",
            instead="ask for some users at a time, or write them with recommend_to(folder), in the space of a few.",
        )


def require_memory_of_scores(rows: int, columns: int) -> None:
    """Refuse more scores at once than fit in memory."""
    if rows * columns > FEW:
        memory.require(
            A_SCORE * rows * columns,
            what=f"Scores of {columns:,} items for each of {rows:,} histories",
            instead="ask for some histories at a time, or for lists: recommend(…).",
        )


def similar_items(lists: Recommendations, items: Sequence[str]) -> SimilarItems:
    """Lists of histories of one item each, under the names of these items."""
    about = {one.name: getattr(lists, one.name) for one in fields(lists)}
    return SimilarItems(**{**about, "users": tuple(items)})


def _popular(
    popularity: NDArray[np.float32], bounds: Limits, rows: NDArray[np.intp], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    from corml.linalg.topk import TopK

    allowed = bounds.allowed
    if allowed is not None and allowed.shape[0] > 1:  # a single row holds for all
        allowed = allowed[rows]
    best = TopK(len(rows), k, bounds.seen[rows], allowed)
    best.add(np.broadcast_to(popularity, (len(rows), len(popularity))), 0)
    return best.columns, best.scores


def _reason(request: Request, bounds: Limits, row: int, missing: int, width: int, k: int) -> str | None:
    parts = []
    history = request.matrix.indptr[row + 1] - request.matrix.indptr[row]
    if history == 0:
        unknown = len(request.unknown[row])
        why = f"none of the {unknown} history items is known" if unknown else "no history"
        parts.append(f"most popular items: {request.cold.get(row, why)}")
    if missing or width < k:
        excluded = bounds.seen.indptr[row + 1] - bounds.seen.indptr[row]
        limited = "" if bounds.allowed is None else f" of the {_allowed(bounds, row)} known items allowed"
        parts.append(f"exhausted: {width - missing} of {k}{limited}, {excluded} seen or excluded")
    return "; ".join(parts) or None


def _allowed(bounds: Limits, row: int) -> int:
    starts = bounds.allowed.indptr  # type: ignore[union-attr]
    line = min(row, len(starts) - 2)
    return int(starts[line + 1] - starts[line])


def _lists(items: Ids, given: Any, rows: int, name: str) -> csr_array:
    """One list for all, or one per row, as a pattern of known items; `only` for all is a single row."""
    whole = is_one_id(given) or hasattr(given, "tolist") or not isinstance(given, Iterable)
    values = given if whole else list(given)
    nested = [] if whole else [value is not None and not is_one_id(value) for value in values]
    if any(nested) and not all(nested):
        raise UsageError(f"{name} takes one list of item ids for all, or one list per row: not a mixture.")
    if not any(nested):
        (shared,), times = rows_or_warn(items, [values], name), 1 if name == "only" else rows
        if len(shared) * times > FEW:
            memory.require(
                A_LIMIT * len(shared) * times,
                what=f"{name} with {len(shared):,} items for each of {times:,} lists",
                instead="ask for some users at a time, or choose items by a condition on attributes.",
            )
        return _pattern([shared[shared >= 0]] * times, len(items))
    if len(values) != rows:
        raise DataError(f"{name} has {len(values)} lists for {rows} rows: give one list for all, or one per row.")
    return _pattern([row[row >= 0] for row in rows_or_warn(items, values, name)], len(items))


def _pattern(rows: list[NDArray[np.int64]], columns: int) -> csr_array:
    sorted_rows = [np.unique(row) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in sorted_rows])]).astype(np.int32)
    indices = np.concatenate([np.zeros(0, dtype=np.int64), *sorted_rows]).astype(np.int32)
    pattern = csr_array((np.ones(len(indices), dtype=np.float32), indices, indptr), shape=(len(rows), columns))
    pattern.has_sorted_indices = True
    return pattern


def _masked(pattern: csr_array, mask: NDArray[np.bool_]) -> csr_array:
    keep = mask[pattern.indices]
    indptr = np.append(0, np.cumsum(keep))[pattern.indptr]
    chosen = csr_array((pattern.data[keep], pattern.indices[keep], indptr), shape=pattern.shape)
    chosen.has_sorted_indices = True
    return chosen


def _union(left: csr_array, right: csr_array) -> csr_array:
    both = (left + right).tocsr()
    both.sort_indices()
    return both
