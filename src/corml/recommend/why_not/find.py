"""Why an item is not in a list: where it stands, what it lacks, and which items in the history would lift it.

Everything is exact. The rank is counted over all items that may be listed. Which option keeps an item out is found by
asking with that option alone; which rules of lists do, by making the list without them.
"""

import contextlib
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from corml.errors import UsageError
from corml.recommend.candidates import Candidates
from corml.recommend.explanation import Explanation
from corml.recommend.recommendations import PERSONAL
from corml.recommend.requests import Request
from corml.recommend.why_not.answer import WhyNot
from corml.recommend.why_not.lifts import lifts_of
from corml.recommend.why_not.question import Question, Race, may_be_listed
from corml.recommend.why_not.rules import full_values, kept_out_by, needed_score

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["why_not"]

OF_ITEMS = {"exclude": "excluded", "only": "not in only", "now": "not available"}  # verdicts of options


def why_not(
    model: "Recommender", history: Any, item: Hashable, *, k: int = 10, lifts: int = 5, **options: Any
) -> WhyNot:
    """Why an item is not in the list that `recommend` makes by these options for a known user or for a history."""
    question = Question.of(model, history, item, k, options)
    request, listed = question.request(), question.lists()
    personal = listed.sources[0] == PERSONAL
    if not personal:  # the list is of popular items, whatever the history
        request = replace(request, matrix=csr_array(request.matrix.shape, dtype=request.matrix.dtype))
    race, target, items = question.race(request), question.target, listed.values()[0]
    place = items.index(question.item) + 1 if question.item in items else None
    barred = "" if race.may[0, target] else _barred(question, request)
    rules = kept_out_by(question) if not barred and place is None else ()
    explanation = _explanation(model, history, item)
    own = request.matrix.indices.astype(np.int64)
    score = float(race.own[0, target])
    free = question.user is None and not barred  # the history is one that more can be put into
    factors = question.rules.factors(model.items_, model.attributes_)
    return WhyNot(
        item=question.item,
        verdict=barred or ("listed" if place is not None else "rules" if rules else "below"),
        rank=_rank(question, race, len(items), place, barred=bool(barred)),
        of=int(np.count_nonzero(race.may[0])) + (not race.may[0, target]),
        score=score,
        length=len(items),
        needed=needed_score(question, listed, factors),
        boost=None if factors is None else float(factors[target]),
        rules=rules,
        full=full_values(question, listed),
        popularity=float(model._popularity[target]),
        support=int(model.counts_[target]),
        lifts=lifts_of(question, own, score if personal else 0.0, lifts) if free else (),
        explanation=explanation,
        source=listed.sources[0],
        unknown=request.unknown[0],
        hidden_by=_hidden_by(question) if barred == "seen" else "",
        titles=model.titles_,
    )


def _barred(question: Question, request: Request) -> str:
    """Which option does not let the item into any list: what is known of the user first."""
    anything = Candidates(seen="allow")
    for_user = {name: value for name, value in vars(question.candidates).items() if name not in OF_ITEMS}
    alone = [replace(anything, **for_user)]
    alone += [replace(anything, **{name: getattr(question.candidates, name)}) for name in OF_ITEMS]
    n, target = len(question.model.items_), question.target
    at = [may_be_listed(one.limits(question.model, request), 1, n)[0, target] for one in alone].index(False)
    if at:
        return list(OF_ITEMS.values())[at - 1]
    return "seen" if target in request.known.indices else "not seen"


def _hidden_by(question: Question) -> str:
    """Which option hides a known item; what the user rejected is hidden by each of them, but for seen="learned"."""
    if question.candidates.seen != "learned":
        if _hides(question, seen="allow"):
            return "rejected"
        for name in ("hide_events", "exclude_recent"):
            given = getattr(question.candidates, name)
            if given is not None and _hides(question, **{name: given}):
                return name
    return "seen"


def _hides(question: Question, **options: Any) -> bool:
    """Whether these options alone keep the item out."""
    alone = replace(question, candidates=Candidates(**options))
    request = alone.request()
    return bool(alone.target in alone.candidates.limits(alone.model, request).seen.indices)


def _rank(question: Question, race: Race, length: int, place: int | None, *, barred: bool) -> int:
    """The place in the list; else by score, and then below the list, unless it is more than the best scores."""
    if place is not None:
        return place
    rank = race.rank(question.target)
    return rank if barred or question.rules.reranks else max(rank, length + 1)


def _explanation(model: "Recommender", history: Any, item: Hashable) -> Explanation | None:
    """What speaks for the item; nothing where there is no history, or the model does not score item by item."""
    with contextlib.suppress(UsageError):
        explanation = model.explain(history, item)
        return explanation if explanation.history else None
    return None
