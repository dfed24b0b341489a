"""Pages of other origins: which of them may call, what they are told of it, and that no other page changes anything.

A browser adds `Origin` to every request of a page that is not plain reading. Calls of programs have none, and a page of
this service names the host that it was loaded from. Whether that host is one of ours is checked before (DNS rebinding).
Tokens are sent by scripts in a header, never by the browser as credentials, so nothing is allowed for cookies.
"""

from corml.service.problems import Refusal

__all__ = ["Headers", "Origins"]

Headers = list[tuple[bytes, bytes]]

_VARY = (b"vary", b"origin")
_READS = ("GET", "HEAD", "OPTIONS")
_PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, HEAD, POST"),
    (b"access-control-allow-headers", b"authorization, content-type, if-none-match, traceparent, x-request-id"),
    (b"access-control-max-age", b"600"),
]
_EXPOSED = (b"access-control-expose-headers", b"etag, retry-after, traceparent, x-request-id")
_FOREIGN = Refusal(
    403,
    "Pages of this origin may not call this service: corml serve --cors ORIGIN allows one.",
    title="Origin not allowed",
    reason="origin",
)


class Origins:
    """The origins, such as https://shop.example, whose pages may call as the service's own page does."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self.allowed = frozenset(one.lower().encode() for one in allowed)

    def check(self, method: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a page of another origin whatever might change something."""
        origin = headers.get(b"origin")
        if origin is None or method in _READS or origin in self.allowed:
            return
        if origin.partition(b"://")[2].lower() != headers.get(b"host", b"").lower():
            raise _FOREIGN

    def preflight(self, method: str, headers: dict[bytes, bytes]) -> Headers | None:
        """The answer to a browser that asks what a page may do; None to any other request."""
        if method != "OPTIONS" or b"access-control-request-method" not in headers or b"origin" not in headers:
            return None
        if headers[b"origin"] not in self.allowed:
            raise _FOREIGN
        return _PREFLIGHT

    def told(self, headers: dict[bytes, bytes]) -> Headers:
        """Headers of every answer: whether the page may read it, and that this depends on the origin."""
        if not self.allowed:
            return []
        origin = headers.get(b"origin")
        if origin not in self.allowed:
            return [_VARY]
        return [(b"access-control-allow-origin", origin), _EXPOSED, _VARY]
