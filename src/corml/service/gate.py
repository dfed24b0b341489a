"""What every request passes: Host and Origin, how many are in flight, a number for it, figures, a line in the log.

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
from corml.service.origins import Headers, Origins
from corml.service.problems import Refusal

__all__ = ["BUSY", "PAGE", "Gate", "Load"]

ADMITTED = "corml.admitted"
BUSY = Refusal(
    503, "The service is busy: try again soon.", title="Busy", headers={"Retry-After": "1"}, reason="overload"
)
PAGE = "page"  # the route of everything that a browser shows

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_TRACE = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")  # W3C Trace Context
_SNIFF = (b"x-content-type-options", b"nosniff")
_OF_PAGES = [
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
]
_ONCE = (b"host", b"authorization")  # of two, one could be checked and another one believed
_REPEATED = Refusal(400, "Send Host and Authorization once each.", title="Repeated header", reason="host")
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
        self.hosts, self.origins = options.answered_hosts, Origins(options.cors)
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
        told = [(b"x-request-id", number.encode()), *_trace(headers, facts), *self.origins.told(headers)]
        answered = _Answered(send, told, self.load, facts)
        scope["app"] = self  # as Starlette has it: then a wrong method is an exception
        scope["corml"] = facts
        try:
            self._check_names(scope, headers)
            allowed = self.origins.preflight(scope["method"], headers)
            if allowed is None:
                self._admit(scope)
                await self.app(scope, receive, answered)
            else:
                facts["route"] = "preflight"
                await answered({"type": "http.response.start", "status": 204, "headers": allowed})
                await answered({"type": "http.response.body", "body": b""})
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
            self.meter.answered(facts["route"], answered.status, facts.get("model") or "", took)
            self._note(facts, answered, number, took)

    def _check_names(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Refuse what was sent to another name, and what a page of another origin sent."""
        if len(headers) < len(scope["headers"]):
            names = [name for name, _ in scope["headers"]]
            if any(names.count(name) > 1 for name in _ONCE):
                raise _REPEATED
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self.hosts and _without_port(host) not in self.hosts:
            raise _HOST
        self.origins.check(scope["method"], headers)

    def _admit(self, scope: Scope) -> None:
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
        named = ((name, facts.get(name)) for name in ("model", "model_version", "received", "traceparent"))
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

    def __init__(self, send: Send, told: Headers, load: Load, facts: dict[str, Any]) -> None:
        self._send, self._told, self._load, self._facts = send, told, load, facts
        self.status, self.sent, self.started = 499, 0, False  # 499: whoever asked went away before an answer

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            message["headers"] = [*message["headers"], _SNIFF, *self._told]
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


def _trace(headers: dict[bytes, bytes], facts: dict[str, Any]) -> Headers:
    """The caller's trace, if it is one, for the log and back."""
    given = headers.get(b"traceparent", b"")
    if not _TRACE.fullmatch(given):
        return []
    facts["traceparent"] = given.decode()
    return [(b"traceparent", given)]


def _of_starlette(fault: HTTPException) -> Refusal:
    if fault.status_code == 405:
        return Refusal(405, "This path has other methods.", headers=dict(fault.headers or {}))
    return Refusal(404, "There is nothing at this path: GET /openapi.json lists what there is.")
