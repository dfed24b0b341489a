"""What every request passes: the Host, how many are in flight, a number for it, figures and a line in the log.

A request that only waits for its body counts for nothing, so slow senders cannot use up the places of others.
"""

import itertools
import os
import re
import time
import traceback
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corml.service.auth import Guard
from corml.service.logs import Log
from corml.service.metrics import Meter
from corml.service.operations import OPEN
from corml.service.options import Options
from corml.service.problems import Refusal

__all__ = ["BUSY", "PAGE", "Gate", "Load"]

ADMITTED = "corml.admitted"
BUSY = Refusal(503, "The service is busy: try again soon.", headers={"Retry-After": "1"}, reason="overload")
PAGE = "page"  # the route of everything that a browser shows

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_SNIFF = (b"x-content-type-options", b"nosniff")
_OF_PAGES = [
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
]
_ONCE = (b"host", b"authorization")  # of two, one could be checked and another one believed
_REPEATED = Refusal(400, "Host and Authorization are given once.", reason="host")
_HOST = Refusal(421, "This service does not answer to this name.", reason="host")


class Load:
    """How much there is to do: requests that were let in, less those that still wait for their body.

    A request is let in when it arrives, before its turn, so that those who came first are answered, and not those who
    came last. `protocol` does that; where there is none, the gate.
    """

    def __init__(self, most: int) -> None:
        self.most = most  # at work, and as many again that wait
        self.admitted = 0
        self.receiving = 0
        self.refused = 0
        self.draining = False

    def admit(self, scope: Any) -> bool:
        """Let a request in, if there is a place for it; health needs none."""
        if scope["path"] in OPEN:
            return True
        if self.admitted - self.receiving >= 2 * self.most:
            self.refused += 1
            return False
        self.admitted += 1
        scope[ADMITTED] = True
        return True

    def leave(self, scope: Any) -> None:
        """It was answered."""
        if scope.get(ADMITTED):
            self.admitted -= 1


class Gate:
    """The outermost part of the application."""

    def __init__(self, app: ASGIApp, options: Options, guard: Guard, load: Load, meter: Meter, log: Log) -> None:
        self.app, self.guard, self.load, self.meter, self.log = app, guard, load, meter, log
        self.hosts = options.answered_hosts
        self._number = itertools.count(1)
        self._process = f"{os.getpid():x}-{int(time.time()):x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        headers = dict(scope["headers"])
        number = self._request_id(headers.get(b"x-request-id"))
        facts: dict[str, Any] = {"route": "other", "headers": headers}
        answered = _Answered(send, number.encode(), self.load, facts)
        scope["app"] = self  # as Starlette has it: then a wrong method is an exception
        scope["corml"] = facts
        try:
            self._admit(scope, headers)
            await self.app(scope, receive, answered)
        except Refusal as refusal:
            refusal.__traceback__ = None  # some are raised again and again, and every time it would grow
            await self._refuse(answered, refusal)
        except HTTPException as fault:
            await self._refuse(answered, _of_starlette(fault))
        except ClientDisconnect:
            pass
        except Exception as fault:
            self._report(fault, number)
            await self._refuse(answered, Refusal(500, "This is an error in the service; its log has the place."))
        finally:
            self.load.leave(scope)
            took = time.perf_counter() - begun
            self.meter.answered(facts["route"], answered.status, took)
            self._note(facts, answered, number, took)

    def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if len(headers) < len(scope["headers"]):
            names = [name for name, _ in scope["headers"]]
            if any(names.count(name) > 1 for name in _ONCE):
                raise _REPEATED
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self.hosts and _without_port(host) not in self.hosts:
            raise _HOST
        if scope["path"] in OPEN:
            return
        if ADMITTED not in scope and not self.load.admit(scope):
            raise BUSY
        self.guard.count(scope["client"][0] if scope.get("client") else "")

    async def _refuse(self, answered: "_Answered", refusal: Refusal) -> None:
        if refusal.reason:
            self.meter.rejected.labels(refusal.reason).inc()
        if not answered.started:
            body = refusal.body()
            size = (b"content-length", str(len(body)).encode())
            start = {"type": "http.response.start", "status": refusal.status}
            await answered({**start, "headers": [*refusal.asgi_headers(), size]})
            await answered({"type": "http.response.body", "body": body})

    def _request_id(self, given: bytes | None) -> str:
        if given is not None and _REQUEST_ID.fullmatch(given):
            return given.decode()
        return f"{self._process}-{next(self._number):x}"

    def _note(self, facts: dict[str, Any], answered: "_Answered", number: str, took: float) -> None:
        named = ((name, facts.get(name)) for name in ("model", "model_version", "received"))
        more = {name: value for name, value in named if value is not None}
        route, code, sent = facts["route"], answered.status, answered.sent
        self.log.request(request_id=number, route=route, code=code, ms=round(1000 * took, 2), sent=sent, **more)

    def _report(self, fault: Exception, number: str) -> None:
        """Where it happened, not what it says: that could be something that was sent."""
        last = traceback.extract_tb(fault.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.lineno}"
        self.log.event("error", "failure", request_id=number, kind=type(fault).__name__, place=place)


class _Answered:
    """What was sent, with the headers that all answers have."""

    def __init__(self, send: Send, number: bytes, load: Load, facts: dict[str, Any]) -> None:
        self._send, self._number, self._load, self._facts = send, number, load, facts
        self.status, self.sent, self.started = 499, 0, False  # 499: whoever asked went away before an answer

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            message["headers"] = [*message["headers"], _SNIFF, (b"x-request-id", self._number)]
            if self._facts["route"] == PAGE:
                message["headers"] += _OF_PAGES
            if self._load.draining:
                message["headers"].append((b"connection", b"close"))
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _of_starlette(fault: HTTPException) -> Refusal:
    if fault.status_code == 405:
        return Refusal(405, "This path has other methods.", headers=dict(fault.headers or {}))
    return Refusal(404, "There is nothing at this path: GET /openapi.json lists what there is.")
