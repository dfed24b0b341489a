"""`corml studio`: one process on this machine that reads data, fits, and shows its page meanwhile."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from corml import models
from corml._runtime import memory
from corml._runtime.progress import Progress
from corml.data import Finding, Report, examine
from corml.data.interactions import Interactions
from corml.errors import CormlError, UsageError
from corml.models.saved.keep import save_or_keep
from corml.service.auth import Guard
from corml.service.endpoint import Service
from corml.service.gate import Load
from corml.service.logs import Log
from corml.service.metrics import Meter
from corml.service.options import Options
from corml.service.problems import Refusal
from corml.service.served import Shelf, load
from corml.service.studio import schema
from corml.service.studio.jobs import Job
from corml.service.studio.weighing import read_anew, weighing_of
from corml.service.worker import SWITCH, Server

__all__ = ["Studio"]

# Reads the data; takes what to do with remarks, progress, and options of reading that are other than the first time.
Read = Callable[[Callable[[str], None], Progress, Mapping[str, Any]], Interactions]
PATIENCE = 3.0  # seconds that a fit has to stop at the end


class Studio:
    """The page, the models, and the fits that are asked for in it."""

    def __init__(self, folder: Path, port: int, name: str, *, announce: Callable[[str], None]) -> None:
        """Model files that nobody asked to keep go into `folder`; the first model is called `name`."""
        self.folder, self.port, self.name, self.announce = folder, port, name, announce
        self.jobs: list[Job] = []
        self.notes: list[str] = []
        self.shelf = Shelf(name)
        self.data: Interactions | None = None
        self.report: Report | None = None
        self._read: Read | None = None
        self._first: Callable[[], object] = lambda: None  # what to do once the page can be opened

    @property
    def can_fit(self) -> bool:
        """Whether there are data to fit on."""
        return self.data is not None

    # --- what is opened ----------------------------------------------------------------------------------------------

    def open_model(self, name: str, path: str) -> None:
        """Show a model file."""
        self.shelf.put(load(name, path))

    def open_data(self, read: Read, kind: str, settings: dict[str, Any], out: Path | None) -> None:
        """Read data and fit a model on them, once the page is there to see it; `out` is where to keep the model."""
        self._read = read
        kept = out or self.folder / f"{self.name}.corml"
        self._first = lambda: self._begin(self.name, kind, settings, kept)

    def begin(self, request: schema.StartFit) -> Job:
        """Fit another model on the same data, beside the others."""
        number = len(self.jobs) + 1
        try:
            models.make(request.kind, dict(request.settings))
        except CormlError as fault:
            raise Refusal(422, str(fault), title="Invalid settings") from None
        name = f"{request.kind}-{number}"
        anew = read_anew(request, None if self.data is None else weighing_of(self.data))
        return self._begin(name, request.kind, dict(request.settings), self.folder / f"{name}.corml", anew)

    def _begin(
        self, name: str, kind: str, settings: dict[str, Any], out: Path, anew: Mapping[str, Any] | None = None
    ) -> Job:
        job = Job(len(self.jobs) + 1, name, kind, settings)
        self.jobs.append(job)
        threading.Thread(target=self._work, args=(job, out, anew or {}), name="fit", daemon=True).start()
        return job

    def _work(self, job: Job, out: Path, anew: Mapping[str, Any]) -> None:
        """Everything between a file and a model that answers; what goes wrong is told, never lost."""
        try:
            self._fit(job, out, anew)
        except KeyboardInterrupt:  # the end of the process
            return
        except CormlError as fault:
            job.tell(job.last.step, str(fault), state="failed")
        except Exception as fault:
            short = memory.is_shortage(fault)
            job.tell(job.last.step, memory.SHORT if short else f"{type(fault).__name__}: {fault}", state="failed")
        if job.last.state == "failed":
            self.announce(f"failed: {job.last.text}")

    def _fit(self, job: Job, out: Path, anew: Mapping[str, Any]) -> None:
        data, report = self._opened(job, anew)
        job.weighing = weighing_of(data)
        job.tell("fit", "planning")
        model = models.make(job.kind, job.settings)
        model.fit(data, progress=lambda stage, done, total: job.tell("fit", stage, done, total))
        job.tell("test", "writing the model and testing its lists")
        save_or_keep(model, str(out))
        self.shelf.put(replace(load(job.model, str(out)), report=report))
        job.tell("test", "ready", state="done")

    def _opened(self, job: Job, anew: Mapping[str, Any]) -> tuple[Interactions, Report]:
        """The data as they were first read, or read again in another way: only pairs are kept of them, not events."""
        first = self.data is None
        if self.data is not None and self.report is not None and not anew:
            return self.data, self.report
        assert self._read is not None
        job.tell("read", "reading the data")
        note = self.notes.append if first else lambda text: None  # the model file has its own remarks
        data = self._read(note, lambda stage, done, total: job.tell("read", stage, done, total), anew)
        job.tell("examine", f"{data.shape[0]:,} people, {data.shape[1]:,} items, {len(data):,} interactions")
        report = examine(data)
        if self.data is not None:
            return data, _with_change(report, self.data, data)
        self.data, self.report = data, report
        return data, report

    # --- serving -----------------------------------------------------------------------------------------------------

    def run(self, opened: Callable[[str], None]) -> None:
        """Answer this machine alone until Ctrl-C; `opened` is called with the address once there is a page."""
        sys.setswitchinterval(SWITCH)  # so that the page is answered while a fit works
        with contextlib.closing(_listen(self.port)) as listening:
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
        service = Service(
            options=options,
            shelf=self.shelf,
            guard=Guard(options),
            load=Load(options.in_flight),
            meter=Meter(),
            log=Log(quiet=True),
            pool=ThreadPoolExecutor(2, thread_name_prefix="work"),
            reload=_no_reload,
            jobs=self,
        )
        server = Server(service, listening)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` does with SIGHUP
                loop.add_signal_handler(number, lambda: setattr(server, "should_exit", True))
        loop.call_later(0.1, ready)
        await server.serve(sockets=[listening])


def _with_change(report: Report, first: Interactions, now: Interactions) -> Report:
    """A report that says so where the file is no longer the one that was first read."""
    rows, before = now.source.get("rows"), first.source.get("rows")
    if rows == before:
        return report
    what = f"the file has changed since the first model was fitted: {rows:,} rows, and {before:,} then"
    changed = Finding("warning", what, "start corml studio again, to fit both on the same data")
    return replace(report, findings=[changed, *report.findings])


async def _no_reload(name: str, file: str | None) -> bool:
    raise Refusal(403, "The studio does not reload: start it again.")


def _listen(port: int) -> socket.socket:
    """Listen at a port of this machine alone; at any other if it is taken and nobody asked for it."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except OSError as fault:
        listening.close()
        raise UsageError(f"Cannot listen at port {port}: {os.strerror(fault.errno or 0)}. Choose --port.") from None
    return listening
