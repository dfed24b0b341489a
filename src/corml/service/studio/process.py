"""`corml studio`: one process on this machine that reads data, fits, and shows its page meanwhile."""

import asyncio
import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import UNSET

from corml import models
from corml._runtime import durations, memory
from corml._runtime.progress import Progress
from corml.data import Finding, Report, examine
from corml.data.interactions import Interactions
from corml.errors import CormlError, UsageError
from corml.models.saved.keep import save_or_keep
from corml.service.endpoint import Service
from corml.service.logs import Log
from corml.service.options import Options
from corml.service.problems import Refusal
from corml.service.served import Shelf, load
from corml.service.studio import schema
from corml.service.studio.jobs import Job
from corml.service.supervisor import listen
from corml.service.worker import SWITCH, Server

# Reads the data; takes what to do with notes, progress, and options that replace those of the first time.
Read = Callable[[Callable[[str], None], Progress, Mapping[str, object]], Interactions]
PATIENCE = 3.0  # seconds that a fit has to stop at the end


class Studio:
    """The page, the models, and the fits that are asked for in it."""

    def __init__(self, folder: Path, port: int, name: str, *, announce: Callable[[str], None]) -> None:
        """Model files that need not be kept go into `folder`; the first model is called `name`."""
        self.folder, self.port, self.name, self.announce = folder, port, name, announce
        self.jobs: list[Job] = []
        self.notes: list[str] = []
        self.shelf = Shelf(name)
        self.data: Interactions | None = None
        self.report: Report | None = None
        self._read: Read | None = None
        self._first: Callable[[], object] = lambda: None  # called once the page can be opened

    @property
    def can_fit(self) -> bool:
        """Whether there are data to fit on."""
        return self.data is not None

    # --- what is opened ----------------------------------------------------------------------------------------------

    def open_model(self, name: str, path: str) -> None:
        """Show a model file."""
        self.shelf.put(load(name, path))

    def open_data(self, read: Read, kind: str, settings: Mapping[str, object], out: Path | None) -> None:
        """Read data and fit a model on them, once the page is there to see it; `out` is where to keep the model."""
        self._read = read
        kept = out or self.folder / f"{self.name}.corml"
        self._first = lambda: self._begin(self.name, kind, settings, kept, {})

    def begin(self, request: schema.StartFit) -> Job:
        """Fit another model on the same data, beside the others."""
        number = len(self.jobs) + 1
        try:
            models.make(request.kind, dict(request.settings))
        except CormlError as fault:
            raise Refusal(422, str(fault), title="Invalid settings") from None
        name = f"{request.kind}-{number}"
        changed = changed_options(request, None if self.data is None else weighing_of(self.data))
        return self._begin(name, request.kind, dict(request.settings), self.folder / f"{name}.corml", changed)

    def _begin(
        self, name: str, kind: str, settings: Mapping[str, object], out: Path, changed: Mapping[str, object]
    ) -> Job:
        job = Job(len(self.jobs) + 1, name, kind, settings)
        self.jobs.append(job)
        threading.Thread(target=self._work, args=(job, out, changed), name="fit", daemon=True).start()
        return job

    def _work(self, job: Job, out: Path, changed: Mapping[str, object]) -> None:
        """Read, fit and load; what goes wrong becomes the last event of the job."""
        try:
            self._fit(job, out, changed)
        except KeyboardInterrupt:  # the end of the process
            return
        except CormlError as fault:
            job.tell(job.last.step, str(fault), state="failed")
        except Exception as fault:
            short = memory.is_shortage(fault)
            job.tell(job.last.step, memory.SHORT if short else f"{type(fault).__name__}: {fault}", state="failed")
        if job.last.state == "failed":
            self.announce(f"failed: {job.last.text}")

    def _fit(self, job: Job, out: Path, changed: Mapping[str, object]) -> None:
        data, report = self._opened(job, changed)
        job.weighing = weighing_of(data)
        job.tell("fit", "planning")
        model = models.make(job.kind, job.settings)
        model.fit(data, progress=lambda stage, done, total: job.tell("fit", stage, done, total))
        job.tell("test", "writing the model and testing its lists")
        save_or_keep(model, str(out))
        self.shelf.put(load(job.model, str(out), report=report))
        job.tell("test", "ready", state="done")

    def _opened(self, job: Job, changed: Mapping[str, object]) -> tuple[Interactions, Report]:
        """The data as they were first read, or read again with other options: only pairs are kept, not events."""
        first = self.data is None
        if self.data is not None and self.report is not None and not changed:
            return self.data, self.report
        assert self._read is not None
        job.tell("read", "reading the data")
        note = self.notes.append if first else lambda text: None  # the model file has its own notes
        data = self._read(note, lambda stage, done, total: job.tell("read", stage, done, total), changed)
        job.tell("examine", f"{data.shape[0]:,} users, {data.shape[1]:,} items, {len(data):,} interactions")
        report = examine(data)
        if self.data is not None:
            return data, _with_change(report, self.data, data)
        self.data, self.report = data, report
        return data, report

    # --- serving -----------------------------------------------------------------------------------------------------

    def run(self, opened: Callable[[str], None]) -> None:
        """Answer this machine alone until Ctrl-C; `opened` is called with the address once there is a page."""
        sys.setswitchinterval(SWITCH)  # so that the page is answered while a fit works
        with contextlib.closing(listen("127.0.0.1", self.port)) as listening:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}/"

            def ready() -> None:
                opened(address)
                self._first()

            asyncio.run(self._serve(listening, ready))
        for job in self.jobs:
            job.stopped = True
        for thread in threading.enumerate():
            if thread.name == "fit":
                thread.join(PATIENCE)

    async def _serve(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        options = Options(models={self.name: ""}, port=self.port, drain=0.0, stop=1.0, keep_alive=30.0)
        service = Service(options, self.shelf, Log(quiet=True), _no_reload, jobs=self, workers=2)
        server = Server(service, listening)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` does with SIGHUP
                loop.add_signal_handler(number, lambda: setattr(server, "should_exit", True))
        loop.call_later(0.1, ready)
        await server.serve(sockets=[listening])


def _with_change(report: Report, first: Interactions, now: Interactions) -> Report:
    """The report, with a warning if the file has changed since it was first read."""
    rows, before = now.source.get("rows"), first.source.get("rows")
    if rows == before:
        return report
    what = f"the file has changed since the first model was fitted: {rows:,} rows, and {before:,} then"
    changed = Finding("warning", what, "start corml studio again, to fit both on the same data")
    return replace(report, findings=[changed, *report.findings])


async def _no_reload(name: str, file: str | None) -> bool:
    raise Refusal(403, "The studio does not reload: start it again.")


# --- weights of event types ------------------------------------------------------------------------------------------


def weighing_of(data: Interactions) -> schema.Weighing | None:
    """The weight of each event type in the data, and the half-life; None where there are no event types."""
    if data.kinds is None:
        return None
    options = data.source.get("options", {})
    given = options.get("weights") or {}
    return schema.Weighing(
        weights={kind: float(given.get(kind, 1)) for kind in data.kinds.names},
        negative=[kind for kind in data.kinds.names if kind in (options.get("negative") or ())],
        half_life=options.get("half_life"),
        times=data.times is not None,
    )


def changed_options(request: schema.StartFit, first: schema.Weighing | None) -> dict[str, object]:
    """Options that the data must be read again with; empty if the data can stay as they are."""
    changed: dict[str, object] = {}
    if request.weights is not UNSET:
        changed["weights"] = _weights(request.weights, first)
    if request.half_life is not UNSET:
        changed["half_life"] = _half_life(request.half_life, first)
    return {name: value for name, value in changed.items() if value != getattr(first, name, None)}


def _invalid(detail: str) -> Refusal:
    return Refusal(422, detail, title="Invalid weights")


def _weights(given: dict[str, float], first: schema.Weighing | None) -> dict[str, float]:
    if first is None:
        raise _invalid("The data have no event types to weigh: start corml studio with --event.")
    if given.keys() != first.weights.keys():
        raise _invalid(f"Give each event type a weight, and no other: {', '.join(first.weights)}.")
    if not any(weight > 0 for kind, weight in given.items() if kind not in first.negative):
        raise _invalid("Nothing would be left to learn from: give an event type that is not negative a weight above 0.")
    return given


def _half_life(given: str | None, first: schema.Weighing | None) -> str | None:
    if given is None:
        return None
    if first is None or not first.times:
        raise _invalid("A half-life needs event types and the time of each event: start corml studio with --event.")
    try:
        durations.seconds(given, "The half-life")
    except UsageError as fault:
        raise _invalid(str(fault)) from None
    return given.strip()
