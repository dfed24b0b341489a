"""A small typed client of `corml serve`.

    with Client("http://127.0.0.1:8000", token="…") as service:
        for item in service.recommend(["318", "858"], k=5).items:
            print(item.rank, item.title, item.score)

Answers are the types of `corml.service.schema`. What the service refuses is a `ServiceError` with its status and
sentence. A request to a busy service (503) is repeated after the time it names, up to `retries` times.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar, Unpack

import httpx
import msgspec

from corml.errors import CormlError, UsageError, ascii_line, printable
from corml.recommend.options import RequestOptions, with_options
from corml.service import schema

__all__ = ["Client", "ServiceError"]

T = TypeVar("T")
BUSY = 503
LONGEST_WAIT = 10.0  # seconds before another try, whatever the service says
LONGEST_ANSWER = 64 << 20  # bytes
LONGEST_DETAIL = 500  # characters of a sentence that is passed on
NOT_OURS = "this is not an answer of corml serve: check the address."


class ServiceError(CormlError):
    """The service refused: `status` is its HTTP status, `detail` its sentence."""

    code = "service"
    exit_code = 3

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"The service answered {status}: {detail}")
        self.status, self.detail = status, detail


class Client:
    """Calls one service; keep it, as it keeps its connections. Options are those of the API, by name."""

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        model: str | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        if token is not None and not re.fullmatch("[!-~]+", token):
            raise UsageError("Invalid token: use printable ASCII characters without spaces.")
        headers = {"Accept-Encoding": "identity"}
        headers |= {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout = timeout
        try:
            self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout, transport=transport)
            sound = self._http.base_url.scheme in ("http", "https") and self._http.base_url.host
        except httpx.InvalidURL:
            sound = False
        if not sound:
            raise UsageError(f"Invalid address {ascii_line(address)}: write one like http://127.0.0.1:8000.")
        self._model, self._retries = {} if model is None else {"model": model}, retries

    @with_options(RequestOptions)
    def recommend(
        self,
        history: Sequence[str] | None = None,
        *,
        user: str | None = None,
        explain: bool = False,
        **options: Unpack[RequestOptions],
    ) -> schema.ListAnswer:
        """The k best items; with `explain`, and what each item of the history adds to their scores."""
        body = {**_whom(history, user), "explain": explain, **_in_json(options)}
        return self._post("/v1/recommend", body, schema.ListAnswer)

    def batch(self, queries: Sequence[Mapping[str, Any]]) -> schema.BatchAnswer:
        """Up to 256 lists; each query has the options of `recommend`, but for `explain`."""
        return self._post("/v1/recommend/batch", {"queries": list(queries)}, schema.BatchAnswer)

    @with_options(RequestOptions)
    def why_not(
        self,
        item: str,
        history: Sequence[str] | None = None,
        *,
        user: str | None = None,
        lifts: int = 5,
        **options: Unpack[RequestOptions],
    ) -> schema.WhyNotAnswer:
        """Where an item stands, which rules keep it out, and which items (`lifts`) would lift it."""
        body = {"item": item, **_whom(history, user), "lifts": lifts, **_in_json(options)}
        return self._post("/v1/why-not", body, schema.WhyNotAnswer)

    def explain(
        self, item: str, history: Sequence[str] | None = None, *, user: str | None = None, **options: Any
    ) -> schema.ExplainAnswer:
        """What each item of the history adds to the score of an item."""
        return self._post("/v1/explain", {"item": item, **_whom(history, user), **options}, schema.ExplainAnswer)

    def similar(self, item: str, **options: Any) -> schema.SimilarAnswer:
        """Items most associated with an item."""
        return self._post("/v1/similar", {"item": item, **options}, schema.SimilarAnswer)

    def distance(
        self, item: str, history: Sequence[str] | None = None, *, user: str | None = None, **options: Any
    ) -> schema.DistanceAnswer:
        """How far an item is from a history."""
        return self._post("/v1/distance", {"item": item, **_whom(history, user), **options}, schema.DistanceAnswer)

    def search(self, text: str, *, limit: int = 10) -> schema.Found:
        """Items by words of their titles, or by their ids."""
        query = {"q": text, "limit": str(limit), **self._model}
        return self._call("GET", "/v1/items", schema.Found, params=query)

    def items(self, ids: Sequence[str]) -> schema.IdsAnswer:
        """Titles and popularity of items by their ids."""
        return self._post("/v1/items", {"items": list(ids)}, schema.IdsAnswer)

    def models(self) -> list[schema.ModelInfo]:
        """The models that are served."""
        return self._call("GET", "/v1/models", schema.Models).models

    def reload(self, *, file: str | None = None) -> schema.Reloaded:
        """Have the model's file read again, or another file of its folder."""
        return self._post("/v1/admin/reload", {} if file is None else {"file": file}, schema.Reloaded)

    def is_ready(self) -> bool:
        """Whether the service can be reached, and answers."""
        try:
            return self._answered("GET", "/readyz")[0].is_success
        except (httpx.HTTPError, ServiceError):
            return False

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _post(self, path: str, body: dict[str, Any], answer: type[T]) -> T:
        content = msgspec.json.encode({**self._model, **body})
        return self._call("POST", path, answer, content=content, headers={"Content-Type": "application/json"})

    def _call(self, method: str, path: str, answer: type[T], **how: Any) -> T:
        for left in range(self._retries, -1, -1):
            response, content = self._answered(method, path, **how)
            if response.status_code != BUSY or not left:
                break
            time.sleep(min(LONGEST_WAIT, _seconds(response.headers.get("retry-after", ""))))
        if not response.is_success:
            raise ServiceError(response.status_code, _detail(response, content))
        try:
            return msgspec.json.decode(content, type=answer)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise ServiceError(response.status_code, NOT_OURS) from None

    def _answered(self, method: str, path: str, **how: Any) -> tuple[httpx.Response, bytes]:
        """An answer and its body, which is not read beyond its bounds: whoever answers may not be our service."""
        content, until = bytearray(), time.monotonic() + self._timeout
        try:
            with self._http.stream(method, path, **how) as response:
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise ServiceError(
                        response.status_code, "the answer is compressed, although the request did not allow it."
                    )
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) > LONGEST_ANSWER:
                        raise ServiceError(response.status_code, f"the answer has more than {LONGEST_ANSWER:,} bytes.")
                    if time.monotonic() > until:
                        raise httpx.ReadTimeout(f"The answer took longer than {self._timeout:g} s.")
        except (httpx.DecodingError, httpx.RemoteProtocolError, UnicodeError, ValueError):
            raise ServiceError(0, NOT_OURS) from None
        return response, bytes(content)


def _whom(history: Sequence[str] | None, user: str | None) -> dict[str, Any]:
    whom: dict[str, Any] = {} if history is None else {"history": list(history)}
    return whom if user is None else {**whom, "user": user}


def _in_json(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a request has them: a range of an attribute is {"from": …, "to": …}."""
    return {name: _ranges(value) if name in ("exclude", "only") else value for name, value in options.items()}


def _ranges(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    ends = ("from", "to")
    ranges = {name: zip(ends, value, strict=True) for name, value in given.items() if isinstance(value, tuple)}
    return {**given, **{name: {end: one for end, one in pairs if one is not None} for name, pairs in ranges.items()}}


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() else 1.0


def _detail(response: httpx.Response, content: bytes) -> str:
    """Why a service refused, in one line, whatever it sent."""
    try:
        detail = json.loads(content)["detail"]
    except (ValueError, KeyError, TypeError, RecursionError):  # not from the service itself: a proxy, say
        detail = response.reason_phrase
    return printable(str(detail)[:LONGEST_DETAIL])
