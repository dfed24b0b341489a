"""A process that answers. It is started by the supervisor, which tells it everything over a channel.

The models come as open files, so all workers have the same bytes, whatever happens to the names on the disk.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from functools import partial
from typing import Any

import uvicorn
from threadpoolctl import threadpool_info

from corml._runtime import memory
from corml.errors import CormlError, ascii_line
from corml.service.app import application
from corml.service.channel import Channel, Message
from corml.service.endpoint import Service
from corml.service.logs import Handler, Log
from corml.service.options import Options
from corml.service.problems import Refusal
from corml.service.protocol import protocol
from corml.service.served import Served, Shelf, load

SWITCH = 0.0005  # seconds a thread may keep Python: at the default, answers wait ten times as long during a reload
LAST_CALLS = 0.25  # seconds for connections that were made while the listening ended


class Worker:
    """Models, the application, and the conversation with the supervisor."""

    def __init__(self, channel: Channel, start: Message) -> None:
        self.channel, self.start = channel, start
        options = self.options = Options.of(start["options"])
        self.log = Log(options.log, quiet=start["quiet"])
        self.service = Service(options, Shelf(next(iter(options.models))), self.log, self.reload)
        self.listening = socket.socket(fileno=start["files"][0])
        self.server = Server(self.service, self.listening)

    async def run(self) -> int:
        """Load the models and answer until the end; a worker that replaces another listens when it is ready."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.stop)
        self.channel.listen(self._replace, self.stop)  # without its supervisor a worker stops
        serving: asyncio.Task[None] | None = None
        if self.start["first"]:  # so that its health can be asked for from the beginning
            serving = asyncio.create_task(self.server.serve(sockets=[self.listening]))
        for (name, path), file in zip(self.options.models.items(), self.start["files"][1:], strict=True):
            try:
                self.service.shelf.put(await asyncio.to_thread(_load_open_file, name, file, path))
            except CormlError as fault:
                self.channel.send({"failed": f"{ascii_line(path, 200)}: {fault}", "code": fault.exit_code})
                return fault.exit_code
        self.channel.send({"ready": {name: one.version for name, one in self.service.shelf.all().items()}})
        await (serving or self.server.serve(sockets=[self.listening]))
        return 0

    def stop(self) -> None:
        """Finish what has begun, then end."""
        self.service.load.draining = True
        self.server.should_exit = True

    async def reload(self, name: str, file: str | None) -> bool:
        """Have a model's file read again; whether that is another version."""
        answer = await self.channel.ask({"reload": name, "file": file})
        if answer.get("status") == "busy":
            detail = "A reload is under way: ask again when it is done."
            raise Refusal(409, detail, title="Already reloading", headers={"Retry-After": "5"})
        if answer.get("status") != "done":
            detail = f"The old version stays in use: {answer.get('reason', 'the service is stopping.')}"
            raise Refusal(422, detail, title="Model file refused")
        return bool(answer["changed"])

    async def _replace(self, message: Message) -> Message:
        """Load a version while the old one answers, and replace it if the new one is sound."""
        name, (file,) = message["model"], message["files"]
        outcome: Message = {"ok": False}
        facts = {"model": name}
        try:
            served = await asyncio.to_thread(_load_open_file, name, file, self.options.models[name])
        except CormlError as fault:
            outcome["reason"] = facts["reason"] = str(fault)
        except Exception as fault:  # whatever an unsound file makes of the code that reads it
            outcome["reason"] = facts["reason"] = f"It cannot be loaded ({type(fault).__name__})."
        else:
            outcome = {"ok": True, "changed": served.digest != self.service.shelf[name].digest}
            facts["version"] = served.version
            if outcome["changed"]:
                self.service.shelf.put(served)
            del served
        result = "failed" if not outcome["ok"] else "done" if outcome["changed"] else "same"
        self.service.meter.reloads.labels(result).inc()
        self.log.event("info" if outcome["ok"] else "error", "reload", result=result, **facts)
        asyncio.get_running_loop().run_in_executor(None, _release_memory)
        return outcome


def _load_open_file(name: str, file: int, known_as: str) -> Served:
    try:
        return load(name, f"/dev/fd/{file}", known_as=known_as)
    except CormlError as fault:
        raise type(fault)(str(fault).replace(f"'/dev/fd/{file}'", "the file")) from None
    finally:
        os.close(file)


def _release_memory() -> None:
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
        kind: Any = self.config.http_protocol_class
        make = partial(kind, config=self.config, server_state=self.server_state, app_state={})
        for connection in _last_calls(spare):
            await asyncio.get_running_loop().connect_accepted_socket(make, connection)
        await asyncio.sleep(LAST_CALLS)
        await super().shutdown(sockets)


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
    threads = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    assert max(threads, default=0) <= worker.options.threads, f"BLAS has {threads} threads"
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        code = runner.run(worker.run())
    worker.log.flush()
    os._exit(code)  # threads may still be at work that nobody waits for


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # where there is none, it is only slower
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
