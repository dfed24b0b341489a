"""What the rules of lists do to one item: which of them keep it out, and which score it would need beside them."""

from itertools import chain, combinations

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from corml.recommender import Recommender
from corml.rules import ListRules, boosted, unboosted
from corml.service.lists import ranked_lists
from corml.service.schema import OneList, WhyNot
from corml.service.served import Served

__all__ = ["factors_of", "full_values", "kept_out_by", "needed_score", "places", "reranks"]

RULES = ("max_per", "diversity", "boost")  # which is named first where each alone keeps an item out

Scores = NDArray[np.float32]


def reranks(query: WhyNot) -> bool:
    """Whether a list is more than the best scores."""
    return any(getattr(query, name) not in (UNSET, 0, {}) for name in ("diversity", "max_per"))


def factors_of(model: Recommender, query: WhyNot) -> Scores | None:
    """What scores are multiplied by; None if nothing is boosted."""
    boost = None if query.boost is UNSET else query.boost
    return ListRules(boost=boost).factors(model.items, model.attributes_)


def kept_out_by(served: Served, model: Recommender, query: WhyNot, item: str) -> list[str]:
    """The fewest rules without which the item would be in the list; none if it would not be there without any."""
    given = [name for name in RULES if getattr(query, name) not in (UNSET, 0, {})]
    for names in chain.from_iterable(combinations(given, size) for size in range(1, len(given) + 1)):
        without = msgspec.structs.replace(query, **dict.fromkeys(names, UNSET))
        if places(served, model, [without], item) != [None]:
            return list(names)
    return []


def places(served: Served, model: Recommender, queries: list[WhyNot], item: str) -> list[int | None]:
    """The place of the item in the list of each query, all at one position of the dial; None where it is not there."""
    lists = ranked_lists(served, model, queries)
    return [next((one.rank for one in listed.items if one.item == item), None) for listed in lists]


def full_values(model: Recommender, query: WhyNot, listed: OneList, target: int) -> dict[str, list[str]]:
    """Values of the item that the list already has as many items of as `max_per` lets it have, by attribute."""
    full = {}
    for name, positions in _by_value(model, query, listed, target).items():
        values = [value for value, at in positions.items() if at is not None]
        if values:
            full[name] = values
    return full


def needed_score(
    model: Recommender, query: WhyNot, listed: OneList, target: int, factors: Scores | None
) -> float | None:
    """The score that an item must pass to be listed: that of the last item, and of the last of each full value.

    None where there is none: the list is empty, or it is diverse, so that it depends on all items of the list.
    """
    if not listed.items or query.diversity not in (UNSET, 0):
        return None
    columns = model.items.find([one.item for one in listed.items])
    scores = np.array([one.score for one in listed.items], dtype=np.float32)
    if factors is not None:
        scores = boosted(scores, factors[columns])
    bounds = [len(scores) - 1]
    for positions in _by_value(model, query, listed, target).values():
        bounds += [at for at in positions.values() if at is not None]
    needed = scores[min(bounds)]
    if factors is not None:
        needed = unboosted(np.array([needed]), factors[[target]])[0]
    return float(needed)


def _by_value(model: Recommender, query: WhyNot, listed: OneList, target: int) -> dict[str, dict[str, int | None]]:
    """For each value of the item the place (from 0) of the listed item that fills it; None where there is room."""
    if query.max_per is UNSET:
        return {}
    columns = model.items.find([one.item for one in listed.items])
    found: dict[str, dict[str, int | None]] = {}
    for name, most in query.max_per.items():
        pattern, values = model.attributes_.categories(name).tocsr(), model.attributes_.values(name)
        own = pattern.indices[pattern.indptr[target] : pattern.indptr[target + 1]]
        found[name] = {}
        for value in own.tolist():
            having = [at for at, column in enumerate(columns) if column != target and pattern[column, value]]
            found[name][values[value]] = having[most - 1] if len(having) >= most else None
    return found
