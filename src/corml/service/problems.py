"""Errors as `application/problem+json` (RFC 9457): a title, and a sentence that repeats nothing of what was sent."""

import msgspec

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
Headers = list[tuple[bytes, bytes]]


class Problem(msgspec.Struct, kw_only=True):
    """What went wrong, for programs (`status`) and readers (`title`, `detail`)."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"


class Refusal(Exception):
    """A request that is answered with a problem; `reason` is a word for the metrics, if it was turned away unread."""

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
        self.status, self.detail, self.reason = status, detail, reason
        self.title = title or STATUSES[status]
        self.headers = headers or {}

    def answer(self) -> tuple[bytes, Headers]:
        """The problem as JSON, and the headers of the answer."""
        body = msgspec.json.encode(Problem(title=self.title, status=self.status, detail=self.detail))
        extra = [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]
        length = (b"content-length", str(len(body)).encode())
        return body, [(b"content-type", MEDIA_TYPE.encode()), *extra, length]
