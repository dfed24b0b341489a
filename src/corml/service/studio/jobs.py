"""Fits that this process does while its page is open, and their progress as a stream of events."""

import asyncio
import time
from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec
from msgspec import UNSET
from starlette.types import Receive, Scope, Send

from corml.service.endpoint import Service
from corml.service.gate import address_of
from corml.service.operations import TOKEN
from corml.service.problems import Refusal
from corml.service.studio import schema

OFTEN = 0.1  # seconds between checks for news
ALIVE = 10.0  # seconds after which the last event is repeated, so that nobody believes the connection dead


class Job:
    """One fit: the thread that works tells its progress, and those who watch read the last event."""

    def __init__(self, number: int, model: str, kind: str, settings: Mapping[str, object] | None = None) -> None:
        self.id, self.model, self.kind, self.settings = str(number), model, kind, dict(settings or {})
        self.weighing: schema.Weighing | None = None  # of its data, once they are read
        self.begun = time.monotonic()
        self.last = schema.Event(state="working", step="read")
        self.stopped = False

    def tell(
        self,
        step: schema.Step,
        text: str = "",
        done: int = 0,
        total: int = 0,
        state: Literal["working", "done", "failed"] = "working",
    ) -> None:
        """Set the last event; if the job was stopped, the work ends here."""
        if self.stopped:
            raise KeyboardInterrupt
        seconds = round(time.monotonic() - self.begun, 2)
        self.last = schema.Event(state=state, step=step, text=text, done=done, total=total, seconds=seconds)

    def info(self) -> schema.JobInfo:
        """As the API has it."""
        weighing = UNSET if self.weighing is None else self.weighing
        return schema.JobInfo(
            id=self.id, model=self.model, kind=self.kind, settings=self.settings, last=self.last, weighing=weighing
        )


class Jobs(Protocol):
    """A process that fits models."""

    jobs: list[Job]
    notes: list[str]

    @property
    def can_fit(self) -> bool:
        """Whether there are data to fit on."""

    def begin(self, request: schema.StartFit) -> Job:
        """Fit another model on the same data."""


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

    def __init__(self, service: Service) -> None:
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the last event whenever there is a new one."""
        scope["corml"]["route"] = "events"
        authorization = scope["corml"]["headers"].get(b"authorization")
        self.service.guard.check(TOKEN, authorization, address_of(scope))
        jobs = [] if self.service.jobs is None else self.service.jobs.jobs
        job = next((one for one in jobs if one.id == scope["path_params"]["number"]), None)
        if job is None:
            raise Refusal(404, "There is no such job.")
        head = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        gone = asyncio.create_task(_disconnected(receive))
        sent, at = None, 0.0
        try:
            while not gone.done() and not self.service.load.draining:
                last = job.last
                if last is not sent or time.monotonic() > at + ALIVE:
                    body = b"data: " + msgspec.json.encode(last) + b"\n\n"
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    sent, at = last, time.monotonic()
                if last.state != "working":
                    break
                await asyncio.sleep(OFTEN)
        finally:
            gone.cancel()
        await send({"type": "http.response.body", "body": b""})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
