"""The map of a model's items, made in the background once for each model file, and kept by its digest."""

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from corml.errors import UsageError
from corml.linalg.layout import layout
from corml.models.recommender import Recommender
from corml.recommend.result import PERSONAL
from corml.service.etag import named
from corml.service.served import Served, Shelf
from corml.service.studio import schema

__all__ = ["SHOWN", "Atlas", "Chart", "atlas", "best_known", "chart_of", "how_known", "map_of", "name_of_map"]

SHOWN = 20_000  # items on a map at most, the best known ones
NEAREST = 15
AT_A_TIME = 256  # items whose nearest ones are looked up before others may have a turn
KEPT = 16  # maps
BINS_PER_DECADE = 8


@dataclass(frozen=True, eq=False)
class Chart:
    """The best known items, their nearest ones among them (by position), and their places."""

    rows: NDArray[np.int64]
    nearest: NDArray[np.int64]
    points: NDArray[np.float32]


class Atlas:
    """Maps that are made or being made."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="map")
        self._charts: OrderedDict[str, Future[Chart | None]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, served: Served) -> Future[Chart | None]:
        """The map of a model, begun if nobody asked before; None inside if the model cannot have one."""
        with self._lock:
            if served.digest not in self._charts:
                self._charts[served.digest] = self._pool.submit(chart_of, served.at(None))
                while len(self._charts) > KEPT:
                    self._charts.popitem(last=False)
            self._charts.move_to_end(served.digest)
            return self._charts[served.digest]

    def state(self, served: Served) -> tuple[Any, Chart | None]:
        """«ready», «making» or «none», and the map where it is ready."""
        future = self.of(served)
        if not future.done():
            return "making", None
        chart = None if future.exception() else future.result()
        return ("none", None) if chart is None else ("ready", chart)


atlas = Atlas()


def map_of(shelf: Shelf, request: schema.OfModel) -> schema.MapAnswer:
    """Where the best known items lie: near is alike, by the model's own lists of nearest items."""
    served = shelf[request.model]
    state, chart = atlas.state(served)
    fitted = served.model.fitted_
    rows = best_known(served.model)
    labels = fitted.items.labels[rows].tolist()
    points = None if chart is None else np.round(chart.points.astype(np.float64), 4)
    return schema.MapAnswer(
        model=served.name,
        model_version=served.version,
        state=state,
        items=labels,
        titles=[fitted.titles.get(label, label) for label in labels],
        people=fitted.counts[rows].tolist(),
        x=UNSET if points is None else points[:, 0].tolist(),
        y=UNSET if points is None else points[:, 1].tolist(),
        known=how_known(fitted.counts),
    )


def name_of_map(shelf: Shelf, request: schema.OfModel) -> str:
    """The ETag of a map, and of what is made of it alone; it changes when the map is made."""
    served = shelf[request.model]
    return named(served.name, served.digest, atlas.state(served)[0])


def best_known(model: Recommender) -> NDArray[np.int64]:
    """Item numbers, those with most people first, at most so many as a map shows."""
    return np.argsort(-model.counts_, kind="stable")[:SHOWN]


def how_known(counts: NDArray[np.int64]) -> schema.HowKnown:
    """A histogram over people on a log axis, from 1 to the best known item; bins hold whole numbers of people."""
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
            if lists.sources[at] == PERSONAL:  # or it is the list for everybody
                nearest[start + at, : len(one)] = position[one]
    return nearest
