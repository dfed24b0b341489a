"""The process that owns the socket and the model files, and keeps workers alive. It imports nothing heavy.

The files are opened here and handed to workers as open files. A version counts once a worker has loaded and tested it:
then the others get it too, and every worker that is started later. So a file that is damaged, or gone, never replaces
one that is in use, and a worker that was killed comes back with the version it had.
"""

import contextlib
import os
import re
import selectors
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corml.errors import CormlError, DataError, ModelFileError, ResourceError, UsageError, ascii_line
from corml.persistence import unfinished
from corml.service.channel import Channel
from corml.service.logs import Log
from corml.service.options import NAME, Options

__all__ = ["Supervisor"]

BACKLOG = 2048
SOON, LATE = 0.2, 10.0  # seconds until a worker that died is replaced: at first, and after dying again and again
LIVED = 10.0  # seconds after which a worker has not died at its start
THREADS = ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMEXPR", "NUMBA")
SECRETS = ("CORML_TOKEN", "CORML_ADMIN_TOKEN")
ERRORS = {kind.exit_code: kind for kind in (UsageError, DataError, ResourceError, ModelFileError)}


@dataclass(eq=False)
class Child:
    """A worker as its supervisor sees it."""

    slot: int
    process: subprocess.Popen[bytes]
    channel: Channel
    begun: float = field(default_factory=time.monotonic)
    ready: bool = False


@dataclass
class Job:
    """A reload: a worker tries the new file, and whoever asked waits."""

    number: int
    model: str
    file: int
    child: Child
    asked: tuple[Child, int] | None  # who, and the number of the question; none: a signal


class Supervisor:
    """Starts workers, replaces them, passes reloads on, and ends everything in order."""

    def __init__(self, options: Options, *, quiet: bool = False, announce: Callable[[str], None] = print) -> None:
        options.check_processors()
        self.options, self.quiet, self.announce = options, quiet, announce
        self.log = Log(options.log, quiet=quiet)
        self.children: dict[int, Child] = {}
        self.files: dict[str, int] = {}  # by name of the model: the version in use
        self.job: Job | None = None
        self.waiting: list[str] = []  # models to reload when the present one is done
        self.due: dict[int, float] = {}  # slot: when its worker is started again
        self.deaths: dict[int, int] = {}
        self.stopping: float | None = None
        self.announced = False
        self._jobs = 0
        self._signals: list[int] = []

    def run(self) -> int:
        """Serve until a signal says to stop."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._metrics_folder())
            self.files = {name: open_model(path) for name, path in self.options.models.items()}
            self.listening = stack.enter_context(self._listen())
            self.selector = stack.enter_context(selectors.DefaultSelector())
            stack.enter_context(self._hear_signals())
            stack.callback(self._end_all)
            for slot in range(self.options.workers):
                self._start(slot, first=True)
            while not (self.stopping and not self.children):
                self._step()
        return 0

    # --- one turn ----------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        for key, _ in self.selector.select(self._patience()):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    key.fileobj.recv(4096)  # type: ignore[union-attr]
            else:
                self._hear(key.data)
        while self._signals:
            self._obey(self._signals.pop(0))
        for child in list(self.children.values()):
            if child.process.poll() is not None:
                self._bury(child)
        now = time.monotonic()
        for slot in [slot for slot, moment in self.due.items() if moment <= now and not self.stopping]:
            del self.due[slot]
            self._start(slot, first=False)
        if self.stopping and now > self.stopping:
            for child in self.children.values():
                child.process.kill()

    def _patience(self) -> float:
        moments = [*self.due.values(), *([self.stopping] if self.stopping else [])]
        return max(0.0, min([1.0, *(moment - time.monotonic() for moment in moments)]))

    def _obey(self, number: int) -> None:
        if number == signal.SIGHUP:
            self.waiting = list(self.options.models)
            self._next_job()
        elif number in (signal.SIGTERM, signal.SIGINT):
            if self.stopping and number == signal.SIGINT:
                self.stopping = 0.0  # twice: at once
                return
            self._stop()

    # --- workers -----------------------------------------------------------------------------------------------------

    def _start(self, slot: int, *, first: bool) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "corml.service.worker", str(theirs.fileno())]
        nothing, files = subprocess.DEVNULL, [theirs.fileno()]
        process = subprocess.Popen(command, pass_fds=files, env=self._environment(), stdin=nothing)
        theirs.close()
        child = Child(slot, process, Channel(ours))
        self.children[slot] = child
        self.selector.register(ours, selectors.EVENT_READ, child)
        message = {"options": self.options.plain(), "first": first, "quiet": self.quiet}
        child.channel.send(message, [self.listening.fileno(), *self.files.values()])

    def _environment(self) -> dict[str, str]:
        """Threads are counted when NumPy is loaded; secrets go over the channel, where nobody can look."""
        kept = {name: value for name, value in os.environ.items() if name not in SECRETS}
        count = str(self.options.threads)
        return kept | {f"{name}_NUM_THREADS": count for name in THREADS} | {"CORML_THREADS": count}

    def _hear(self, child: Child) -> None:
        messages = child.channel.receive()
        if messages is None:
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(child.channel.end)
            return
        for message in messages:
            if "ready" in message:
                child.ready = True
                self._welcome(child, message["ready"])
            elif "failed" in message and not self.announced and not self.stopping:
                raise ERRORS.get(message["code"], ModelFileError)(message["failed"])
            elif "ask" in message:
                self._asked(child, message)
            elif "loaded" in message:
                self._loaded(child, message)

    def _welcome(self, child: Child, versions: dict[str, str]) -> None:
        self.log.event("info", "worker ready", worker=child.process.pid, **versions)
        if not self.announced and not self.stopping and all(one.ready for one in self.children.values()):
            self.announced = True
            self.announce(f"corml serves {', '.join(self.options.models)} at {self.address}")

    def _bury(self, child: Child) -> None:
        """A worker has ended; unless everything does, another one takes its place."""
        with contextlib.suppress(KeyError, ValueError):
            self.selector.unregister(child.channel.end)
        child.channel.close()
        del self.children[child.slot]
        _forget_metrics(child.process.pid)
        if self.job and self.job.child is child:
            self._finish_job({"status": "failed", "reason": "The worker that tried it ended."})
        if self.stopping:
            return
        if not self.announced:
            raise ResourceError("A worker ended before it was ready; its messages are above.")
        lived = time.monotonic() - child.begun > LIVED
        self.deaths[child.slot] = 0 if lived else self.deaths.get(child.slot, 0) + 1
        delay = 0.0 if lived else min(LATE, SOON * 2 ** (self.deaths[child.slot] - 1))
        self.due[child.slot] = time.monotonic() + delay
        self.log.event("error", "worker ended", worker=child.process.pid, code=child.process.returncode)

    def _stop(self) -> None:
        self.log.event("info", "stopping")
        self.stopping = time.monotonic() + self.options.drain + self.options.stop + 1
        self.due.clear()
        self.listening.close()  # the workers listen on until they have drained
        for child in self.children.values():
            if child.ready:
                child.process.terminate()
            else:  # it answers nobody yet, and hears nothing while it loads
                child.process.kill()

    def _end_all(self) -> None:
        for child in self.children.values():
            child.process.kill()
            child.process.wait()
            child.channel.close()
        for file in self.files.values():
            os.close(file)

    # --- reloads -----------------------------------------------------------------------------------------------------

    def _asked(self, child: Child, message: dict[str, Any]) -> None:
        if self.job or self.stopping:
            child.channel.send({"do": "answer", "number": message["number"], "status": "busy"})
            return
        self._begin_job(message["model"], message["file"], child, (child, message["number"]))

    def _next_job(self) -> None:
        """A signal asked for all models: one after the other, by whichever worker is there."""
        ready = [child for child in self.children.values() if child.ready]
        if self.waiting and ready and not self.job and not self.stopping:
            self._begin_job(self.waiting.pop(0), None, ready[0], None)

    def _begin_job(self, model: str, name: str | None, child: Child, asked: tuple[Child, int] | None) -> None:
        self._jobs += 1
        try:
            path = self.options.models[model]
            file = open_model(path) if name is None else open_model(beside(path, name), follow=False)
        except CormlError:
            self.job = Job(self._jobs, model, -1, child, asked)
            self.log.event("error", "reload", result="failed", model=model, reason="The file cannot be opened.")
            self._finish_job({"status": "failed", "reason": "The file cannot be opened."})
            return
        self.job = Job(self._jobs, model, file, child, asked)
        child.channel.send({"do": "load", "job": self.job.number, "model": model}, [file])

    def _loaded(self, child: Child, message: dict[str, Any]) -> None:
        job = self.job
        if job is None or message["loaded"] != job.number or job.child is not child:
            return  # one of the others, with the version that was found good
        if not message["ok"]:
            self._finish_job({"status": "failed", "reason": message["reason"]})
            return
        if message["changed"]:
            before, self.files[job.model] = self.files[job.model], os.dup(job.file)
            os.close(before)
            for other in self.children.values():
                if other is not child:
                    other.channel.send({"do": "load", "job": job.number, "model": job.model}, [job.file])
        self._finish_job({"status": "done", "changed": message["changed"]})

    def _finish_job(self, answer: dict[str, Any]) -> None:
        job, self.job = self.job, None
        assert job is not None
        if job.file >= 0:
            os.close(job.file)
        if job.asked is not None:
            child, number = job.asked
            child.channel.send({"do": "answer", "number": number, **answer})
        self._next_job()

    # --- what it holds -----------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """Where it can be reached."""
        host, port = self.listening.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def _listen(self) -> socket.socket:
        host, port = self.options.host, self.options.port
        listening = None
        try:
            family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listening = socket.socket(family, kind)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
        except OSError as fault:
            if listening is not None:
                listening.close()
            where = f"{ascii_line(host)} port {port}"
            raise UsageError(f"Cannot listen at {where}: {fault.strerror or fault}. Choose another --port.") from None
        return listening

    @contextlib.contextmanager
    def _metrics_folder(self) -> Iterator[None]:
        """Several workers keep their figures in one folder."""
        if self.options.workers == 1:
            os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
            yield
            return
        folder = tempfile.mkdtemp(prefix="corml-metrics-")
        unfinished.add(Path(folder))
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        try:
            yield
        finally:
            os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.forget(Path(folder))

    @contextlib.contextmanager
    def _hear_signals(self) -> Iterator[None]:
        """Signals wake the loop and are obeyed in its turn."""
        wake, woken = socket.socketpair()
        wake.setblocking(False)
        woken.setblocking(False)
        self.selector.register(woken, selectors.EVENT_READ, None)
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        before = {number: signal.signal(number, lambda got, _: self._signals.append(got)) for number in numbers}
        fd = signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(fd)
            for number, handler in before.items():
                signal.signal(number, handler)
            wake.close()
            woken.close()


def open_model(path: str, *, follow: bool = True) -> int:
    """A model file, open for reading; neither a device nor a pipe, nor, if it came in a request, a link."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or fault
        raise DataError(f"Cannot read the model {ascii_line(path, 200)}: {reason}.") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ModelFileError(f"{ascii_line(path, 200)} is not a regular file.")
    return file


def beside(path: str, name: str) -> str:
    """A file in the folder of another, by its name alone."""
    if not re.fullmatch(NAME, name):
        raise UsageError("This is not the name of a file.")
    return os.path.join(os.path.dirname(path), name)


def _forget_metrics(pid: int) -> None:
    """Gauges of a worker that ended do not count any more."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    for name in os.listdir(folder) if folder else ():
        if re.fullmatch(rf"gauge_live\w*_{pid}\.db", name):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(str(folder), name))
