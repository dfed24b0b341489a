"""The process that owns the socket and the model files, and keeps workers alive. It imports nothing heavy.

Files are opened here and passed to workers as open files. A version counts once a worker has loaded and tested it: then
the other workers get it too, and every worker that is started later. So a damaged or missing file never replaces one
that is in use, and a worker that was killed comes back with the version it had.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from corml.errors import CormlError, DataError, ModelFileError, ResourceError, UsageError, ascii_line
from corml.persistence import unfinished
from corml.service.channel import Channel, Message
from corml.service.logs import Log
from corml.service.options import NAME, Options

BACKLOG = 2048
SOON, LATE = 0.2, 10.0  # seconds until a worker that died is replaced: at first, and after dying again and again
LIVED = 10.0  # seconds after which a worker has not died at its start
THREADS = ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMEXPR", "NUMBA")
SECRETS = ("CORML_TOKEN", "CORML_ADMIN_TOKEN")
ERRORS = {kind.exit_code: kind for kind in (UsageError, DataError, ResourceError, ModelFileError)}
METRICS = "PROMETHEUS_MULTIPROC_DIR"
CANNOT_OPEN = "The file cannot be opened."


@dataclass(eq=False)
class Child:
    """A worker as its supervisor sees it."""

    process: Process
    channel: Channel
    ready: bool = False
    ended: bool = False
    failure: CormlError | None = None  # why it could not load its models


class Supervisor:
    """Starts workers, replaces them, passes reloads on, and stops everything in order."""

    def __init__(self, options: Options, *, quiet: bool = False, announce: Callable[[str], None] = print) -> None:
        options.check_processors()
        self.options, self.quiet, self.announce = options, quiet, announce
        self.log = Log(options.log, quiet=quiet)
        self.children: list[Child] = []
        self.files: dict[str, int] = {}  # by name of the model: the version in use
        self.stopping = asyncio.Event()
        self.reloading = asyncio.Lock()
        self.announced = False

    def run(self) -> int:
        """Serve until a signal says to stop."""
        with contextlib.ExitStack() as stack:
            os.environ.pop(METRICS, None)
            if self.options.workers > 1:
                stack.enter_context(metrics_folder())
            for name, path in self.options.models.items():
                self.files[name] = open_model(path)
                stack.callback(os.close, self.files[name])
            self.listening = stack.enter_context(listen(self.options.host, self.options.port))
            asyncio.run(self._serve())
        return 0

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop, number)
        loop.add_signal_handler(signal.SIGHUP, lambda: asyncio.ensure_future(self._reload_all()))
        keepers = [asyncio.create_task(self._keep()) for _ in range(self.options.workers)]
        try:
            await asyncio.gather(*keepers)
        finally:
            self.stopping.set()
            self._kill()
            await asyncio.gather(*keepers, return_exceptions=True)

    # --- workers -----------------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Run a worker, and another one whenever it ends, until the service stops."""
        deaths, first = 0, True
        while not self.stopping.is_set():
            begun = time.monotonic()
            child = await self._start(first=first)
            await child.process.wait()
            self._bury(child)
            if self.stopping.is_set():
                return
            if not self.announced:
                await asyncio.sleep(0)  # its last message is being read
                raise child.failure or ResourceError("A worker ended before it was ready; its messages are above.")
            deaths = 0 if time.monotonic() - begun > LIVED else deaths + 1
            self.log.event("error", "worker ended", worker=child.process.pid, code=child.process.returncode)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), min(LATE, SOON * 2 ** (deaths - 1)) if deaths else 0)
            first = False

    async def _start(self, *, first: bool) -> Child:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "corml.service.worker", str(theirs.fileno())]
            files = [theirs.fileno()]
            process = await asyncio.create_subprocess_exec(
                *command, pass_fds=files, env=self._environment(), stdin=DEVNULL
            )
        child = Child(process, Channel(ours), ended=self.stopping.is_set())
        self.children.append(child)
        if child.ended:
            process.kill()
            return child
        child.channel.listen(partial(self._answer, child), lambda: setattr(child, "ended", True))
        message = {"options": self.options.plain(), "first": first, "quiet": self.quiet}
        child.channel.send(message, [self.listening.fileno(), *self.files.values()])
        return child

    def _environment(self) -> dict[str, str]:
        """Threads are counted when NumPy is loaded; secrets go over the channel, where nobody else can see them."""
        kept = {name: value for name, value in os.environ.items() if name not in SECRETS}
        count = str(self.options.threads)
        return kept | {f"{name}_NUM_THREADS": count for name in THREADS} | {"CORML_THREADS": count}

    def _bury(self, child: Child) -> None:
        """Read the last messages of a worker that has ended, and forget it."""
        while not child.ended and child.channel.read():
            pass
        child.channel.close()
        self.children.remove(child)
        folder = os.environ.get(METRICS)
        for name in os.listdir(folder) if folder else ():
            if re.fullmatch(rf"gauge_live\w*_{child.process.pid}\.db", name):  # its gauges no longer count
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(str(folder), name))

    async def _answer(self, child: Child, message: Message) -> Message | None:
        """Take a message of a worker; a request for a reload is answered."""
        if "failed" in message:
            child.failure = ERRORS.get(message["code"], ModelFileError)(message["failed"])
        elif "reload" in message:
            if self.reloading.locked() or self.stopping.is_set():
                return {"status": "busy"}
            async with self.reloading:
                return await self._reload(child, message["reload"], message["file"])
        elif "ready" in message:
            child.ready = True
            self.log.event("info", "worker ready", worker=child.process.pid, **message["ready"])
            if not self.announced and not self.stopping.is_set() and all(one.ready for one in self.children):
                self.announced = True
                self.announce(f"corml serves {', '.join(self.options.models)} at {self.address}")
        return None

    def _stop(self, number: int) -> None:
        """Stop in order; at once when Ctrl-C is pressed a second time."""
        if self.stopping.is_set():
            if number == signal.SIGINT:
                self._kill()
            return
        self.log.event("info", "stopping")
        self.stopping.set()
        self.listening.close()  # the workers listen on until they have drained
        for child in self.children:
            if child.ready:
                child.process.terminate()
            else:  # it answers nobody yet, and does not notice a signal while it loads
                child.process.kill()
        asyncio.get_running_loop().call_later(self.options.drain + self.options.stop + 1, self._kill)

    def _kill(self) -> None:
        for child in self.children:
            if child.process.returncode is None:
                child.process.kill()

    # --- reloads -----------------------------------------------------------------------------------------------------

    async def _reload_all(self) -> None:
        """Reload every model, one after the other, in whichever worker is ready: a signal asked for it."""
        async with self.reloading:
            for name in self.options.models:
                ready = [child for child in self.children if child.ready]
                if ready and not self.stopping.is_set():
                    await self._reload(ready[0], name, None)

    async def _reload(self, child: Child, model: str, name: str | None) -> Message:
        """Have one worker load and test a file; if it is sound, all workers get these very bytes."""
        try:
            path = self.options.models[model]
            file = open_model(path) if name is None else open_model(beside(path, name), follow=False)
        except CormlError:
            self.log.event("error", "reload", result="failed", model=model, reason=CANNOT_OPEN)
            return {"status": "failed", "reason": CANNOT_OPEN}
        try:
            outcome = await child.channel.ask({"model": model}, [file])
            if not outcome.get("ok"):
                return {"status": "failed", "reason": outcome.get("reason", "The worker that tested it ended.")}
            if outcome["changed"]:
                os.dup2(file, self.files[model], inheritable=False)
                for other in self.children:
                    if other is not child:
                        other.channel.send({"model": model}, [file])
            return {"status": "done", "changed": outcome["changed"]}
        finally:
            os.close(file)

    @property
    def address(self) -> str:
        """Where it can be reached."""
        host, port = self.listening.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address."""
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
def metrics_folder() -> Iterator[None]:
    """A folder in which several workers count together."""
    folder = tempfile.mkdtemp(prefix="corml-metrics-")
    os.environ[METRICS] = folder
    try:
        with unfinished.listed(Path(folder)):
            yield
    finally:
        del os.environ[METRICS]
        shutil.rmtree(folder, ignore_errors=True)


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
