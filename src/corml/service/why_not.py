"""Why an item is not in a list: where it stands, what it lacks, and which items in the history would lift it.

Everything is exact. The rank is counted over all items that may be listed. Which rules of lists keep an item out is
found by making the list without them. Items to suggest are taken from the `TRIED` that add most to the score of the
item; each is then put into the history and the whole catalogue is ranked again, by the same rules, because an item that
lifts one lifts others too. Those after which the item ranks best are suggested.
"""

import contextlib
from dataclasses import dataclass

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from corml import filters
from corml.cited import Cited
from corml.recommender import Recommender
from corml.requests import scored_by
from corml.rules import boosted
from corml.seen import SeenRule, known_of_users
from corml.service.kept_out import factors_of, full_values, kept_out_by, needed_score, places, reranks
from corml.service.lists import available, contributions, known_items, labels, parts_of, ranked_lists
from corml.service.problems import Refusal
from corml.service.schema import Contribution, Lift, WhyNot, WhyNotAnswer, passed_on
from corml.service.served import Served

__all__ = ["TRIED", "why_not"]

TRIED = 50  # items whose effect is computed
AT_A_TIME = 4096  # items whose contributions are computed at a time
ROWS = 10  # histories that are scored at a time

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Field:
    """The items that compete: those that may be listed, and the one that was asked about."""

    model: Recommender
    history: Rows
    target: int
    open: NDArray[np.bool_]  # whether an item may be listed
    seen: str  # what becomes of items in the history: exclude, allow, only
    factors: NDArray[np.float32] | None  # of boosted items

    def scores(self, added: Rows) -> NDArray[np.float32]:
        """Scores of all items for the history, and for it with each of the items added."""
        items = self.model.items.labels
        base = items[self.history].tolist()
        histories = [[*base, items[item]] for item in added] if len(added) else [base]
        return self.model.scores(histories)

    def rank(self, scores: NDArray[np.float32], added: int | None = None) -> int:
        """The rank of the target; an item that has been added to the history is one that was seen."""
        competes = self.open.copy()
        competes[self.target] = False
        if added is not None and self.seen != "allow":
            competes[added] = self.seen == "only"
        scores = scores if self.factors is None else boosted(scores, self.factors)
        mine = scores[self.target]
        above = (scores > mine) | ((scores == mine) & (np.arange(len(scores)) < self.target))
        return int(np.count_nonzero(above & competes)) + 1


def why_not(served: Served, query: WhyNot) -> WhyNotAnswer:
    """Answer the question."""
    model, target = served.at(query.novelty), served.row(labels([query.item])[0])
    history, unknown = known_items(model, query)
    listed = ranked_lists(served, model, [query])[0]  # refuses what cannot be answered
    field, barred = _field(model, query, history, target)
    item, titles = model.items.labels[target], model.titles_
    scores = _scores(field, query)
    place = next((one.rank for one in listed.items if one.item == item), None)
    rules = [] if barred or place is not None else kept_out_by(served, model, query, item)
    verdict = barred or ("listed" if place is not None else "rules" if rules else "below")
    base = float(scores[target]) if len(history) else 0.0
    lifts = _lifts(served, field, query, base) if query.user is UNSET and not barred else []
    needed = needed_score(model, query, listed, target, field.factors)
    return WhyNotAnswer(
        model=served.name,
        model_version=served.version,
        item=item,
        verdict=verdict,  # type: ignore[arg-type]
        rank=_rank(field, query, scores, len(listed.items), place) if not barred else field.rank(scores),
        of=int(np.count_nonzero(field.open)) + (not field.open[target]),
        score=float(scores[target]),
        boost=UNSET if field.factors is None else float(field.factors[target]),
        needed=UNSET if needed is None else needed,
        rules=rules or UNSET,
        full=full_values(model, query, listed, target) or UNSET,
        popularity=float(model.popularity[target]),
        support=int(model.counts_[target]),
        lifts=lifts,
        contributions=_contributions(model, query, history, target),
        source=listed.source,
        title=titles.get(item, UNSET),
        unknown=unknown,
    )


def _rank(field: Field, query: WhyNot, scores: NDArray[np.float32], length: int, place: int | None) -> int:
    """The place in the list; else by score, and then below the list, unless it is more than the best scores."""
    if place is not None:
        return place
    return field.rank(scores) if reranks(query) else max(field.rank(scores), length + 1)


def _contributions(model: Recommender, query: WhyNot, history: Rows, target: int) -> list[Contribution]:
    if not len(history):
        return []
    with contextlib.suppress(Refusal):  # a model that does not score item by item has a rank all the same
        return contributions(model, query, target)[0]
    return []


def _field(model: Recommender, query: WhyNot, history: Rows, target: int) -> tuple[Field, str]:
    """Who competes, and why the target may not; nothing if it may."""
    n = len(model.items)
    seen, excluded = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    allowed, present = np.ones(n, dtype=bool), np.ones(n, dtype=bool)
    known = history
    if query.user is not UNSET:
        row = model.users_.find(labels([query.user]))
        known = known_of_users(model.fitted_.histories, row, ages=False).indices
    rule = "exclude" if query.seen is UNSET else SeenRule(query.seen).mode
    if rule == "exclude":
        seen[known] = True
    elif rule == "only":
        seen[:] = True
        seen[known] = False
    if query.exclude is not UNSET:
        excluded = _chosen(model, query, "exclude")
    if query.only is not UNSET:
        allowed = _chosen(model, query, "only")
    if query.now is not UNSET:
        present = available(model, query.now)
    reasons = (
        (seen, "not seen" if rule == "only" else "seen"),
        (excluded, "excluded"),
        (~allowed, "not in only"),
        (~present, "not available"),
    )
    barred = next((word for mask, word in reasons if mask[target]), "")
    may = ~seen & ~excluded & allowed & present
    return Field(model, history, target, may, rule, factors_of(model, query)), barred


def _chosen(model: Recommender, query: WhyNot, name: str) -> NDArray[np.bool_]:
    """The items of `only` or `exclude`, by ids or by conditions."""
    conditions = passed_on(query).get(name)
    if conditions is not None:
        return filters.holding(model.attributes_, conditions)
    mask = np.zeros(len(model.items), dtype=bool)
    rows = model.items.find(labels(getattr(query, name)))
    mask[rows[rows >= 0]] = True
    return mask


def _scores(field: Field, query: WhyNot) -> NDArray[np.float32]:
    """Scores of all items as the list has them; the list of nobody in particular is made of popularity."""
    if not len(field.history):
        return field.model.popularity
    return field.scores(np.zeros(0, dtype=np.int64))[0] if query.user is UNSET else _of_user(field.model, query)


def _of_user(model: Recommender, query: WhyNot) -> NDArray[np.float32]:
    """Scores of all items for a known user, by what the model learned of that user."""
    numbers = model.users_.find(labels([query.user]))
    matrix, row, _ = scored_by(model.fitted_, numbers, weighted=model.LEARNS_WEIGHTS, folds_in=model.folds_in)
    scores: NDArray[np.float32] = model.score_block(model.represent(matrix, row), slice(0, len(model.items)))
    return np.asarray(scores[0])


def _lifts(served: Served, field: Field, query: WhyNot, base: float) -> list[Lift]:
    """The items after which the target ranks best; of equal ranks, the one that adds most to its score of now."""
    if query.lifts == 0:
        return []
    try:
        expected = _contributions_of_all(field)
    except Refusal:  # the model does not score item by item
        return []
    order = np.argsort(-expected, kind="stable")[:TRIED]
    order = order[expected[order] > 0]
    then = [outcome for tried in np.array_split(order, -(-TRIED // ROWS)) for outcome in _scored_then(field, tried)]
    placed = _placed_then(served, field, query, order) if reranks(query) else None
    items, titles = field.model.items.labels, field.model.titles_
    lifts = []
    for at, (item, (rank, score)) in enumerate(zip(order.tolist(), then, strict=True)):
        place = (rank if rank <= query.k else None) if placed is None else placed[at]
        lift = Lift(
            item=items[item],
            gain=score - base,
            rank_then=rank if place is None else place,
            listed_then=place is not None,
            title=titles.get(items[item], UNSET),
        )
        lifts.append(((place is None, lift.rank_then, -lift.gain, item), lift))
    return [lift for _, lift in sorted(lifts, key=lambda pair: pair[0])[: query.lifts]]


def _scored_then(field: Field, tried: Rows) -> list[tuple[int, float]]:
    """The rank by score, and the score, with each of some items in the history."""
    rows = field.scores(tried) if len(tried) else ()
    return [
        (field.rank(scores, item), float(scores[field.target]))
        for item, scores in zip(tried.tolist(), rows, strict=True)
    ]


def _placed_then(served: Served, field: Field, query: WhyNot, tried: Rows) -> list[int | None]:
    """The place in the list, by all rules, with each of some items in the history; None where it is not there."""
    items = field.model.items.labels
    base = items[field.history].tolist()
    queries = [msgspec.structs.replace(query, history=[*base, items[item]]) for item in tried]
    return places(served, field.model, queries, items[field.target])


def _contributions_of_all(field: Field) -> NDArray[np.float64]:
    """What each item would add to the score of the target; nothing where it is in the history or the target itself."""
    n = len(field.model.items)
    adds = np.zeros(n)
    for start in range(0, n, AT_A_TIME):
        part = np.arange(start, min(start + AT_A_TIME, n))
        adds[part] = sum(parts_of(field.model, Cited(part), field.target).values(), np.zeros(len(part)))
    adds[field.history] = adds[field.target] = -np.inf
    return adds
