"""One operation behind its path: read the body within limits, check the token, then the request, then do the work."""

import asyncio
import inspect
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from corml._runtime.values import whole_number
from corml.recommend.pipeline import is_quick
from corml.service import schema
from corml.service.access import Guard
from corml.service.caching import Packed, is_named, pack
from corml.service.gate import Load, address_of, respond
from corml.service.logs import Log
from corml.service.metrics import Meter
from corml.service.operations import Operation
from corml.service.options import Options
from corml.service.parsing import from_json, from_query
from corml.service.problems import Headers, Refusal
from corml.service.served import Shelf

JSON, TEXT = b"application/json", b"text/plain; version=0.0.4; charset=utf-8"
MOST_KEPT = 8  # answers of an operation whose bytes are kept
AT_ONCE = 32  # lists made in one round of the event loop
_encode_text = msgspec.json.Encoder().encode


class Turns:
    """Lists are made in the event loop, a few in each round, so that it accepts new calls between them.

    First come, first served; a call that gets no turn in a round waits for the next one.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self.at_once = self._free = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._scheduled = False

    async def take(self) -> None:
        """Wait for a turn; while there are few calls, there is nothing to wait for."""
        loop = asyncio.get_running_loop()
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._next_round)
        if self._free and not self._waiting:
            self._free -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_round(self) -> None:
        self._free = self.at_once
        while self._waiting and self._free:
            turn = self._waiting.popleft()
            if not turn.done():  # or the caller has gone
                turn.set_result(None)
                self._free -= 1
        self._scheduled = bool(self._waiting)
        if self._scheduled:
            asyncio.get_running_loop().call_soon(self._next_round)


@dataclass
class Service:
    """Everything that the requests of one process share."""

    options: Options
    shelf: Shelf
    log: Log
    reload: Callable[[str, str | None], Awaitable[bool]]  # name, file: whether the version changed
    jobs: Any = None  # a studio.jobs.Jobs: fits of this process; a plain service has none
    workers: int = 1  # threads for work that takes longer
    own: dict[str, Callable[[Any], Any]] = field(default_factory=dict)  # operations of the service itself
    turns: Turns = field(default_factory=Turns)

    def __post_init__(self) -> None:
        self.guard, self.load, self.meter = Guard(self.options), Load(self.options.in_flight), Meter()
        self.pool = ThreadPoolExecutor(max(self.workers, self.options.threads), thread_name_prefix="work")


class Endpoint:
    """An ASGI application for one operation."""

    def __init__(self, operation: Operation, service: Service) -> None:
        self.operation, self.service = operation, service
        self.most = service.options.batch_body if operation.large else service.options.body
        self.decoder = None if operation.request is None else msgspec.json.Decoder(operation.request)
        self.kept: dict[str, Packed] = {}  # by ETag: what is compressed once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        facts, headers = scope["corml"], scope["corml"]["headers"]
        facts["route"] = self.operation.name
        body = await self._body(headers, receive) if scope["method"] == "POST" else b""
        self.service.guard.check(self.operation.access, headers.get(b"authorization"), address_of(scope))
        facts["received"] = len(body)
        request = self._request(scope, headers, body)
        asked = self.service.shelf.find(request.model) if hasattr(request, "model") else None
        facts["model"] = None if asked is None else asked.name
        name = self._name(request)
        if name is not None and is_named(headers.get(b"if-none-match"), name):
            await respond(send, 304, b"", _kept(name))
            return
        packed = None if name is None else self.kept.get(name)
        if packed is None:
            packed, name = await self._made(request, name)
        facts["model_version"] = packed.model_version
        content, more = packed.chosen(headers.get(b"accept-encoding"))
        kind = TEXT if self.operation.answer is str else JSON
        head = [(b"content-type", kind), *more, *_kept(name)]
        await respond(send, 200, b"" if scope["method"] == "HEAD" else content, head)

    async def _made(self, request: Any, name: str | None) -> tuple[Packed, str | None]:
        """The answer, and the name under which it is kept from now on."""
        answer = await self._answer(request)
        if isinstance(answer, bytes):
            return Packed(answer), None
        self._count([answer] if isinstance(answer, schema.OneList) else getattr(answer, "lists", ()))
        version = getattr(answer, "model_version", None)
        content = _encode(answer)
        if name is None or name != self._name(request):  # a reload came in between
            return Packed(content, model_version=version), None
        packed = await asyncio.get_running_loop().run_in_executor(self.service.pool, pack, content, version)
        self.kept = dict([*self.kept.items(), (name, packed)][-MOST_KEPT:])
        return packed, name

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """The body, counted while it comes in: too much of it is not read to the end."""
        declared = headers.get(b"content-length", b"0")
        size = whole_number(declared.decode("latin-1"))
        if size is None or size > self.most:
            raise _too_large(self.most)
        if declared == b"0" and b"transfer-encoding" not in headers:
            return b""
        body, more = b"", True
        while more:
            message = await self._receive(receive)
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body, more = body + message.get("body", b""), message.get("more_body", False)
            if len(body) > self.most:
                raise _too_large(self.most)
        return body

    async def _receive(self, receive: Receive) -> Message:
        """The next piece; a request that waits for it is not in flight, and the connection has a deadline for it."""
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

    def _name(self, request: Any) -> str | None:
        """The ETag of the answer, if it has one."""
        name_of = self.operation.name_of
        return None if name_of is None else name_of(self.service.shelf, request)

    async def _answer(self, request: Any) -> Any:
        work, service = self.operation.work, self.service
        if work is None:
            answer = service.own[self.operation.name](request)
            return await answer if inspect.isawaitable(answer) else answer
        if self.operation.light and _is_light(request) and service.shelf[request.model].quick:
            await service.turns.take()
            return work(service.shelf, request)
        future = asyncio.get_running_loop().run_in_executor(service.pool, work, service.shelf, request)
        try:
            return await asyncio.wait_for(future, service.options.timeout)
        except TimeoutError:
            raise Refusal(504, "The answer took too long: ask for less.", reason="timeout") from None

    def _count(self, lists: Iterable[schema.OneList]) -> None:
        """Count what is worth counting in lists; a score that is not finite never leaves the service."""
        meter = self.service.meter
        for one in lists:
            if one.source == "fallback":
                meter.fallback.inc()
            if one.unknown is not msgspec.UNSET:
                meter.unknown.inc(len(one.unknown))
            finite = [item for item in one.items if math.isfinite(item.score)]
            if len(finite) < len(one.items):
                meter.nonfinite.inc(len(one.items) - len(finite))
                one.items, one.reason = finite, "scores that are not finite were left out"


def _encode(answer: object) -> bytes:
    """The answer as JSON; half of a surrogate pair, as in a damaged title, is replaced, because UTF-8 has none."""
    try:
        return _encode_text(answer)
    except UnicodeEncodeError:
        return _encode_text(_replaced(msgspec.to_builtins(answer)))


def _replaced(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_replaced(name): _replaced(one) for name, one in value.items()}
    return [_replaced(one) for one in value] if isinstance(value, list) else value


def _kept(name: str | None) -> Headers:
    """Headers that say for how long an answer may be kept."""
    if name is None:
        return [(b"cache-control", b"no-store")]
    return [(b"etag", name.encode()), (b"cache-control", b"private, no-cache")]


def _is_light(request: object) -> bool:
    if getattr(request, "explain", False):
        return False
    if not isinstance(request, schema.Query):
        return True
    return is_quick({name: value for name, value in schema.options_given(request).items() if name != "novelty"})


def _too_large(most: int) -> Refusal:
    detail = f"A body has at most {most:,} bytes."
    return Refusal(413, detail, headers={"Connection": "close"}, reason="size")
