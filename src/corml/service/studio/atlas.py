"""The map of a model's items, made in the background once for each model file, and sample profiles made from it.

The profiles are histories from regions of the map, so that each shows another side of the model. They are not taken
from the data: no real user's history is shown to anybody.
"""

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from corml.errors import UsageError
from corml.linalg.layout import layout
from corml.models.recommender import Recommender
from corml.recommend.result import PERSONAL
from corml.service.caching import named
from corml.service.handlers import item_of
from corml.service.served import Served, Shelf
from corml.service.studio import schema

SHOWN = 20_000  # items on a map at most, the most popular ones
NEAREST = 15
AT_A_TIME = 256  # items whose nearest ones are looked up before others may have a turn
KEPT = 16  # maps
BINS_PER_DECADE = 8
PERSONAS, LIKED = 6, 4  # sample profiles, and items of each
FAMOUS = 300  # items among which to look: a visitor knows them
ROUNDS = 25

State = Literal["ready", "making", "none"]


@dataclass(frozen=True, eq=False)
class Chart:
    """The most popular items, their nearest ones among them (by position), and their coordinates."""

    rows: NDArray[np.int64]
    nearest: NDArray[np.int64]
    points: NDArray[np.float32]


class Atlas:
    """Maps that are ready or being made."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="map")
        self._charts: OrderedDict[str, Future[Chart | None]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, served: Served) -> Future[Chart | None]:
        """The map of a model, started by the first call; None inside if the model cannot have one."""
        with self._lock:
            if served.digest not in self._charts:
                self._charts[served.digest] = self._pool.submit(chart_of, served.at(None))
                while len(self._charts) > KEPT:
                    self._charts.popitem(last=False)
            self._charts.move_to_end(served.digest)
            return self._charts[served.digest]

    def state(self, served: Served) -> tuple[State, Chart | None]:
        """The map if it is ready."""
        future = self.of(served)
        if not future.done():
            return "making", None
        chart = None if future.exception() else future.result()
        return ("none", None) if chart is None else ("ready", chart)


atlas = Atlas()


def map_of(shelf: Shelf, request: schema.OfModel) -> schema.MapAnswer:
    """Where the most popular items lie: near is alike, by the model's own lists of nearest items."""
    served = shelf[request.model]
    return map_answer(served, *atlas.state(served))


def map_answer(served: Served, state: State, chart: Chart | None) -> schema.MapAnswer:
    """A map as the API has it."""
    fitted = served.model.fitted_
    rows = best_known(served.model)
    labels = fitted.items.labels[rows].tolist()
    points = None if chart is None else np.round(chart.points.astype(np.float64), 4)
    return schema.MapAnswer(
        **served.names,
        state=state,
        items=labels,
        titles=[fitted.titles.get(label, label) for label in labels],
        people=fitted.counts[rows].tolist(),
        x=UNSET if points is None else points[:, 0].tolist(),
        y=UNSET if points is None else points[:, 1].tolist(),
        known=how_known(fitted.counts),
    )


def personas_of(shelf: Shelf, request: schema.OfModel) -> schema.Personas:
    """Six sample profiles from different regions of the map; they are not real users."""
    served = shelf[request.model]
    return personas_answer(served, *atlas.state(served))


def personas_answer(served: Served, state: State, chart: Chart | None) -> schema.Personas:
    """Sample profiles as the API has them."""
    histories = [] if chart is None else histories_of(chart)
    personas = [schema.Persona(items=[item_of(served, row) for row in history]) for history in histories]
    return schema.Personas(**served.names, state=state, personas=personas)


def name_of_map(shelf: Shelf, request: schema.OfModel) -> str:
    """The ETag of a map and of the sample profiles; it changes when the map is ready."""
    served = shelf[request.model]
    return named(served.name, served.digest, atlas.state(served)[0])


def best_known(model: Recommender) -> NDArray[np.int64]:
    """Item numbers, most popular first, at most as many as a map shows."""
    return np.argsort(-model.counts_, kind="stable")[:SHOWN]


def how_known(counts: NDArray[np.int64]) -> schema.HowKnown:
    """A histogram over users on a log axis, from 1 to the most popular item; bins hold whole numbers of users."""
    most = max(int(counts.max(initial=1)), 2)
    steps = int(np.ceil(np.log10(most + 1) * BINS_PER_DECADE))
    edges = np.unique(np.ceil(10 ** (np.arange(steps + 1) / BINS_PER_DECADE)))
    edges[-1] = max(edges[-1], most + 1)
    items, _ = np.histogram(np.maximum(counts, 1), edges)
    return schema.HowKnown(edges=edges.tolist(), items=items.tolist(), median=float(np.median(counts)))


def chart_of(model: Recommender) -> Chart | None:
    """Make the map of a model; None if it cannot have one."""
    rows = best_known(model)
    try:
        nearest = _nearest(model, rows)
    except UsageError:  # it knows its own users only
        return None
    return Chart(rows, nearest, layout(nearest))


def _nearest(model: Recommender, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each item its nearest ones, by position among `rows`; those that are not shown are left out."""
    position = np.full(len(model.items_) + 1, -1, dtype=np.int64)  # the last for −1
    position[rows] = np.arange(len(rows))
    k = min(NEAREST, len(model.items_))
    nearest = np.full((len(rows), k), -1, dtype=np.int64)
    labels = model.items_.labels
    for start in range(0, len(rows), AT_A_TIME):
        part = rows[start : start + AT_A_TIME]
        lists = model.recommend(history=[[labels[row]] for row in part], k=k)
        found = [model.items_.find([item for item in one if item is not None]) for one in lists.items]
        for at, one in enumerate(found):
            if lists.sources[at] == PERSONAL:  # or it is the list for all users
                nearest[start + at, : len(one)] = position[one]
    return nearest


# --- sample profiles --------------------------------------------------------------------------------------------------


def histories_of(chart: Chart) -> list[list[int]]:
    """Item numbers of each sample profile."""
    famous = min(FAMOUS, len(chart.rows))
    region = _regions(chart.points[:famous].astype(np.float64), PERSONAS)
    histories = [_history(chart, region, number) for number in range(PERSONAS)]
    return [[int(chart.rows[position]) for position in one] for one in histories if one]


def _history(chart: Chart, region: NDArray[np.int64], number: int) -> list[int]:
    """The most popular item near the middle of a region, and its nearest ones there, by position."""
    members = np.flatnonzero(region == number)
    if not len(members):
        return []
    away = np.square(chart.points[members] - np.median(chart.points[members], axis=0)).sum(axis=1)
    middle = members[away <= np.quantile(away, 0.5)]
    first = int(middle.min())  # positions are in order of popularity
    inside = set(members.tolist())
    near = [int(item) for item in chart.nearest[first] if int(item) in inside]
    by_distance = members[np.argsort(np.square(chart.points[members] - chart.points[first]).sum(axis=1), kind="stable")]
    return list(dict.fromkeys([first, *near, *by_distance.tolist()]))[:LIKED]


def _regions(points: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Lloyd's k-means, begun with points that are far from each other; the same map gives the same regions."""
    chosen = [0]
    for _ in range(1, min(count, len(points))):
        away = np.min([np.square(points - points[one]).sum(axis=1) for one in chosen], axis=0)
        chosen.append(int(away.argmax()))
    centres = points[chosen]
    region = np.zeros(len(points), dtype=np.int64)
    for _ in range(ROUNDS):
        region = np.square(points[:, None] - centres).sum(axis=2).argmin(axis=1)
        centres = np.array(
            [points[region == at].mean(axis=0) if (region == at).any() else centres[at] for at in range(len(centres))]
        )
    return region
