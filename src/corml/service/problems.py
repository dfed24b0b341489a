"""Errors as `application/problem+json` (RFC 9457): a title, and a sentence that repeats nothing of what was sent."""

from typing import Any

import msgspec

__all__ = ["MEDIA_TYPE", "STATUSES", "Problem", "Refusal"]

MEDIA_TYPE = "application/problem+json"
STATUSES = {  # titles that hold for every problem of a status; a refusal may have one of its own
    400: "Bad request",
    401: "Token missing or wrong",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request too slow",
    409: "Already under way",
    413: "Too large",
    415: "Not plain JSON",
    421: "Wrong host",
    422: "Cannot be answered",
    429: "Too many requests",
    500: "Error in the service",
    503: "Not available now",
    504: "Took too long",
}


class Problem(msgspec.Struct, kw_only=True):
    """What went wrong, for programs (`status`) and people (`title`, `detail`)."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"


class Refusal(Exception):
    """A request that is answered with a problem."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        title: str | None = None,
        headers: dict[str, str] | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}
        self.title = title or STATUSES[status]
        self.reason = reason  # a word for the metrics, where the request was turned away unread

    def body(self) -> bytes:
        """The problem as JSON."""
        problem = Problem(title=self.title, status=self.status, detail=self.detail)
        return msgspec.json.encode(problem)

    def asgi_headers(self) -> list[tuple[bytes, bytes]]:
        """Headers of the answer."""
        extra: list[Any] = [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]
        return [(b"content-type", MEDIA_TYPE.encode()), *extra]
