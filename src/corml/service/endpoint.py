"""One operation behind its path: read the body within limits, check the token, then the request, then do the work."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from corml._runtime.values import whole_number
from corml.recommend.pipeline import is_quick
from corml.service import schema
from corml.service.auth import Guard
from corml.service.compression import Packed, pack
from corml.service.etag import CACHED, is_named
from corml.service.gate import Load
from corml.service.logs import Log
from corml.service.metrics import Meter
from corml.service.operations import Operation
from corml.service.options import Options
from corml.service.parsing import from_json, from_query
from corml.service.problems import Refusal
from corml.service.served import Shelf
from corml.service.turns import Turns

__all__ = ["Endpoint", "Service"]

JSON, TEXT = b"application/json", b"text/plain; version=0.0.4; charset=utf-8"
MOST_KEPT = 8  # answers of an operation whose bytes are kept
_encode_text = msgspec.json.Encoder().encode

Reload = Callable[[str, str | None], Awaitable[bool]]  # name, file: whether the version changed


@dataclass
class Service:
    """What the parts of one process share."""

    options: Options
    shelf: Shelf
    guard: Guard
    load: Load
    meter: Meter
    log: Log
    pool: Executor
    reload: Reload
    turns: Turns = field(default_factory=Turns)
    own: dict[str, Callable[[Any], Any]] = field(default_factory=dict)  # operations of the service itself
    jobs: Any = None  # fits of this process; a plain service has none


class _Sent(NamedTuple):
    """An answer as it is sent."""

    packed: Packed
    kind: bytes
    model_version: str | None = None


class Endpoint:
    """An ASGI application for one row of the table."""

    def __init__(self, operation: Operation, service: Service) -> None:
        self.operation, self.service = operation, service
        self.most = service.options.batch_body if operation.large else service.options.body
        self.decoder = None if operation.request is None else msgspec.json.Decoder(operation.request)
        self.kept: OrderedDict[str, _Sent] = OrderedDict()  # by ETag: what is compressed once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        facts, headers = scope["corml"], scope["corml"]["headers"]
        facts["route"] = self.operation.name
        body = await self._body(headers, receive) if scope["method"] == "POST" else b""
        address = scope["client"][0] if scope.get("client") else ""
        self.service.guard.check(self.operation.access, headers.get(b"authorization"), address)
        facts["received"] = len(body)
        request = self._request(scope, headers, body)
        facts["model"] = self._asked_model(request)
        name = self._name(request)
        if name is not None and is_named(headers.get(b"if-none-match"), name):
            await send({"type": "http.response.start", "status": 304, "headers": _kept(name)})
            await send({"type": "http.response.body", "body": b""})
            return
        sent = None if name is None else self.kept.get(name)
        if sent is None:
            sent, name = await self._made(request, name)
        facts["model_version"] = sent.model_version
        content, more = sent.packed.chosen(headers.get(b"accept-encoding"))
        head = [(b"content-type", sent.kind), *more, *_kept(name)]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    async def _made(self, request: Any, name: str | None) -> "tuple[_Sent, str | None]":
        """The answer, and the name under which it is kept from now on."""
        answer = await self._answer(request)
        if isinstance(answer, bytes):
            return _Sent(Packed(answer, None), TEXT), None
        self._count(answer)
        version = getattr(answer, "model_version", None)
        content = _encode(answer)
        if name is None or name != self._name(request):  # a reload came in between
            return _Sent(Packed(content, None), JSON, version), None
        packed = await asyncio.get_running_loop().run_in_executor(self.service.pool, pack, content)
        sent = self.kept[name] = _Sent(packed, JSON, version)
        while len(self.kept) > MOST_KEPT:
            self.kept.popitem(last=False)
        return sent, name

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """The body, counted while it comes in: too much of it is not read to the end."""
        declared = headers.get(b"content-length", b"0")
        size = whole_number(declared.decode("latin-1"))
        if size is None or size > self.most:
            raise _too_large(self.most)
        message = await self._receive(receive) if declared != b"0" or b"transfer-encoding" in headers else None
        if message is None:
            return b""
        pieces, size = [], 0
        while True:
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > self.most:
                raise _too_large(self.most)
            if not message.get("more_body"):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            message = await self._receive(receive)

    async def _receive(self, receive: Receive) -> Any:
        """The next piece; who waits for it is not in flight, and the connection has a deadline for it."""
        load = self.service.load
        load.receiving += 1
        try:
            return await receive()
        finally:
            load.receiving -= 1

    def _request(self, scope: Scope, headers: dict[bytes, bytes], body: bytes) -> Any:
        if self.decoder is None:
            return None
        if scope["method"] != "POST":
            return from_query(scope["query_string"], self.operation.request)
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != JSON or headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise Refusal(415, "Send JSON, uncompressed, with the header Content-Type: application/json.")
        return from_json(body, self.decoder)

    def _asked_model(self, request: Any) -> str | None:
        """Which of the models that are served is asked, for the figures and the log."""
        if not hasattr(request, "model"):
            return None
        served = self.service.shelf.find(request.model)
        return None if served is None else served.name

    def _name(self, request: Any) -> str | None:
        """The ETag of the answer, if it has one."""
        name_of = self.operation.name_of
        return None if name_of is None else name_of(self.service.shelf, request)

    async def _answer(self, request: Any) -> Any:
        work, service = self.operation.work, self.service
        if work is None:
            answer = service.own[self.operation.name](request)
            return await answer if asyncio.iscoroutine(answer) else answer
        if self.operation.light and _is_light(request) and service.shelf[request.model].quick:
            await service.turns.take()
            return work(service.shelf, request)
        future = asyncio.get_running_loop().run_in_executor(service.pool, work, service.shelf, request)
        try:
            return await asyncio.wait_for(future, service.options.timeout)
        except TimeoutError:
            raise Refusal(504, "The answer took too long: ask for less.", reason="timeout") from None

    def _count(self, answer: Any) -> None:
        """Figures about lists; a score that is no number never leaves the service."""
        if isinstance(answer, schema.OneList):
            lists = [answer]
        elif isinstance(answer, schema.BatchAnswer):
            lists = answer.lists
        else:
            return
        for one in lists:
            if one.source == "fallback":
                self.service.meter.fallback.inc()
            if one.unknown is not msgspec.UNSET:
                self.service.meter.unknown.inc(len(one.unknown))
            finite = [item for item in one.items if math.isfinite(item.score)]
            if len(finite) < len(one.items):
                self.service.meter.nonfinite.inc(len(one.items) - len(finite))
                one.items, one.reason = finite, "scores that are no numbers were left out"


def _encode(answer: Any) -> bytes:
    """As JSON; a title with half of a character has a sign for it there, as UTF-8 cannot have it."""
    try:
        return _encode_text(answer)
    except UnicodeEncodeError:
        return _encode_text(_mended(msgspec.to_builtins(answer)))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_mended(name): _mended(one) for name, one in value.items()}
    return [_mended(one) for one in value] if isinstance(value, list) else value


def _kept(name: str | None) -> list[tuple[bytes, bytes]]:
    """Headers that say for how long an answer may be kept."""
    if name is None:
        return [(b"cache-control", b"no-store")]
    return [(b"etag", name.encode()), (b"cache-control", CACHED)]


def _is_light(request: Any) -> bool:
    if getattr(request, "explain", False):
        return False
    if not isinstance(request, schema.Query):
        return True
    return is_quick({name: value for name, value in schema.options_given(request).items() if name != "novelty"})


def _too_large(most: int) -> Refusal:
    detail = f"A body has at most {most:,} bytes."
    return Refusal(413, detail, headers={"Connection": "close"}, reason="size")
