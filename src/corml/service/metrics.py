"""Figures for Prometheus. Labels are names of operations and models, never anything that was sent."""

import os
import time
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import disable_created_metrics

from corml.service.served import Served

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # a folder where several workers keep their figures together
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5)


class Meter:
    """Counts what happens; several workers count in one folder, so that whichever is asked answers for all."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        own = self._registry = CollectorRegistry()
        self.requests = Counter("corml_requests", "requests answered", ["route", "code", "model"], registry=own)
        timed = ["route", "model"]
        self.seconds = Histogram("corml_seconds", "time to answer", timed, buckets=SECONDS, registry=own)
        self.in_flight = Gauge("corml_in_flight", "requests being worked on", registry=own, multiprocess_mode="livesum")
        self.rejected = Counter("corml_rejected", "requests turned away unread", ["reason"], registry=own)
        self.reloads = Counter("corml_reloads", "reloads of a model", ["result"], registry=own)
        self.unknown = Counter("corml_unknown_ids", "ids in histories that no item has", registry=own)
        self.fallback = Counter("corml_fallback", "lists of popular items, as nothing was known", registry=own)
        self.nonfinite = Counter("corml_nonfinite", "scores that are no numbers, and were left out", registry=own)
        self._answered: dict[tuple[str, int, str], Counter] = {}
        self._timed: dict[tuple[str, str], Histogram] = {}
        if SHARED not in os.environ:
            ProcessCollector(namespace="corml", registry=own)

    def answered(self, route: str, code: int, model: str, seconds: float) -> None:
        """One request; `model` is the name of one that is served, or nothing where none was asked."""
        counter = self._answered.get((route, code, model))
        if counter is None:
            counter = self._answered[route, code, model] = self.requests.labels(route, str(code), model)
        counter.inc()
        timer = self._timed.get((route, model))
        if timer is None:
            timer = self._timed[route, model] = self.seconds.labels(route, model)
        timer.observe(seconds)

    def text(self, served: Mapping[str, Served], working: int) -> bytes:
        """Everything, as Prometheus reads it."""
        self.in_flight.set(working)
        if SHARED in os.environ:
            from prometheus_client.multiprocess import MultiProcessCollector

            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            registry = self._registry
        about = CollectorRegistry()
        about.register(_Models(served))
        return generate_latest(registry) + generate_latest(about)


class _Models:
    """Which versions answer, and for how long."""

    def __init__(self, served: Mapping[str, Served]) -> None:
        self.served = served

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The families, made for each scrape: a version that was replaced is gone."""
        info = GaugeMetricFamily("corml_model_info", "models that answer", labels=["model", "version", "kind"])
        age = GaugeMetricFamily("corml_model_age_seconds", "time since a model was loaded", labels=["model"])
        file = GaugeMetricFamily("corml_model_file_age_seconds", "time since its file was written", labels=["model"])
        for name, one in self.served.items():
            info.add_metric([name, one.version, one.model.NAME], 1)
            age.add_metric([name], time.time() - one.loaded)
            file.add_metric([name], time.time() - one.written)
        return info, age, file
