"""What the rules of lists do to one item: which of them keep it out, and which score it would need with them."""

from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.recommend.recommendations import Recommendations
from corml.recommend.rules import boosted, unboosted
from corml.recommend.why_not.question import Question

__all__ = ["full_values", "kept_out_by", "needed_score"]

NONE: dict[str, Any] = {"max_per": None, "diversity": 0.0, "boost": None}  # first what is named first


def kept_out_by(question: Question) -> tuple[str, ...]:
    """The fewest rules without which the item would be in the list; none if it would not be there without any."""
    given = [name for name in NONE if getattr(question.rules, name)]
    for names in chain.from_iterable(combinations(given, size) for size in range(1, len(given) + 1)):
        without = replace(question.rules, **{name: NONE[name] for name in names})
        if question.places(rules=without) != [None]:
            return names
    return ()


def full_values(question: Question, listed: Recommendations) -> dict[str, list[str]]:
    """Values of the item that the list already has as many items of as `max_per` lets it have, by attribute."""
    by_name = _by_value(question, listed).items()
    full = {name: [value for value, at in places.items() if at is not None] for name, places in by_name}
    return {name: values for name, values in full.items() if values}


def needed_score(question: Question, listed: Recommendations, factors: NDArray[np.float32] | None) -> float | None:
    """The score that an item must pass to be listed: that of the last item, and of the last of each full value.

    None where there is none: the list is empty, or it is diverse, so that it depends on all items of the list.
    """
    (items,) = listed.values()
    if not items or question.rules.diversity > 0:
        return None
    scores = np.array(listed.scores[0, : len(items)], dtype=np.float32)
    if factors is not None:
        scores = boosted(scores, factors[question.model.items_.find(items)])
    full = [at for places in _by_value(question, listed).values() for at in places.values() if at is not None]
    needed = scores[[min([len(scores) - 1, *full])]]
    return float((needed if factors is None else unboosted(needed, factors[[question.target]]))[0])


def _by_value(question: Question, listed: Recommendations) -> dict[str, dict[str, int | None]]:
    """For each value of the item the place (from 0) of the listed item that fills it; None where there is room."""
    table, target = question.model.attributes_, question.target
    columns = question.model.items_.find(listed.values()[0])
    found: dict[str, dict[str, int | None]] = {}
    for name, most in (question.rules.max_per or {}).items():
        pattern, values = table.categories(name).tocsr(), table.values(name)
        own = pattern.indices[pattern.indptr[target] : pattern.indptr[target + 1]]
        found[name] = {}
        for value in own.tolist():
            having = [at for at, column in enumerate(columns) if column != target and pattern[column, value]]
            found[name][values[value]] = having[most - 1] if len(having) >= most else None
    return found
