"""A model that is served: read, checked, tested and warm before anyone is answered by it."""

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UnsetType
from numpy.typing import NDArray

from corml import models
from corml.errors import ModelFileError, UsageError
from corml.models.recommender import Recommender
from corml.persistence import container
from corml.service.lookup import Lookup
from corml.service.problems import Refusal

if TYPE_CHECKING:
    from corml.data import Report

Rows = NDArray[np.int64]
Scores = NDArray[np.float32]
PROBES = 20  # histories of the self-test
PROBE_ITEMS = (1, 5, 20)  # their lengths, in turns
AGREE = 1e-5  # of the largest score: both ways to a score round differently
MANY = 64  # histories of a batch that is ranked in another way than a single one
LOADING = "The models are being loaded."
QUICK = 0.004  # seconds: a model whose lists take longer is asked in a thread, so that others are answered meanwhile


@dataclass(frozen=True, eq=False)
class Served:
    """One version of one model."""

    name: str
    model: Recommender
    digest: str
    quick: bool = True
    loaded: float = field(default_factory=time.time)
    written: float = field(default_factory=time.time)  # when its file was
    path: str = ""  # of the file: results may be in its folder
    report: "Report | None" = None  # about the data, where this process has read them

    @property
    def version(self) -> str:
        """The beginning of the file's digest: enough to tell versions apart."""
        return self.digest[:16]

    @property
    def names(self) -> dict[str, str]:
        """What every answer of a model says."""
        return {"model": self.name, "model_version": self.version}

    @property
    def since(self) -> str:
        """When it was loaded, as text."""
        return datetime.fromtimestamp(self.loaded, UTC).isoformat(timespec="seconds")

    @property
    def is_dial(self) -> bool:
        """Whether `novelty` can be chosen."""
        return hasattr(self.model, "at")

    @cached_property
    def lookup(self) -> Lookup:
        """Search for items."""
        most_popular = np.argsort(-self.model.counts_, kind="stable").tolist()
        return Lookup(self.model.items_.labels.tolist(), self.model.titles_, most_popular)

    @cached_property
    def explains(self) -> bool:
        """Whether scores are sums over the history."""
        try:
            self.at(None)._contributions(np.array([0]), 0)
        except UsageError:
            return False
        return True

    def at(self, novelty: float | UnsetType | None) -> Recommender:
        """The model at an operating point; `novelty` is no float if none was given."""
        given = isinstance(novelty, float | int)
        if not hasattr(self.model, "at"):
            if given:
                raise Refusal(422, "This model is not a dial: leave novelty out, or fit corml-dial.")
            return self.model
        point: Recommender = self.model.at(novelty if given else 0.5)
        return point

    def rows(self, labels: list[str]) -> NDArray[np.int64]:
        """Item numbers; −1 where there is none."""
        return self.model.items_.find(labels)

    def row(self, label: str) -> int:
        """The number of an item that must be known."""
        row = int(self.rows([label])[0])
        if row < 0:
            raise Refusal(404, "The model does not know this item.")
        return row


class Shelf:
    """The versions that answer now, by name; one is replaced by setting one reference."""

    def __init__(self, default: str) -> None:
        self.default = default
        self._models: dict[str, Served] = {}

    def __getitem__(self, name: object) -> Served:
        """A model by name, or the default where none was given."""
        served = self.find(name)
        if served is None:
            if isinstance(name, str) and self._models:
                raise Refusal(404, "There is no model of this name: GET /v1/models lists them.")
            raise Refusal(503, LOADING, title="Not ready", headers={"Retry-After": "1"}, reason="loading")
        return served

    def find(self, name: object) -> Served | None:
        """A model by name, or the default where none was given; None where there is no such model."""
        return self._models.get(name if isinstance(name, str) else self.default)

    def put(self, served: Served) -> None:
        """Answer with this version from now on."""
        self._models = {**self._models, served.name: served}

    def all(self) -> Mapping[str, Served]:
        """Every model, the default first."""
        return dict(sorted(self._models.items(), key=lambda pair: (pair[0] != self.default, pair[0])))


_loading = threading.Lock()  # two models at a time would need twice the memory


def load(name: str, path: str, *, known_as: str | None = None, report: "Report | None" = None) -> Served:
    """Read a file, and trust it once it has answered some histories in two ways alike.

    `known_as` is its path, if it is read through an open file.
    """
    with _loading:
        written = os.stat(path).st_mtime
        contents = container.read(path, mapped=False)  # whatever becomes of the file, this version answers
        model = models.from_contents(contents)
        _check_ids(model)
        quick = _self_test(model) <= QUICK
        _warm(model)
        place = known_as or path
        served = Served(name, model, contents.digest, quick, written=written, path=place, report=report)
        _ = served.lookup, served.explains  # made now, and not by the first request
        return served


def _check_ids(model: Recommender) -> None:
    """Ids come and go as JSON in UTF-8, which has no place for half of a character; no file that we read has any."""
    try:
        "\n".join(model.items_.labels).encode()
    except UnicodeEncodeError:
        raise ModelFileError("It has an item whose id is no text in UTF-8, which no request can name.") from None


def _warm(model: Recommender) -> None:
    """Ask in every way there is, so that no kernel is compiled during a request."""
    labels, k = model.items_.labels[:3].tolist(), min(3, len(model.items_))
    listed = {"exclude": labels[:1]}, {"only": labels}, {"seen": "allow"}
    limits: tuple[dict[str, Any], ...] = ({}, *listed, {"diversity": 0.5}, {"boost": {labels[0]: 2.0}})
    singles: tuple[list[list[str]], ...] = ([[]], [labels[:1]])
    for history, how in [*itertools.product(singles, limits), ([labels[:1]] * MANY, {})]:
        with contextlib.suppress(UsageError):
            model.recommend(history=history, k=k, **how)
    rows = model.items_.find(labels)
    model._top_k_of_one(rows[:1], k, rows[:1], rows)
    if len(model.users_):
        model.recommend([model.users_.labels[0]], k=k)


def _self_test(model: Recommender) -> float:
    """Lists of every position must be made of the scores of the whole catalogue; returns the seconds of a list."""
    positions = [model.at(number / 4) for number in range(5)] if hasattr(model, "at") else [model]
    times = []
    for position in dict.fromkeys(positions):
        took = [_test_one(position, history) for history in _probes(position)]
        times.append(float(np.median(took)))  # the first one prepares and compiles
    return max(times)


def _probes(model: Recommender) -> list[list[str]]:
    """Histories that depend on the catalogue alone: items drawn as they are used, so that rare ones are among them."""
    rng = np.random.default_rng(0)
    n, counts = len(model.items_), model.counts_ + 1.0
    sizes = [min(n, PROBE_ITEMS[probe % len(PROBE_ITEMS)]) for probe in range(PROBES)]
    return [model.items_.labels[rng.choice(n, size, replace=False, p=counts / counts.sum())].tolist() for size in sizes]


def _test_one(model: Recommender, history: list[str]) -> float:
    rows, width = model.items_.find(history), min(10, len(model.items_))
    try:
        begun = time.perf_counter()
        short = model._top_k_of_one(rows, width, rows, None)
        short_took = time.perf_counter() - begun
        general = model.recommend(history=[history], k=width)
        took = time.perf_counter() - begun
        scores = model.scores([history])[0]
    except UsageError:  # a model of known users only has no lists for histories
        return 0.0
    listed = [item for item in general.items[0] if item is not None]
    _compare(scores, rows, model.items_.find(listed), general.scores[0][: len(listed)])
    if short is None:
        return took
    there = short[0] >= 0
    _compare(scores, rows, short[0][there], short[1][there])
    return short_took


def _compare(scores: Scores, history: Rows, listed: Rows, values: Scores) -> None:
    """Whether a list has the best items that are not in the history, with their scores, up to rounding."""
    margin = AGREE * max(1e-6, float(np.abs(scores).max()))
    best = np.sort(np.delete(scores, history))[::-1][: len(listed)]
    if not np.isfinite(values).all() or (np.abs(scores[listed] - values) > margin).any():
        raise ModelFileError("It fails the self-test: listed scores are not those of the items. Fit again.")
    if (np.abs(best - values) > margin).any():
        raise ModelFileError("It fails the self-test: lists are not made of the best items. Fit again.")
