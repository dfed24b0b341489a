"""Fits that this process does while its page is open, and their progress as a stream of events."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import UNSET
from starlette.types import Receive, Scope, Send

from corml.service.operations import TOKEN
from corml.service.problems import Refusal
from corml.service.studio import schema

__all__ = ["Events", "Job", "Jobs", "listed", "start"]

OFTEN = 0.1  # seconds between looks for something new to tell
ALIVE = 10.0  # seconds after which something is said even if nothing is new, so that nobody believes it gone


class Job:
    """One fit: whoever works tells it where it is, whoever watches reads the last word."""

    def __init__(self, number: int, model: str, kind: str, settings: Mapping[str, Any] | None = None) -> None:
        self.id, self.model, self.kind, self.settings = str(number), model, kind, dict(settings or {})
        self.weighing: schema.Weighing | None = None  # of its data, once they are read
        self.begun = time.monotonic()
        self.last = schema.Event(state="working", step="read")
        self.stopped = False

    def tell(self, step: str, text: str = "", done: int = 0, total: int = 0, state: str = "working") -> None:
        """Say where it is; an end was asked for: then this is where the work stops."""
        if self.stopped:
            raise KeyboardInterrupt
        seconds = round(time.monotonic() - self.begun, 2)
        self.last = schema.Event(
            state=state,  # type: ignore[arg-type]
            step=step,  # type: ignore[arg-type]
            text=text,
            done=done,
            total=total,
            seconds=seconds,
        )

    def info(self) -> schema.JobInfo:
        """As the API has it."""
        weighing = UNSET if self.weighing is None else self.weighing
        return schema.JobInfo(
            id=self.id, model=self.model, kind=self.kind, settings=self.settings, last=self.last, weighing=weighing
        )


class Jobs(Protocol):
    """What a process that fits has: its jobs, and a way to begin another."""

    jobs: list[Job]
    notes: list[str]
    can_fit: bool
    begin: Callable[[schema.StartFit], Job]


def listed(jobs: Jobs | None) -> schema.Jobs:
    """All jobs; a plain service has none."""
    if jobs is None:
        return schema.Jobs(jobs=[], can_fit=False, notes=[])
    return schema.Jobs(jobs=[job.info() for job in jobs.jobs], can_fit=jobs.can_fit, notes=jobs.notes)


def start(jobs: Jobs | None, request: schema.StartFit) -> schema.JobInfo:
    """Begin another fit, if there are data to fit on."""
    if jobs is None or not jobs.can_fit:
        raise Refusal(403, "No data are open here: corml studio FILE opens some.", title="No data to fit on")
    if any(job.last.state == "working" for job in jobs.jobs):
        detail = "A fit is under way: ask again when it is done."
        raise Refusal(409, detail, title="Already fitting", headers={"Retry-After": "5"})
    return jobs.begin(request).info()


class Events:
    """The progress of one job as server-sent events, until its end."""

    def __init__(self, service: Any) -> None:
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the last event whenever there is a new one."""
        scope["corml"]["route"] = "events"
        address = scope["client"][0] if scope.get("client") else ""
        self.service.guard.check(TOKEN, scope["corml"]["headers"].get(b"authorization"), address)
        jobs = [] if self.service.jobs is None else self.service.jobs.jobs
        job = next((one for one in jobs if one.id == scope["path_params"]["number"]), None)
        if job is None:
            raise Refusal(404, "There is no such job.")
        head = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        gone = asyncio.create_task(_gone(receive))
        try:
            await self._follow(job, gone, send)
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})

    async def _follow(self, job: Job, gone: asyncio.Task[None], send: Send) -> None:
        told, at = None, 0.0
        while not gone.done() and not self.service.load.draining:
            last = job.last
            if last is not told or time.monotonic() > at + ALIVE:
                body = b"data: " + msgspec.json.encode(last) + b"\n\n"
                await send({"type": "http.response.body", "body": body, "more_body": True})
                told, at = last, time.monotonic()
            if last.state != "working":
                return
            await asyncio.sleep(OFTEN)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
