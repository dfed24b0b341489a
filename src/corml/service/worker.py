"""A process that answers. It is started by the supervisor, which tells it everything over a channel.

The models come as open files, so all workers have the same bytes, whatever happens to the names on the disk.
"""

import asyncio
import contextlib
import gc
import itertools
import logging
import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import uvicorn
from threadpoolctl import threadpool_info

from corml._runtime import memory
from corml.errors import CormlError, ascii_line
from corml.service.app import application
from corml.service.auth import Guard
from corml.service.channel import Channel
from corml.service.endpoint import Service
from corml.service.gate import Load
from corml.service.logs import Handler, Log
from corml.service.metrics import Meter
from corml.service.options import Options
from corml.service.problems import Refusal
from corml.service.protocol import protocol
from corml.service.served import Shelf, load

__all__ = ["SWITCH", "Server", "Worker", "main"]

SWITCH = 0.0005  # seconds a thread may keep Python: at the default, answers wait ten times as long during a reload
LAST_CALLS = 0.25  # seconds for connections that were made while the listening ended


class Worker:
    """Models, the application, and the conversation with the supervisor."""

    def __init__(self, channel: Channel, start: dict[str, Any]) -> None:
        self.channel, self.start = channel, start
        self.options = Options.of(start["options"])
        self.log = Log(self.options.log, quiet=start["quiet"])
        self.service = Service(
            options=self.options,
            shelf=Shelf(next(iter(self.options.models))),
            guard=Guard(self.options),
            load=Load(self.options.in_flight),
            meter=Meter(),
            log=self.log,
            pool=ThreadPoolExecutor(self.options.threads, thread_name_prefix="work"),
            reload=self.reload,
        )
        self.listening = socket.socket(fileno=start["files"][0])
        self.server = Server(self.service, self.listening)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Load the models and answer until the end; a worker that replaces another listens when it is ready."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        loop.add_reader(self.channel.end, self._hear)
        serving: asyncio.Task[None] | None = None
        if self.start["first"]:  # so that its health can be asked for from the beginning
            serving = asyncio.create_task(self.server.serve(sockets=[self.listening]))
        failure = await self._load_all()
        if failure is not None:
            model, fault = failure
            self.channel.send({"failed": f"{ascii_line(model, 200)}: {fault}", "code": fault.exit_code})
            return fault.exit_code
        self.channel.send({"ready": {name: one.version for name, one in self.service.shelf.all().items()}})
        await (serving or self.server.serve(sockets=[self.listening]))
        return 0

    def stop(self) -> None:
        """Finish what has begun, then end."""
        self.service.load.draining = True
        self.server.should_exit = True

    async def _load_all(self) -> tuple[str, CormlError] | None:
        """Load every model; the file that cannot be, and why."""
        names = self.options.models
        for name, file in zip(names, self.start["files"][1:], strict=True):
            try:
                self.service.shelf.put(await asyncio.to_thread(_load_open_file, name, file, names[name]))
            except CormlError as fault:
                return names[name], fault
        return None

    # --- reloads -----------------------------------------------------------------------------------------------------

    async def reload(self, name: str, file: str | None) -> bool:
        """Have a model's file read again; whether that is another version."""
        number = next(self._numbers)
        self._asked[number] = future = asyncio.get_running_loop().create_future()
        self.channel.send({"ask": "reload", "number": number, "model": name, "file": file})
        answer = await future
        if answer["status"] == "busy":
            detail = "A reload is under way: ask again when it is done."
            raise Refusal(409, detail, title="Already reloading", headers={"Retry-After": "5"})
        if answer["status"] != "done":
            detail = f"The old version stays in use: {answer['reason']}"
            raise Refusal(422, detail, title="Model file refused")
        return bool(answer["changed"])

    def _hear(self) -> None:
        messages = self.channel.receive()
        if messages is None:  # the supervisor is gone, and so are the reasons to be here
            asyncio.get_running_loop().remove_reader(self.channel.end)
            self.stop()
            return
        for message in messages:
            if message["do"] == "answer":
                future = self._asked.pop(message["number"])
                if not future.done():  # or whoever asked has gone
                    future.set_result(message)
            elif message["do"] == "load":
                task = asyncio.create_task(self._replace(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _replace(self, message: dict[str, Any]) -> None:
        """Load a version aside, and answer by it if it is sound."""
        name, (file,) = message["model"], message["files"]
        before = self.service.shelf[name]
        outcome: dict[str, Any] = {"loaded": message["job"], "model": name}
        try:
            served = await asyncio.to_thread(_load_open_file, name, file, self.options.models[name])
        except CormlError as fault:
            outcome |= {"ok": False, "reason": str(fault)}
        except Exception as fault:  # whatever an unsound file makes of the code that reads it
            outcome |= {"ok": False, "reason": f"It cannot be loaded ({type(fault).__name__})."}
        else:
            outcome |= {"ok": True, "changed": served.digest != before.digest, "version": served.version}
            if outcome["changed"]:
                self.service.shelf.put(served)
        result = "failed" if not outcome["ok"] else "done" if outcome["changed"] else "same"
        self.service.meter.reloads.labels(result).inc()
        self.log.event("info" if outcome["ok"] else "error", "reload", result=result, **_facts(outcome))
        self.channel.send(outcome)
        before = served = None  # type: ignore[assignment]
        await asyncio.to_thread(_tidy)


def _facts(outcome: dict[str, Any]) -> dict[str, Any]:
    return {name: outcome[name] for name in ("model", "version", "reason") if name in outcome}


def _load_open_file(name: str, file: int, known_as: str) -> Any:
    try:
        return load(name, f"/dev/fd/{file}", known_as=known_as)
    except CormlError as fault:
        raise type(fault)(str(fault).replace(f"'/dev/fd/{file}'", "the file")) from None
    finally:
        os.close(file)


def _tidy() -> None:
    """Give the memory of a version that was replaced back to the system."""
    gc.collect()
    memory.release()


class Server(uvicorn.Server):
    """uvicorn with our connections, and an end without lost requests."""

    def __init__(self, service: Service, listening: socket.socket) -> None:
        options = service.options
        super().__init__(
            uvicorn.Config(
                application(service),
                http=protocol(options, service.meter, service.load),
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=options.keep_alive,  # type: ignore[arg-type]
                timeout_graceful_shutdown=max(1, int(options.stop)),
            )
        )
        self.service, self.listening = service, listening
        service.log.later = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: write the lines about requests, and once a second what was refused unread."""
        self.service.log.flush()
        load = self.service.load
        self.service.meter.in_flight.set(load.admitted)
        if load.refused and counter % 10 == 0:
            self.service.log.event("warning", "overload", refused=load.refused)
            self.service.meter.rejected.labels("overload").inc(load.refused)
            load.refused = 0
        return await super().on_tick(counter)

    def capture_signals(self) -> Any:
        """Signals are the worker's."""
        return contextlib.nullcontext()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First «not ready» for a while, with answers that close their connections; then no new ones; then the end."""
        self.service.load.draining = True
        self.service.log.later = False
        await asyncio.sleep(self.service.options.drain)
        spare = self.listening.dup()
        for server in self.servers:
            server.close()
        await self._answer_last(_last_calls(spare))
        await asyncio.sleep(LAST_CALLS)
        await super().shutdown(sockets)

    async def _answer_last(self, connections: list[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        for connection in connections:
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> Any:
        kind: Any = self.config.http_protocol_class
        return kind(config=self.config, server_state=self.server_state, app_state={})


def _last_calls(listening: socket.socket) -> list[socket.socket]:
    """Take the connections that were made and not yet accepted, which closing would reset; then listen no more."""
    listening.setblocking(False)
    connections = []
    with listening, contextlib.suppress(OSError):  # there are no more
        while True:
            connections.append(listening.accept()[0])
    return connections


def main(arguments: list[str]) -> int:
    """Begin: the number of the channel's file is all that the command line has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the supervisor
    channel = Channel(socket.socket(fileno=int(arguments[0])))
    messages = channel.receive()
    if not messages:
        return 1
    sys.setswitchinterval(SWITCH)
    worker = Worker(channel, messages[0])
    logging.getLogger("uvicorn").addHandler(Handler(worker.log))
    logging.getLogger("asyncio").addHandler(Handler(worker.log))
    logging.getLogger("uvicorn").propagate = logging.getLogger("asyncio").propagate = False
    _check_threads(worker.options.threads)
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        code = runner.run(worker.run())
    worker.log.flush()
    os._exit(code)  # threads may still be at work that nobody waits for


def _check_threads(wanted: int) -> None:
    """BLAS counts its threads when it is loaded: the supervisor has said how many before."""
    found = {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
    assert not found or max(found) <= wanted, f"BLAS has {found} threads, not {wanted}"


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # where there is none, it is only slower
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
