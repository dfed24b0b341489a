"""Items that would lift another one: tried out, because an item that lifts one lifts others too.

Those that add most to the score of the item are put into the history, one at a time, and the whole catalogue is ranked
again by the same options. Those after which the item ranks best are suggested.
"""

import numpy as np
from numpy.typing import NDArray

from corml.errors import UsageError
from corml.recommend.why_not.answer import Lift
from corml.recommend.why_not.question import Question

__all__ = ["TRIED", "lifts_of"]

TRIED = 50  # items whose effect is computed
AT_A_TIME = 4096  # items whose contributions are computed at a time
ROWS = 10  # histories that are scored at a time

Rows = NDArray[np.int64]


def lifts_of(question: Question, history: Rows, base: float, most: int) -> tuple[Lift, ...]:
    """The items after which the item ranks best; of equal ranks, the one that adds most to the score it has, `base`."""
    if most < 1:
        return ()
    try:
        expected = _contributions_of_all(question, history)
    except UsageError:  # the model does not score item by item
        return ()
    order = np.argsort(-expected, kind="stable")[:TRIED]
    order = order[expected[order] > 0]
    found = []
    for tried in np.array_split(order, -(-len(order) // ROWS)) if len(order) else ():
        for item, lift in zip(tried.tolist(), _tried(question, history, tried, base), strict=True):
            found.append(((not lift.listed_then, lift.rank_then, -lift.gain, item), lift))
    return tuple(lift for _, lift in sorted(found, key=lambda pair: pair[0])[:most])


def _tried(question: Question, history: Rows, tried: Rows, base: float) -> list[Lift]:
    """What becomes of the item with each of some items in the history."""
    items = question.model.items_.labels
    own = items[history].tolist()
    histories = [[*own, items[item]] for item in tried]
    race, lifts = question.race(question.request(histories)), []
    reranks = question.rules.reranks
    places = question.places(histories) if reranks else []
    for row, item in enumerate(tried.tolist()):
        rank = race.rank(question.target, row)
        place = places[row] if reranks else (rank if rank <= question.k else None)
        gain = float(race.own[row, question.target]) - base
        lifts.append(Lift(items[item], gain, rank if place is None else place, place is not None))
    return lifts


def _contributions_of_all(question: Question, history: Rows) -> NDArray[np.float64]:
    """What each item would add to the score of the item; nothing where it is in the history or the item itself."""
    n = len(question.model.items_)
    adds = np.zeros(n)
    for start in range(0, n, AT_A_TIME):
        part = np.arange(start, min(start + AT_A_TIME, n))
        parts = question.model._contributions(part, question.target)
        adds[part] = sum(parts.values(), np.zeros(len(part)))
    adds[history] = adds[question.target] = -np.inf
    return adds
