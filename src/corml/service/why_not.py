"""Why an item is not in a list: where it stands, what it lacks, and which items in the history would lift it.

Everything is exact. The rank is counted over all items that may be listed. Items to suggest are taken from the
`TRIED` that add most to the score of the item; each is then put into the history and the whole catalogue is ranked
again, because an item that lifts one lifts others too. Those after which the item ranks best are suggested.
"""

import contextlib
from dataclasses import dataclass

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from corml import filters
from corml.cited import Cited
from corml.recommender import Recommender
from corml.requests import scored_by
from corml.seen import SeenRule, known_of_users
from corml.service.lists import contributions, known_items, labels, parts_of, ranked_lists
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
        mine = scores[self.target]
        above = (scores > mine) | ((scores == mine) & (np.arange(len(scores)) < self.target))
        return int(np.count_nonzero(above & competes)) + 1


def why_not(served: Served, query: WhyNot) -> WhyNotAnswer:
    """Answer the question."""
    model, target = served.at(query.novelty), served.row(labels([query.item])[0])
    history, unknown = known_items(model, query)
    listed = ranked_lists(served, model, [query])[0]  # refuses what cannot be answered
    field, verdict = _field(model, query, history, target)
    item = model.items.labels[target]
    titles = model.titles_
    scores = _scores(field, query)
    added: list[Contribution] = []
    if len(history):
        with contextlib.suppress(Refusal):  # a model that does not score item by item has a rank all the same
            added, _ = contributions(model, query, target)
    rank = field.rank(scores)
    place = next((one.rank for one in listed.items if one.item == item), None)
    if verdict == "below":
        rank = max(rank, len(listed.items) + 1) if place is None else place
        verdict = "below" if place is None else "listed"
    base = float(scores[target]) if len(history) else 0.0
    lifts = _lifts(field, query.lifts, base) if query.user is UNSET and verdict in ("below", "listed") else []
    return WhyNotAnswer(
        model=served.name,
        model_version=served.version,
        item=item,
        verdict=verdict,  # type: ignore[arg-type]
        rank=rank,
        of=int(np.count_nonzero(field.open)) + (not field.open[target]),
        score=float(scores[target]),
        needed=listed.items[-1].score if listed.items else UNSET,
        popularity=float(model.popularity[target]),
        support=int(model.counts_[target]),
        lifts=lifts,
        contributions=added,
        source=listed.source,
        title=titles.get(item, UNSET),
        unknown=unknown,
    )


def _field(model: Recommender, query: WhyNot, history: Rows, target: int) -> tuple[Field, str]:
    """Who competes, and why the target may not, if so."""
    n = len(model.items)
    seen, excluded, allowed = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
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
    verdicts = ((seen, "not seen" if rule == "only" else "seen"), (excluded, "excluded"), (~allowed, "not in only"))
    verdict = next((word for mask, word in verdicts if mask[target]), "below")
    return Field(model, history, target, ~seen & ~excluded & allowed, rule), verdict


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


def _lifts(field: Field, wanted: int, base: float) -> list[Lift]:
    """The items after which the target ranks best; of equal ranks, the one that adds most to its score of now."""
    if wanted == 0:
        return []
    try:
        expected = _contributions_of_all(field)
    except Refusal:  # the model does not score item by item
        return []
    order = np.argsort(-expected, kind="stable")[:TRIED]
    lifts = []
    for tried in np.array_split(order[expected[order] > 0], -(-TRIED // ROWS)):
        for item, scores in zip(tried.tolist(), field.scores(tried) if len(tried) else (), strict=True):
            lifts.append((field.rank(scores, item), base - float(scores[field.target]), item))
    items, titles = field.model.items.labels, field.model.titles_
    return [
        Lift(item=items[item], gain=-loss, rank_then=rank, title=titles.get(items[item], UNSET))
        for rank, loss, item in sorted(lifts)[:wanted]
    ]


def _contributions_of_all(field: Field) -> NDArray[np.float64]:
    """What each item would add to the score of the target; nothing where it is in the history or the target itself."""
    n = len(field.model.items)
    adds = np.zeros(n)
    for start in range(0, n, AT_A_TIME):
        part = np.arange(start, min(start + AT_A_TIME, n))
        adds[part] = sum(parts_of(field.model, Cited(part), field.target).values(), np.zeros(len(part)))
    adds[field.history] = adds[field.target] = -np.inf
    return adds
