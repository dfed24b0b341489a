"""What every request passes: Host and Origin, how many are in flight, its number, metrics, a line in the log.

A request whose body is still being received does not count, so slow senders cannot use up the places of others.
"""

import itertools
import os
import re
import time
import traceback
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corml.service.access import Guard, Origins
from corml.service.logs import Log
from corml.service.metrics import Meter
from corml.service.operations import OPEN
from corml.service.options import Options
from corml.service.problems import Headers, Refusal

ADMITTED = "corml.admitted"
BUSY = Refusal(
    503, "The service is busy: try again soon.", title="Busy", headers={"Retry-After": "1"}, reason="overload"
)
NOTHING_HERE = Refusal(404, "There is nothing at this path: GET /openapi.json lists what there is.")
PAGE = "page"  # the route of everything that a browser shows

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_TRACE = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")  # W3C Trace Context
_PORT = re.compile(r":\d+$")
_LOGGED = ("model", "model_version", "received", "traceparent")
_SNIFF = (b"x-content-type-options", b"nosniff")
_POLICY = b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
_OF_PAGES = [(b"referrer-policy", b"no-referrer"), (b"content-security-policy", _POLICY)]
_ONCE = (b"host", b"authorization")  # of two, one could be checked and the other one used
_REPEATED = Refusal(400, "Send Host and Authorization once each.", title="Repeated header", reason="host")
_HOST = Refusal(421, "This service does not answer to this name.", reason="host")


class Load:
    """How much there is to do: requests that were admitted, without those whose body is still being received.

    A request is admitted when it arrives, before its turn, so that the first ones are answered and not the last ones.
    `protocol` does that; without it, the gate.
    """

    def __init__(self, most: int) -> None:
        self.most = most  # at work; as many again may wait
        self.admitted = 0
        self.receiving = 0
        self.refused = 0
        self.draining = False

    def admit(self, scope: MutableMapping[str, object]) -> bool:
        """Admit a request if there is a place for it; health checks need none."""
        if scope["path"] in OPEN:
            return True
        if self.admitted - self.receiving >= 2 * self.most:
            self.refused += 1
            return False
        self.admitted += 1
        scope[ADMITTED] = True
        return True

    def leave(self, scope: MutableMapping[str, object]) -> None:
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
        number, trace = self._request_id(headers), headers.get(b"traceparent", b"")
        facts: dict[str, Any] = {"route": "other", "headers": headers}
        own = [(b"x-request-id", number.encode()), *self.origins.headers(headers)]
        if _TRACE.fullmatch(trace):  # for the log and back
            facts["traceparent"] = trace.decode()
            own.append((b"traceparent", trace))
        answered = _Answered(send, own, self.load, facts)
        scope["app"] = self  # as Starlette has it: then a wrong method is an exception
        scope["corml"] = facts
        try:
            preflight = self._check(scope, headers)
            if preflight is None:
                await self.app(scope, receive, answered)
            else:
                facts["route"] = "preflight"
                await answered.whole(204, b"", preflight)
        except ClientDisconnect:
            pass
        except Exception as fault:
            fault.__traceback__, trail = None, fault.__traceback__  # some are raised again, and it would grow
            refusal = self._refusal(fault, trail, number)
            if refusal.reason:
                self.meter.rejected.labels(refusal.reason).inc()
            if not answered.started:
                await answered.whole(refusal.status, *refusal.answer())
        finally:
            self.load.leave(scope)
            took = time.perf_counter() - begun
            self.meter.answered(facts["route"], answered.status, facts.get("model") or "", took)
            more = {name: facts[name] for name in _LOGGED if facts.get(name) is not None}
            answer = {"route": facts["route"], "code": answered.status, "ms": round(1000 * took, 2)}
            self.log.request(request_id=number, **answer, sent=answered.sent, **more)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> Headers | None:
        """Refuse wrong names, foreign pages and overload; the headers of the answer to a preflight request."""
        if len(headers) < len(scope["headers"]):
            names = [name for name, _ in scope["headers"]]
            if any(names.count(name) > 1 for name in _ONCE):
                raise _REPEATED
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self.hosts and _PORT.sub("", host) not in self.hosts:
            raise _HOST
        preflight = self.origins.check(scope["method"], headers)
        if preflight is None and scope["path"] not in OPEN:
            if ADMITTED not in scope and not self.load.admit(scope):
                raise BUSY
            self.guard.count(address_of(scope))
        return preflight

    def _refusal(self, fault: Exception, trail: TracebackType | None, number: str) -> Refusal:
        """The problem to answer with."""
        if isinstance(fault, Refusal):
            return fault
        if isinstance(fault, HTTPException):
            if fault.status_code == 405:
                return Refusal(405, "This path has other methods.", headers=dict(fault.headers or {}))
            return NOTHING_HERE
        last = traceback.extract_tb(trail)[-1]  # the place alone: the message could repeat something that was sent
        place = f"{os.path.basename(last.filename)}:{last.lineno}"
        self.log.event("error", "failure", request_id=number, kind=type(fault).__name__, place=place)
        return Refusal(500, "This is an error in the service; its log has the place.")

    def _request_id(self, headers: dict[bytes, bytes]) -> str:
        given = headers.get(b"x-request-id", b"")
        return given.decode() if _REQUEST_ID.fullmatch(given) else f"{self._process}-{next(self._number):x}"


class _Answered:
    """What was sent, with the headers that all answers have."""

    def __init__(self, send: Send, own: Headers, load: Load, facts: dict[str, Any]) -> None:
        self._send, self._own, self._load, self._facts = send, own, load, facts
        self.status, self.sent, self.started = 499, 0, False  # 499: the caller went away before an answer

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            message["headers"] = [*message["headers"], _SNIFF, *self._own]
            if self._facts["route"] == PAGE:
                message["headers"] += _OF_PAGES
            if self._load.draining:
                message["headers"].append((b"connection", b"close"))
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)

    async def whole(self, status: int, body: bytes, headers: Headers) -> None:
        await respond(self, status, body, headers)


async def respond(send: Send, status: int, body: bytes, headers: Headers) -> None:
    """Send a whole answer."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def address_of(scope: Scope) -> str:
    """The address of the caller."""
    return scope["client"][0] if scope.get("client") else ""
