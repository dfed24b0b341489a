"""Lists as the API answers them: the short way for one history, the library's `recommend` for everything else."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from corml.data.titles import texts_at
from corml.errors import UnknownIdError, UsageError
from corml.models.cited import Cited, cite
from corml.models.recommender import Recommender
from corml.recommend import filters
from corml.recommend.recommendations import FALLBACK, PERSONAL, Recommendations
from corml.recommend.seen import SeenRule
from corml.service.problems import Refusal
from corml.service.schema import Contribution, Limited, OneList, Ranked, Whom, passed_on
from corml.service.served import Served

__all__ = [
    "available",
    "contributions",
    "explained",
    "known_items",
    "labels",
    "one_list",
    "options_of",
    "ranked",
    "ranked_lists",
    "refusing",
]


def labels(given: Any) -> list[str]:
    """Ids as text: 318 and "318" are one item."""
    return [one if type(one) is str else str(one) for one in given]


def one_list(served: Served, query: Limited) -> tuple[OneList, Recommender]:
    """The list of a query, and the position of the dial it is from."""
    model = served.at(query.novelty)
    if query.user is UNSET:
        short = _short(served, model, query)
        if short is not None:
            return short, model
    return ranked_lists(served, model, [query])[0], model


def _short(served: Served, model: Recommender, query: Limited) -> OneList | None:
    """By item numbers alone; None where there is something to say about the list, or the model has no such way."""
    if passed_on(query):
        return None
    history = labels(query.history)
    rows = model.items_.numbers(history)
    distinct = sorted({row for row in rows if row >= 0})
    if not distinct or query.k > len(model.items_):
        return None
    seen = known = np.array(distinct)
    allowed = None
    if query.exclude is not UNSET:
        excluded = served.rows(labels(query.exclude))
        seen = np.concatenate([known, excluded[excluded >= 0]])
    if query.only is not UNSET:
        allowed = np.unique(served.rows(labels(query.only)))
        allowed = allowed[allowed >= 0]
    found = model._top_k_of_one(known, query.k, seen, allowed)
    if found is None or found[0][-1] < 0 or found[1][0] == found[1][-1]:  # of equal scores the library says more
        return None
    unknown = [label for label, row in zip(history, rows, strict=True) if row < 0] + unknown_limits(model, query)
    return OneList(source="personal", items=ranked(model, *found), unknown=unknown or UNSET)


def ranked(model: Recommender, columns: NDArray[np.int64], scores: NDArray[np.float32]) -> list[Ranked]:
    """Item numbers as a list."""
    state = model.fitted_
    items, titles = state.items.labels[columns].tolist(), texts_at(state.titles, state.items, columns)
    shares = (state.counts[columns] / max(state.train.shape[0], 1)).tolist()
    return [
        Ranked(rank, item, score, share, title or UNSET)
        for rank, (item, score, share, title) in enumerate(zip(items, scores.tolist(), shares, titles, strict=True), 1)
    ]


def ranked_lists(served: Served, model: Recommender, queries: Sequence[Limited]) -> list[OneList]:
    """Lists of queries at one position by the library itself; those that ask alike are ranked at once."""
    answers: dict[int, OneList] = {}
    alike: dict[Any, list[int]] = {}
    for at, query in enumerate(queries):
        known = query.user is not UNSET
        alike.setdefault((known, query.k, repr(sorted(passed_on(query).items()))), []).append(at)
    for (known, k, _), members in alike.items():
        group = [queries[at] for at in members]
        lists = _recommended(model, group, known=known, k=k)
        for row, at in enumerate(members):
            answers[at] = _listed(model, lists, row, k, unknown_limits(model, queries[at]))
    return [answers[at] for at in range(len(queries))]


def unknown_limits(model: Recommender, query: Limited) -> list[str]:
    """Ids of `exclude`, `only` and `boost` that the model does not know, and that were ignored."""
    given = [one for ids in (query.exclude, query.only) if isinstance(ids, list) for one in labels(ids)]
    boost = getattr(query, "boost", UNSET)
    given += [] if boost is UNSET else [name for name, factor in boost.items() if not isinstance(factor, Mapping)]
    return [one for one, row in zip(given, model.items_.find(given), strict=True) if row < 0]


def _known(model: Recommender, given: Any) -> list[str]:
    """The ids that the model knows; the answer names the others."""
    return [one for one, row in zip(labels(given), model.items_.find(labels(given)), strict=True) if row >= 0]


def _recommended(model: Recommender, group: list[Limited], *, known: bool, k: int) -> Recommendations:
    how = options_of(model, group[0], ids=False)
    if "exclude" not in how and any(query.exclude is not UNSET for query in group):
        how["exclude"] = [[] if query.exclude is UNSET else _known(model, query.exclude) for query in group]
    if "only" not in how and any(query.only is not UNSET for query in group):
        everything = model.items_.labels.tolist() if any(query.only is UNSET for query in group) else []
        how["only"] = [everything if query.only is UNSET else _known(model, query.only) for query in group]
    with refusing(how, known=known):
        if known:
            return model.recommend(labels(query.user for query in group), k=k, unknown="fallback", **how)
        return model.recommend(history=[labels(query.history) for query in group], k=k, **how)


def options_of(model: Recommender, query: Limited, *, ids: bool = True) -> dict[str, Any]:
    """The options of a list as the library has them, without ids that the model does not know.

    `ids` says whether lists of ids are among them, which may be others for each list.
    """
    how: dict[str, Any] = passed_on(query)
    _check_rule(model, query)
    if "now" in how:
        available(model, how["now"])
    if "boost" in how:
        ignored = unknown_limits(model, query)
        how["boost"] = {name: factor for name, factor in how["boost"].items() if name not in ignored}
    for name in ("exclude", "only") if ids else ():
        if name not in how and getattr(query, name) is not UNSET:
            how[name] = _known(model, getattr(query, name))
    return how


@contextmanager
def refusing(how: Mapping[str, Any], *, known: bool) -> Iterator[None]:
    """Refuse what the library refuses, in the words of the API; `known` says whether a user was named."""
    try:
        yield
    except UnknownIdError:
        raise Refusal(404, "The model does not know this user.") from None
    except UsageError:
        if how.keys() - {"seen", "hide_events", "exclude_recent"}:
            raise Refusal(404, "Items have no such attributes or values: GET /v1/models lists attributes.") from None
        raise Refusal(422, _cannot(known)) from None


def _check_rule(model: Recommender, query: Limited) -> None:
    """Refuse what the model cannot tell about known items: their event types, or their times."""
    events = None if query.hide_events is UNSET else query.hide_events
    recent = None if query.exclude_recent is UNSET else query.exclude_recent
    rule = SeenRule("exclude" if query.seen is UNSET else query.seen, recent, events)
    if not rule.narrows:
        return
    now = model.fitted_.histories
    if recent is not None and (query.user is UNSET or now.latest is None):
        raise Refusal(422, "exclude_recent needs the time of each interaction: ask for a user whose times are known.")
    if rule.by_type and not now.event_types:
        raise Refusal(422, "The model knows no event types: leave hide_events out, and give exclude_recent one time.")
    if not set(rule.types) <= set(now.event_types):
        raise Refusal(404, "The model has no such event type: GET /v1/models lists event_types.")


def available(model: Recommender, now: Any) -> NDArray[np.bool_]:
    """Which items can be had at a moment, if the model knows of any when that is."""
    if not {name.lower() for name in model.attributes_.names} & {filters.FROM, filters.UNTIL}:
        raise Refusal(404, f"No item has a time {filters.FROM} or {filters.UNTIL}: leave now out.")
    try:
        return filters.available(model.attributes_, now)
    except (UsageError, ValueError, OverflowError):
        raise Refusal(422, "There is no such moment: write now, 2024-01-31, 2024-01-31T18:00 or seconds.") from None


def _cannot(known: bool) -> str:
    if known:
        return "This model has no users: send the items of a history."
    return "This model has no list for such a request: it may know its own users only, or nothing but histories."


def _listed(model: Recommender, lists: Recommendations, row: int, k: int, ignored: list[str]) -> OneList:
    there = lists.items[row] != np.array(None)
    items = lists.items[row][there].tolist()
    columns = model.items_.find(items)
    personal = lists.sources[row] == PERSONAL
    unknown = [*lists.unknown[row], *ignored] or UNSET
    reason = lists.reasons[row] or UNSET
    return OneList(
        source="personal" if personal else "fallback",
        items=ranked(model, columns, lists.scores[row][there]),
        reason=reason,
        unknown=unknown,
    )


# --- what each item of a history adds --------------------------------------------------------------------------------


def cited(model: Recommender, whom: Whom) -> Cited:
    """The items of a history or of a known user, each once, with their strengths; and unknown ids."""
    if whom.user is UNSET:
        return cite(model.fitted_, labels(whom.history), weighted=model.LEARNS_WEIGHTS)
    try:
        return cite(model.fitted_, labels([whom.user])[0], weighted=model.LEARNS_WEIGHTS)
    except UnknownIdError:
        raise Refusal(404, "The model does not know this user.") from None
    except UsageError:
        raise Refusal(422, _cannot(known=True)) from None


def known_items(model: Recommender, whom: Whom) -> tuple[NDArray[np.int64], list[str] | UnsetType]:
    """Item numbers of a history or of a known user, each once, and unknown ids."""
    known = cited(model, whom)
    return known.items, list(known.unknown) or UNSET


def explained(model: Recommender, answer: OneList, whom: Whom) -> None:
    """Add to each item of a list what each item of the history adds to its score."""
    if answer.source == FALLBACK:  # popular items are nobody's: there is no history to add up
        answer.history = []
        return
    known = cited(model, whom)
    answer.history = model.items_.labels[known.items].tolist()
    for item in answer.items:
        target = int(model.items_.find([item.item])[0])
        parts = parts_of(model, known, target)
        item.parts = {name: values.tolist() for name, values in parts.items()}


def parts_of(model: Recommender, known: Cited, target: int) -> Mapping[str, NDArray[np.float64]]:
    """Contributions by part, with the strengths of a known user's items."""
    try:
        return known.multiplied(model._contributions(known.items, target))
    except UsageError:
        raise Refusal(422, "This model does not score item by item, so there is nothing to explain.") from None


def contributions(model: Recommender, whom: Whom, target: int) -> tuple[list[Contribution], float]:
    """What each item of a history adds to a score, largest first, and their sum."""
    known = cited(model, whom)
    parts = parts_of(model, known, target)
    total = sum(parts.values(), np.zeros(len(known.items)))
    items, titles = model.items_.labels[known.items], model.titles_
    rows = [
        Contribution(
            item=items[at],
            contribution=float(total[at]),
            parts={name: float(values[at]) for name, values in parts.items()},
            title=titles.get(items[at], UNSET),
        )
        for at in np.argsort(-total, kind="stable").tolist()
    ]
    return rows, float(total.sum())
