"""`corml studio`: one process on this machine that reads data, fits, and shows its page meanwhile."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from corml import models
from corml.datasets import Report, examine
from corml.errors import CormlError, UsageError
from corml.interactions import Interactions
from corml.progress import Progress
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
from corml.service.worker import SWITCH, Server

__all__ = ["Studio"]

Read = Callable[[Callable[[str], None], Progress], Interactions]  # takes: what to do with remarks, and progress
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
            raise Refusal(422, str(fault)) from None
        name = f"{request.kind}-{number}"
        return self._begin(name, request.kind, dict(request.settings), self.folder / f"{name}.corml")

    def _begin(self, name: str, kind: str, settings: dict[str, Any], out: Path) -> Job:
        job = Job(len(self.jobs) + 1, name, kind)
        self.jobs.append(job)
        threading.Thread(target=self._work, args=(job, settings, out), name="fit", daemon=True).start()
        return job

    def _work(self, job: Job, settings: dict[str, Any], out: Path) -> None:
        """Everything between a file and a model that answers; what goes wrong is told, never lost."""
        try:
            self._fit(job, settings, out)
        except KeyboardInterrupt:  # the end of the process
            return
        except CormlError as fault:
            job.tell(job.last.step, str(fault), state="failed")
        except Exception as fault:
            job.tell(job.last.step, f"{type(fault).__name__}: {fault}", state="failed")
        if job.last.state == "failed":
            self.announce(f"failed: {job.last.text}")

    def _fit(self, job: Job, settings: dict[str, Any], out: Path) -> None:
        if self.data is None:
            assert self._read is not None
            job.tell("read", "reading the data")
            data = self._read(self.notes.append, lambda stage, done, total: job.tell("read", stage, done, total))
            job.tell("examine", f"{data.shape[0]:,} people, {data.shape[1]:,} items, {len(data):,} interactions")
            self.report = examine(data)
            self.data = data
        job.tell("fit", "planning")
        model = models.make(job.kind, settings)
        model.fit(self.data, progress=lambda stage, done, total: job.tell("fit", stage, done, total))
        job.tell("test", "writing the model and testing its lists")
        model.save(str(out))
        self.shelf.put(replace(load(job.model, str(out)), report=self.report))
        job.tell("test", "ready", state="done")

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
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, lambda: setattr(server, "should_exit", True))
        loop.call_later(0.1, ready)
        await server.serve(sockets=[listening])


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
