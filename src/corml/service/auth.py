"""Who may call: a bearer token, compared in constant time; and how often one address may."""

import hmac
import time
from collections import OrderedDict

from corml.service.operations import ADMIN, PUBLIC
from corml.service.options import Options
from corml.service.problems import Refusal

__all__ = ["Guard"]

FAILURES = 10  # of an address in a minute, after which it is told to wait
MINUTE = 60.0
REMEMBERED = 10_000  # addresses


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
        """Refuse who may not call."""
        if access == PUBLIC:
            return
        accepted = [token for token in (self._token, self._admin) if token is not None]
        if access == ADMIN:
            if not accepted:
                raise Refusal(403, "There is no token, so nobody may do this by HTTP: send the process SIGHUP.")
            accepted = [self._admin or accepted[0]]
        elif self._token is None:
            return
        given = _bearer(authorization)
        fits = [hmac.compare_digest(given, token) for token in accepted]  # all of them, whichever fits
        if not any(fits):
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
        """Refuse an address that calls more often than agreed; a second's worth of calls may come at once."""
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


def _bearer(authorization: bytes | None) -> bytes:
    scheme, _, token = (authorization or b"").partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""
