"""Why an item is not in a list: its rank, what it lacks, and which items in the history would lift it.

Everything is exact. The rank is counted over all items that may be listed. Which option keeps an item out is found by
applying that option alone; which rules of lists do, by making the list without them. Items that would lift it are tried
out, because an item that lifts one lifts others too: those that add most to its score are put into the history one at a
time, and the whole catalogue is ranked again by the same options.
"""

import contextlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.finite import check_finite
from corml.data.ids import is_one_id
from corml.data.requested_ids import row_of
from corml.errors import UsageError
from corml.recommend.allowed import allowed_items, rule_of
from corml.recommend.explanation import Explanation
from corml.recommend.options import ListOptions, RequestOptions, RulesOfOneList, chosen, complete, defaults
from corml.recommend.query import Query, require_memory_of_scores, resolve
from corml.recommend.rerank import has_rules
from corml.recommend.result import PERSONAL, Recommendations
from corml.recommend.score import Scores, boosted, factors_of, unboosted
from corml.recommend.why_not.answer import Lift, WhyNot

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

TRIED = 50  # items whose effect is computed
AT_A_TIME = 4096  # items whose contributions are computed at a time
ROWS = 10  # histories that are scored at a time
KNOWN = ("seen", "hide_events", "exclude_recent")
BARS = {"exclude": "excluded", "only": "not in only", "now": "not available"}  # verdicts of options
NO_RULES = defaults(RulesOfOneList)

Masks = NDArray[np.bool_]
Rows = NDArray[np.int64]


def why_not(model: "Recommender", history: Any, item: Hashable, lifts: int, given: dict[str, Any]) -> WhyNot:
    """Why an item is not in the list that `recommend` makes by these options for a known user or for a history."""
    options = complete({name: _for_one(value) for name, value in given.items()}, RequestOptions, "why_not")
    options = cast(ListOptions, {**options, "max_share": None, "unknown": None})
    model = model._at(options["novelty"])
    options["novelty"] = None
    question = Question(model, row_of(model.items_, item), history, options)
    query, listed = question.query(), question.lists()
    personal = listed.sources[0] == PERSONAL
    if not personal:  # the list is of popular items, whatever the history
        query = query.without_history(np.arange(1), "")
    race, target, items = question.race(query), question.target, listed.values()[0]
    place = items.index(question.item) + 1 if question.item in items else None
    barred, *also = ("",) if race.may[0, target] else _obstacles(question, query)
    rules = _kept_out_by(question) if not barred and place is None else ()
    score = float(race.own[0, target])
    factors = question.factors
    may_grow = not is_one_id(history) and not barred  # a history that more items can be added to
    return WhyNot(
        item=question.item,
        verdict=barred or ("listed" if place is not None else "rules" if rules else "below"),
        rank=_rank(question, race, len(items), place, barred=bool(barred)),
        of=int(np.count_nonzero(race.may[0])) + (not race.may[0, target]),
        score=score,
        length=len(items),
        needed=_needed_score(question, listed),
        boost=None if factors is None else float(factors[target]),
        rules=rules,
        full=_full_values(question, listed),
        popularity=float(model._popularity[target]),
        support=int(model.counts_[target]),
        lifts=_lifts(question, query.matrix.indices.astype(np.int64), score if personal else 0.0, lifts)
        if may_grow
        else (),
        explanation=_explanation(model, history, item),
        source=listed.sources[0],
        unknown=query.unknown[0],
        also=tuple(also),
        hidden_by=_hidden_by(question) if barred == "seen" else "",
        titles=model.titles_,
    )


def _for_one(given: Any) -> Any:
    """One list of ids for each row, of which there is one, as one for all rows."""
    rows = isinstance(given, list | tuple) and len(given) == 1 and isinstance(given[0], list | tuple)
    return given[0] if rows else given


@dataclass(frozen=True, eq=False)
class Race:
    """Scores of all items, one row for each history, with boosts; and which items may be listed."""

    own: Scores
    scores: Scores
    may: Masks

    def rank(self, target: int, row: int = 0) -> int:
        """The rank of an item among those that may be listed, from 1."""
        scores = self.scores[row]
        above = (scores > scores[target]) | ((scores == scores[target]) & (np.arange(len(scores)) < target))
        return int(np.count_nonzero(above & self.may[row])) + 1


@dataclass(frozen=True, eq=False)
class Question:
    """An item by its number, the list it is not in, and for whom: one known user, or one history."""

    model: "Recommender"
    target: int
    history: Any
    options: ListOptions

    @property
    def item(self) -> str:
        """The id of the item."""
        return str(self.model.items_.labels[self.target])

    @property
    def factors(self) -> Scores | None:
        """What scores are multiplied by."""
        boost = self.options["boost"]
        return factors_of(boost, self.model.items_, self.model.attributes_) if boost else None

    def whom(self, histories: Sequence[Any] | None = None) -> dict[str, Any]:
        """The user or history, or other histories, as `recommend` takes them."""
        if histories is None and is_one_id(self.history):
            return {"users": [self.history], "unknown": "error"}
        return {"history": [self.history] if histories is None else histories}

    def query(self, histories: Sequence[Any] | None = None, **options: Any) -> Query:
        """Whose list it is; or other histories; by other options."""
        whom = {"users": None, "history": None, **self.whom(histories)}
        return resolve(
            self.model, rule=rule_of(cast(ListOptions, {**cast(dict[str, Any], self.options), **options})), **whom
        )

    def may(self, query: Query, options: Mapping[str, Any]) -> Masks:
        """The items that may be listed."""
        return allowed_items(self.model, query, cast(ListOptions, options)).mask(len(query.names))

    def lists(self, histories: Sequence[Any] | None = None, **other: Any) -> Recommendations:
        """The list, or those of other histories, or by other rules."""
        how: dict[str, Any] = {**self.options, **other, **self.whom(histories)}
        return self.model.recommend(**how)

    def places(self, histories: Sequence[Any] | None = None, **other: Any) -> list[int | None]:
        """The place of the item in each of these lists, from 1; None where it is not there."""
        lists = self.lists(histories, **other).values()
        return [items.index(self.item) + 1 if self.item in items else None for items in lists]

    def race(self, query: Query) -> Race:
        """Scores of all items as lists have them; where there is no history, items are ranked by popularity."""
        model, (rows, columns) = self.model, query.matrix.shape
        require_memory_of_scores(rows, columns)
        scores = np.array(model.score_block(model._represent(query.matrix, query.users), slice(0, columns)))
        scores[query.is_cold] = model._popularity
        check_finite(scores, "These scores")
        factors = self.factors
        pushed = scores if factors is None else boosted(scores, factors)
        return Race(scores, pushed, self.may(query, self.options))


def _obstacles(question: Question, query: Query) -> list[str]:
    """Verdicts of all options that do not let the item into any list: what is known of the user first."""
    anything = {**question.options, "seen": "allow", **dict.fromkeys((*KNOWN[1:], *BARS))}
    target, given = question.target, cast(dict[str, Any], question.options)
    known = question.may(query, {**anything, **{name: given[name] for name in KNOWN}})[0, target]
    first = [] if known else ["seen" if target in query.known.indices else "not seen"]
    nothing_known = replace(query, known=csr_array(query.known.shape, dtype=query.known.dtype))
    bars = (name for name in BARS if not question.may(nothing_known, {**anything, name: given[name]})[0, target])
    return [*first, *(BARS[name] for name in bars)]


def _hidden_by(question: Question) -> str:
    """Which option hides a known item; what the user rejected is hidden by each of them, except by seen="learned"."""
    given = cast(dict[str, Any], question.options)
    if given["seen"] != "learned":
        if _hides(question, "rejected"):
            return "rejected"
        for name in KNOWN[1:]:
            if given[name] is not None and _hides(question, name):
                return name
    return "seen"


def _hides(question: Question, name: str) -> bool:
    """Whether one option alone keeps the item out; what was rejected is kept out by every option."""
    nothing = {**question.options, **dict.fromkeys((*KNOWN, *BARS)), "seen": "exclude"}
    alone = {**nothing, "seen": "allow"} if name == "rejected" else {**nothing, name: question.options.get(name)}
    known: dict[str, Any] = {option: alone[option] for option in KNOWN}
    query = question.query(**known)
    return not question.may(query, alone)[0, question.target]


def _rank(question: Question, race: Race, length: int, place: int | None, *, barred: bool) -> int:
    """The place in the list; else by score, and then below the list, unless rules make it more than the best scores."""
    if place is not None:
        return place
    rank = race.rank(question.target)
    return rank if barred or has_rules(question.options) else max(rank, length + 1)


def _explanation(model: "Recommender", history: Any, item: Hashable) -> Explanation | None:
    """What speaks for the item; nothing where there is no history, or the model does not score item by item."""
    with contextlib.suppress(UsageError):
        explanation = model.explain(history, item)
        return explanation if explanation.history else None
    return None


# --- rules -----------------------------------------------------------------------------------------------------------


def _kept_out_by(question: Question) -> tuple[str, ...]:
    """The fewest rules without which the item would be in the list; none if it would not be there without any."""
    given = list(chosen(question.options, RulesOfOneList))
    for names in chain.from_iterable(combinations(given, size) for size in range(1, len(given) + 1)):
        if question.places(**{name: NO_RULES[name] for name in names}) != [None]:
            return names
    return ()


def _full_values(question: Question, listed: Recommendations) -> dict[str, list[str]]:
    """Values of the item that the list already has as many items of as `max_per` lets it have, by attribute."""
    by_name = _by_value(question, listed).items()
    full = {name: [value for value, at in places.items() if at is not None] for name, places in by_name}
    return {name: values for name, values in full.items() if values}


def _needed_score(question: Question, listed: Recommendations) -> float | None:
    """The score that an item must pass to be listed: that of the last item, and of the last of each full value.

    None where there is none: the list is empty, or it is diverse, so that it depends on all items of the list.
    """
    (items,), factors = listed.values(), question.factors
    if not items or question.options["diversity"] > 0:
        return None
    scores = np.array(listed.scores[0, : len(items)], dtype=np.float32)
    if factors is not None:
        scores = boosted(scores, factors[question.model.items_.find(items)])
    full = [at for places in _by_value(question, listed).values() for at in places.values() if at is not None]
    needed = scores[[min([len(scores) - 1, *full])]]
    return float((needed if factors is None else unboosted(needed, factors[[question.target]]))[0])


def _by_value(question: Question, listed: Recommendations) -> dict[str, dict[str, int | None]]:
    """For each value of the item the place (from 0) of the listed item that fills it; None where it is not full."""
    table, target = question.model.attributes_, question.target
    columns = question.model.items_.find(listed.values()[0])
    by_name: dict[str, dict[str, int | None]] = {}
    for name, most in (question.options["max_per"] or {}).items():
        pattern, values = table.categories(name).tocsr(), table.values(name)
        by_name[name] = {}
        for value in pattern.indices[pattern.indptr[target] : pattern.indptr[target + 1]].tolist():
            having = [at for at, column in enumerate(columns) if column != target and pattern[column, value]]
            by_name[name][values[value]] = having[most - 1] if len(having) >= most else None
    return by_name


# --- lifts -----------------------------------------------------------------------------------------------------------


def _lifts(question: Question, history: Rows, base: float, most: int) -> tuple[Lift, ...]:
    """The items after which the item ranks best; of equal ranks, the one that adds most to the score it has, `base`."""
    if most < 1:
        return ()
    try:
        expected = _contributions_of_all(question, history)
    except UsageError:  # the model does not score item by item
        return ()
    order = np.argsort(-expected, kind="stable")[:TRIED]
    order = order[expected[order] > 0]
    tried = []
    for some in np.array_split(order, -(-len(order) // ROWS)) if len(order) else ():
        for item, lift in zip(some.tolist(), _tried(question, history, some, base), strict=True):
            tried.append(((not lift.listed_then, lift.rank_then, -lift.gain, item), lift))
    return tuple(lift for _, lift in sorted(tried, key=lambda pair: pair[0])[:most])


def _tried(question: Question, history: Rows, tried: Rows, base: float) -> list[Lift]:
    """Where the item ranks with each of some items in the history."""
    items = question.model.items_.labels
    own = items[history].tolist()
    histories = [[*own, items[item]] for item in tried]
    race, lifts = question.race(question.query(histories)), []
    reranks = has_rules(question.options)
    places = question.places(histories) if reranks else []
    for row, item in enumerate(tried.tolist()):
        rank = race.rank(question.target, row)
        place = places[row] if reranks else (rank if rank <= question.options["k"] else None)
        gain = float(race.own[row, question.target]) - base
        lifts.append(Lift(items[item], gain, rank if place is None else place, place is not None))
    return lifts


def _contributions_of_all(question: Question, history: Rows) -> NDArray[np.float64]:
    """What each item would add to the score of the item; nothing where it is in the history or the item itself."""
    n = len(question.model.items_)
    adds = np.zeros(n)
    for start in range(0, n, AT_A_TIME):
        part = np.arange(start, min(start + AT_A_TIME, n))
        contributions = question.model._contributions(part, question.target)
        adds[part] = sum(contributions.values(), np.zeros(len(part)))
    adds[history] = adds[question.target] = -np.inf
    return adds
