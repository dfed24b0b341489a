"""Deadlines and limits of a connection, which uvicorn does not have: slow senders and slow readers are let go."""

from asyncio import TimerHandle, Transport
from typing import Any

from prometheus_client import Counter
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from corml.service.access import Origins
from corml.service.gate import BUSY, Load
from corml.service.metrics import Meter
from corml.service.options import Options
from corml.service.problems import Headers, Refusal

LONGEST_HEAD = 32 << 10  # bytes of the address and headers, and of what follows a body in pieces

_SLOW = Refusal(408, "The request did not arrive in time.")
_LONG = Refusal(413, f"Address and headers have at most {LONGEST_HEAD:,} bytes.")
_NO_HTTP = Refusal(400, "This is not HTTP.", title="Not HTTP")


def protocol(options: Options, meter: Meter, to_do: Load) -> type[HttpToolsProtocol]:
    """The protocol of connections with these limits."""

    class Limited(_Deadlines):
        seconds, most = options.timeout, options.connections
        rejected, load, origins = meter.rejected, to_do, Origins(options.cors)

    return Limited


class _Deadlines(HttpToolsProtocol):
    """A request arrives within a time, its head within a size, and what was answered is read within a time."""

    seconds: float
    most: int
    rejected: Counter
    load: Load
    origins: Origins
    _deadline: TimerHandle | None = None
    _head = 0  # bytes of the address, the headers and the trailers of a request so far
    _unread = 0  # bytes that came and of which the parser has not said what they are
    _in_head = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin, if there are not too many already."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self.rejected.labels("connections").inc()
            transport.abort()
            return
        self._expect_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._met()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, as long as a request is not late, and its head not long."""
        self._unread += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unread > LONGEST_HEAD:  # one line without an end, of a head or between the pieces of a body
            self._turn_away(_LONG, "size")
        elif (
            not self._in_head
            and self.cycle is not None
            and not self.cycle.response_complete
            and not self.cycle.more_body
        ):
            return  # a whole request, that is being answered
        if self._deadline is None and self.timeout_keep_alive_task is None:  # a part of one, or only empty lines
            self._expect_rest()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head, self._head = True, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; a trailer, which comes when the request is already being answered, is counted and forgotten."""
        self._count(len(name) + len(value) + len(": \r\n"))
        if self._in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A part of the body, which its reader counts."""
        self._unread = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._in_head, self._unread = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The whole request is there: its deadline is met."""
        self._unread = 0
        self._met()
        super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        """Begin a request, if there is a place for it; the refusal of the others takes as little as can be."""
        if self.load.admit(cycle.scope):
            super()._start_asgi_task(cycle, app)
            return
        cycle.response_started = cycle.response_complete = True
        more = self.origins.headers(dict(cycle.scope["headers"]))
        self.transport.write(_as_bytes(BUSY, more, close=not cycle.keep_alive))
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, or, if this was the last, for the answer to be read."""
        super().on_response_complete()
        if self.transport.is_closing() and self._deadline is None:
            self._deadline = self.loop.call_later(self.seconds, self.transport.abort)

    def timeout_keep_alive_handler(self) -> None:
        """Close; who has not read the answer by now never will."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        """The same answer as everywhere, to what is no HTTP or was not read to its end."""
        if self._head > LONGEST_HEAD:
            self._turn_away(_LONG, "size")
        else:
            self._write(_NO_HTTP)

    def _count(self, size: int) -> None:
        self._head += size
        self._unread = max(0, self._unread - size)
        if self._head > LONGEST_HEAD:
            raise OverflowError  # the parser stops here, and says that the request is wrong

    def _expect_rest(self) -> None:
        self._deadline = self.loop.call_later(self.seconds, self._late)

    def _met(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self._turn_away(_SLOW, "slow")

    def _turn_away(self, refusal: Refusal, reason: str) -> None:
        self.rejected.labels(reason).inc()
        self._write(refusal)

    def _write(self, refusal: Refusal) -> None:
        self.transport.write(_as_bytes(refusal, [], close=True))
        self.transport.close()


def _as_bytes(refusal: Refusal, more: Headers, *, close: bool) -> bytes:
    body, head = refusal.answer()
    head += [*more, (b"connection", b"close")] if close else more
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in head)
    return STATUS_LINE[refusal.status] + lines + b"\r\n" + body
