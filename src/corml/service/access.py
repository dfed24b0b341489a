"""Who may call: tokens, request rates, and pages of other origins.

A browser adds `Origin` to every request of a page except plain reads. Calls of programs have none, and a page of this
service names the host that it was loaded from, which the gate has checked before (DNS rebinding). Tokens are sent by
scripts in a header, never by the browser as credentials, so nothing is allowed for cookies.
"""

import hmac
import time
from collections import OrderedDict

from corml.service.operations import ADMIN, PUBLIC
from corml.service.options import Options
from corml.service.problems import Headers, Refusal

FAILURES = 10  # of an address in a minute, after which it is told to wait
MINUTE = 60.0
REMEMBERED = 10_000  # addresses

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


class Guard:
    """Checks tokens and rates. The answer to a missing and to a wrong token is the same.

    An address with many failures is told to wait; the right token is accepted all the same, or anyone behind the same
    proxy could lock the others out.
    """

    def __init__(self, options: Options) -> None:
        self._token = _bytes(options.token)
        self._admin = _bytes(options.admin_token)
        self._rate = options.rate
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, access: str, authorization: bytes | None, address: str) -> None:
        """Refuse callers without the token that `access` needs."""
        if access == PUBLIC or (access != ADMIN and self._token is None):
            return
        accepted = [token for token in (self._admin, self._token) if token is not None]
        if not accepted:
            raise Refusal(403, "There is no token, so nobody may do this by HTTP: send the process SIGHUP.")
        if access == ADMIN:
            accepted = accepted[:1]
        scheme, _, token = (authorization or b"").partition(b" ")
        given = token.strip() if scheme.lower() == b"bearer" else b""
        if not any([hmac.compare_digest(given, token) for token in accepted]):  # a list: all are compared
            self._fail(address)

    def _fail(self, address: str) -> None:
        now = time.monotonic()
        recent = [moment for moment in self._failures.pop(address, []) if moment > now - MINUTE][-FAILURES:]
        self._failures[address] = [*recent, now]
        if len(self._failures) > REMEMBERED:
            self._failures.popitem(last=False)
        if len(recent) >= FAILURES:
            detail = "Too many calls without the right token."
            raise Refusal(429, detail, title="Too many wrong tokens", headers={"Retry-After": "60"}, reason="failures")
        raise Refusal(401, "Send the header Authorization: Bearer TOKEN.", headers={"WWW-Authenticate": "Bearer"})

    def count(self, address: str) -> None:
        """Refuse an address that calls more often than `rate`; a second's worth of calls may come at once."""
        if self._rate is None:
            return
        now, burst = time.monotonic(), max(1.0, self._rate)
        left, at = self._buckets.pop(address, (burst, now))
        left = min(burst, left + (now - at) * self._rate)
        self._buckets[address] = (left - 1 if left >= 1 else left), now
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        if left < 1:
            raise Refusal(429, "Too many requests: slow down.", headers={"Retry-After": "1"}, reason="rate")


def _bytes(token: str | None) -> bytes | None:
    return None if token is None else token.encode()


class Origins:
    """The origins, such as https://shop.example, whose pages may call as the service's own page does."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self.allowed = frozenset(one.lower().encode() for one in allowed)

    def check(self, method: str, headers: dict[bytes, bytes]) -> Headers | None:
        """Refuse writes by pages of other origins; the headers of the answer if this is a preflight request."""
        origin = headers.get(b"origin")
        if origin is None:
            return None
        if method == "OPTIONS" and b"access-control-request-method" in headers:
            if origin not in self.allowed:
                raise _FOREIGN
            return _PREFLIGHT
        own = origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()
        if not (method in _READS or origin in self.allowed or own):
            raise _FOREIGN
        return None

    def headers(self, headers: dict[bytes, bytes]) -> Headers:
        """Headers of every answer: whether the page may read it, and that this depends on the origin."""
        if not self.allowed:
            return []
        origin = headers.get(b"origin")
        if origin not in self.allowed:
            return [_VARY]
        return [(b"access-control-allow-origin", origin), _EXPOSED, _VARY]
