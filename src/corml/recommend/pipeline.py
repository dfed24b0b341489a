"""The pipeline: query → allowed items → scores → ranking → re-ranking → result."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corml._runtime.finite import check_lists
from corml._runtime.progress import Progress, silent
from corml._runtime.values import counted
from corml.recommend.allowed import Allowed, allowed_items, rule_of
from corml.recommend.conditions import is_by_attribute
from corml.recommend.options import ListOptions, complete, in_words, list_length
from corml.recommend.query import Query, require_memory_of_lists, resolve
from corml.recommend.rerank import ListMaker, Made
from corml.recommend.result import FALLBACK, PERSONAL, Recommendations
from corml.recommend.score import Rows, Scorer, Scores, unboosted

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

QUICK = {"k", "exclude", "only"}
NO_PREFERENCE = "the model scores all of them alike"


def recommended(
    model: "Recommender",
    users: Any,
    history: Any,
    given: Mapping[str, object],
    progress: Progress = silent,
    scorer: Scorer | None = None,
) -> Recommendations:
    """Lists for users or histories, by options; those that were not given are the defaults.

    `scorer` gives the scores, where that is not the model.
    """
    options = complete(given)
    model = model._at(options["novelty"])
    query = resolve(model, users, history, rule_of(options), options["unknown"])
    k = list_length(options["k"], model.items_)
    require_memory_of_lists(len(query.names), k)
    allowed = allowed_items(model, query, options)
    maker = ListMaker(
        model,
        query.matrix,
        query.users,
        allowed,
        options,
        k,
        scorer=scorer,
        checks_preference=True,
        progress=progress,
    )
    made = maker.lists(query.names)
    if len(made.flat):
        query = query.without_history(made.flat, NO_PREFERENCE)
    return result(model, query, maker, made, options)


def result(
    model: "Recommender",
    query: Query,
    maker: ListMaker,
    made: Made,
    options: ListOptions,
) -> Recommendations:
    """Ranked rows as ids, with a reason for each list that is short or not personal; scores are the model's own."""
    columns, scores, boosts, factors = made.columns, made.scores, None, maker.factors
    missing = columns < 0
    if factors is not None:
        boosts = np.where(missing, np.nan, factors[np.maximum(columns, 0)]).astype(np.float32)
        scores = unboosted(scores, np.where(missing, 1, factors[np.maximum(columns, 0)]))
    labels = model.items_.labels[np.maximum(columns, 0)]
    labels[missing] = None
    rows = range(len(columns))
    return Recommendations(
        items=labels,
        scores=np.where(missing, np.nan, scores).astype(np.float32),
        users=query.names,
        sources=tuple(np.where(query.is_cold, FALLBACK, PERSONAL).tolist()),
        reasons=tuple([_reason(query, maker.allowed, made, options, row) for row in rows]),
        unknown=query.unknown,
        titles=model.titles_,
        new=frozenset(() if model._link() is None else model.new_items_),
        boosts=boosts,
        rules=in_words(options) if maker.factors is not None or maker.chooses else "",
    )


def is_quick(given: Mapping[str, object]) -> bool:
    """Whether options are none but those that a list by item numbers alone knows."""
    return not given.keys() - QUICK and not any(is_by_attribute(given.get(name)) for name in ("exclude", "only"))


def quick_list(model: "Recommender", history: Sequence[str], given: Mapping[str, Any]) -> tuple[Rows, Scores] | None:
    """The list of one new user by item numbers alone, for a service, where matrices would take most of the time.

    None where the pipeline has more to say about the list, or the model has no such way.
    """
    k, items = given.get("k", 10), model.items_
    own = np.unique(items.find(list(history)))
    own = own[own >= 0]
    if not is_quick(given) or not len(own) or k > len(items):
        return None
    excluded, only = (
        None if given.get(name) is None else np.unique(items.find(list(given[name]))) for name in ("exclude", "only")
    )
    seen = own if excluded is None else np.concatenate([own, excluded[excluded >= 0]])
    lists = model._top_k_of_one(own, k, seen, None if only is None else only[only >= 0])
    if lists is None or lists[0][-1] < 0 or lists[1][0] == lists[1][-1]:  # short, or maybe without a preference
        return None
    check_lists(*lists)
    return lists


def _reason(query: Query, allowed: Allowed, made: Made, options: ListOptions, row: int) -> str | None:
    """Why a list is not personal, and why it is short."""
    parts, k, length = [], options["k"], int((made.columns[row] >= 0).sum())
    if query.matrix.indptr[row + 1] == query.matrix.indptr[row]:
        unknown = len(query.unknown[row])
        none = "the only history item is not" if unknown == 1 else f"none of the {unknown:,} history items is"
        why = f"{none} known" if unknown else "no history"
        parts.append(f"most popular items: {query.cold.get(row, why)}")
    if length < k:
        only, excluded = allowed.count(row), np.diff(allowed.excluded.indptr[row : row + 2])[0]
        limited = "" if only is None else f", only {counted(only, 'item')} allowed"
        short = f"exhausted: {length} of {k}{limited}, {excluded} seen or excluded"
        short += ", no other item fits max_per" if options["max_per"] else ""
        parts.append(short + (f", {made.lost[row]} left to other lists by max_share" if made.lost[row] else ""))
    return "; ".join(parts) or None
