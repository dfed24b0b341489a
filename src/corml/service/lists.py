"""Lists as the API answers them: requests and answers as the library has them, and its errors as the API's."""

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
from corml.recommend import conditions
from corml.recommend.pipeline import quick_list
from corml.recommend.result import FALLBACK, PERSONAL, Recommendations
from corml.recommend.seen import SeenRule
from corml.service.problems import Refusal
from corml.service.schema import Contribution, OneList, Query, Ranked, Whom, options_given
from corml.service.served import Served


def labels(given: Any) -> list[str]:
    """Ids as text: 318 and "318" are one item."""
    return [one if type(one) is str else str(one) for one in given]


def one_list(served: Served, query: Query) -> tuple[OneList, Recommender]:
    """The list of a query, and the operating point it is from."""
    options = options_given(query)
    model = served.at(options.pop("novelty", None))
    if query.user is UNSET:
        history, options = labels(query.history), _as_text(options)
        lists = quick_list(model, history, options)
        if lists is not None:
            unknown = [one for one in history if one not in model.items_] + _unknown_limits(model, options)
            return OneList(source="personal", items=ranked(model, *lists), unknown=unknown or UNSET), model
    return ranked_lists(model, [query])[0], model


def _as_text(options: dict[str, Any]) -> dict[str, Any]:
    """Options in which ids of items are text."""
    ids = {name: labels(options[name]) for name in ("exclude", "only") if isinstance(options.get(name), list)}
    return {**options, **ids}


def ranked(model: Recommender, columns: NDArray[np.int64], scores: NDArray[np.float32]) -> list[Ranked]:
    """Item numbers as a list."""
    state = model.fitted_
    items, titles = state.items.labels[columns].tolist(), texts_at(state.titles, state.items, columns)
    shares = (state.counts[columns] / max(state.train.shape[0], 1)).tolist()
    return [
        Ranked(rank, item, score, share, title or UNSET)
        for rank, (item, score, share, title) in enumerate(zip(items, scores.tolist(), shares, titles, strict=True), 1)
    ]


def ranked_lists(model: Recommender, queries: Sequence[Query]) -> list[OneList]:
    """Lists of queries by the library; those that differ in their users and lists of ids alone are ranked at once."""
    answers: dict[int, OneList] = {}
    alike: dict[Any, list[int]] = {}
    given = [_as_text(options_given(query)) for query in queries]
    for at, (query, options) in enumerate(zip(queries, given, strict=True)):
        shared = {name: value for name, value in options.items() if not (name in IDS and isinstance(value, list))}
        alike.setdefault((query.user is not UNSET, repr(sorted(shared.items()))), []).append(at)
    for members in alike.values():
        group = [queries[at] for at in members]
        lists = _recommended(model, group, [given[at] for at in members])
        for row, at in enumerate(members):
            answers[at] = _listed(model, lists, row, _unknown_limits(model, given[at]))
    return [answers[at] for at in range(len(queries))]


IDS = ("exclude", "only")  # options that may be other ids for each list


def _recommended(model: Recommender, group: list[Query], given: list[dict[str, Any]]) -> Recommendations:
    options = options_for(model, group[0], given[0])
    everything = model.items_.labels.tolist()
    for name, nothing in zip(IDS, ([], everything), strict=True):
        if any(isinstance(one.get(name), list) for one in given):
            options[name] = [nothing if name not in one else _known(model, one[name]) for one in given]
    known = group[0].user is not UNSET
    with refusing(options, known=known):
        if known:
            return model.recommend(labels(query.user for query in group), unknown="fallback", **options)
        return model.recommend(history=[labels(query.history) for query in group], **options)


def options_for(model: Recommender, query: Query, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a list without ids that the model does not know; what the model cannot tell is refused."""
    how = {name: value for name, value in options.items() if name != "novelty"}
    _check_events(model, query, how)
    if "now" in how:
        _check_moment(model, how["now"])
    if "boost" in how:
        ignored = _unknown_limits(model, how)
        how["boost"] = {name: factor for name, factor in how["boost"].items() if name not in ignored}
    return how | {name: _known(model, how[name]) for name in IDS if isinstance(how.get(name), list)}


def _unknown_limits(model: Recommender, options: Mapping[str, Any]) -> list[str]:
    """Ids of `exclude`, `only` and `boost` that the model does not know, and that are ignored."""
    given = [one for name in IDS if isinstance(options.get(name), list) for one in labels(options[name])]
    given += [name for name, factor in options.get("boost", {}).items() if not isinstance(factor, Mapping)]
    return [one for one, row in zip(given, model.items_.find(given), strict=True) if row < 0]


def _known(model: Recommender, given: Any) -> list[str]:
    """The ids that the model knows; the answer names the others."""
    return [one for one, row in zip(labels(given), model.items_.find(labels(given)), strict=True) if row >= 0]


@contextmanager
def refusing(how: Mapping[str, Any], *, known: bool) -> Iterator[None]:
    """Refuse what the library refuses, in the words of the API; `known` says whether a user was named."""
    try:
        yield
    except UnknownIdError:
        raise Refusal(404, "The model does not know this user.") from None
    except UsageError:
        if how.keys() & {"only", "exclude", "boost", "max_per"}:
            raise Refusal(404, "Items have no such attributes or values: GET /v1/models lists attributes.") from None
        raise Refusal(422, _cannot(known)) from None


def _check_events(model: Recommender, query: Query, how: Mapping[str, Any]) -> None:
    """Refuse what the model cannot tell about known items: their event types, or their times."""
    rule = SeenRule(how.get("seen", "exclude"), how.get("exclude_recent"), how.get("hide_events"))
    if not rule.narrows:
        return
    now = model.fitted_.histories
    if rule.recent is not None and (query.user is UNSET or now.latest is None):
        raise Refusal(422, "exclude_recent needs the time of each interaction: ask for a user whose times are known.")
    if rule.by_type and not now.event_types:
        raise Refusal(422, "The model knows no event types: leave hide_events out, and give exclude_recent one time.")
    if not set(rule.types) <= set(now.event_types):
        raise Refusal(404, "The model has no such event type: GET /v1/models lists event_types.")


def _check_moment(model: Recommender, now: Any) -> None:
    """Refuse a moment that there is not, and any where the model does not know when items are available."""
    if not {name.lower() for name in model.attributes_.names} & {conditions.FROM, conditions.UNTIL}:
        raise Refusal(404, f"No item has a time {conditions.FROM} or {conditions.UNTIL}: leave now out.")
    try:
        conditions.available(model.attributes_, now)
    except (UsageError, ValueError, OverflowError):
        raise Refusal(422, "There is no such moment: write now, 2024-01-31, 2024-01-31T18:00 or seconds.") from None


def _cannot(known: bool) -> str:
    if known:
        return "This model has no users: send the items of a history."
    return "This model has no list for such a request: it may know its own users only, or nothing but histories."


def _listed(model: Recommender, lists: Recommendations, row: int, ignored: list[str]) -> OneList:
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
