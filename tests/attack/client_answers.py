"""A server that is not ours, or means harm, answering `corml.client`: other values, other bytes, no HTTP, no end."""

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np

from attack import http_requests, mutate
from attack.arena import Unsound
from corml.client import Client
from support import random_interactions

FULL, SHORT = 2_000, 60
PATHS = "/v1/recommend /v1/recommend/batch /v1/why-not /v1/explain /v1/similar /v1/distance /v1/items".split()
HEADS = [
    "Content-Encoding: gzip", "Content-Type: text/html", "Location: http://127.0.0.1:1/", "Retry-After: 99999999999",
    "Retry-After: \u00b2", "Transfer-Encoding: chunked", "Content-Length: 5", "Set-Cookie: \xff", "X: " + "y" * 70_000,
]  # fmt: skip


def prepare(folder: Path) -> dict[str, Any]:
    """True answers of a service, and a line that answers what a case puts there."""
    import corml

    corml.CoRML(rank=3).fit(random_interactions(3, users=20, items=10)).save(folder / "m.corml")
    truth = _answers(folder / "m.corml")
    line = socket.create_server(("127.0.0.1", 0))
    valid = {"truth": truth, "port": line.getsockname()[1], "say": b""}
    threading.Thread(target=_serve, args=(line, valid), daemon=True).start()
    return valid


def _answers(path: Path) -> dict[str, bytes]:
    from corml.service.operations import TABLE
    from corml.service.served import Shelf, load

    shelf = Shelf("m")
    shelf.put(load("m", str(path)))
    found = {}
    for one in TABLE:
        if one.path in PATHS and one.method == "POST":
            request = msgspec.convert(http_requests.BODIES[one.path], one.request)
            found[one.path] = msgspec.json.encode(one.work(shelf, request)) if one.work else b"{}"
    return found


def _serve(line: socket.socket, valid: dict[str, Any]) -> None:
    while True:
        with line.accept()[0] as one:
            try:
                one.settimeout(2)
                one.recv(65536)
                one.sendall(valid["say"])
            except OSError:
                pass


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One answer."""
    path = mutate.choose(rng, PATHS)
    valid["say"] = _made(rng, valid["truth"][path])
    with Client(f"http://127.0.0.1:{valid['port']}", timeout=2.0, retries=0) as service:
        try:
            answer = CALLS[path](service)
        except httpx.HTTPError:
            return 0  # the line, not what came over it
    body = msgspec.json.encode(answer)
    if any(not np.isfinite(number) for number in _numbers(msgspec.to_builtins(answer))):
        raise Unsound(f"an answer is not finite: {body[:300]!r}")
    return 0


CALLS: dict[str, Callable[[Client], Any]] = {
    "/v1/recommend": lambda service: service.recommend(["i0"]),
    "/v1/recommend/batch": lambda service: service.batch([{"history": ["i0"]}]),
    "/v1/why-not": lambda service: service.why_not("i4", ["i0"]),
    "/v1/explain": lambda service: service.explain("i4", ["i0"]),
    "/v1/similar": lambda service: service.similar("i1"),
    "/v1/distance": lambda service: service.distance("i4", ["i0"]),
    "/v1/items": lambda service: service.items(["i0"]),
}


def _made(rng: np.random.Generator, truth: bytes) -> bytes:
    if rng.random() < 0.1:
        return bytes(rng.bytes(int(rng.integers(0, 300))))
    facts = json.loads(truth)
    if rng.random() < 0.7:
        facts = mutate.facts(rng, facts)
    body = json.dumps(facts).encode()
    body = mutate.raw(rng, body, most=2) if rng.random() < 0.3 else body
    status = mutate.choose(
        rng, ["200 OK"] * 4 + ["500 x", "404 \x1b[31m", "302 Found", "99 x", "204 No Content", "600 x"]
    )
    if not status.startswith("200"):
        body = json.dumps({"detail": mutate.choose(rng, mutate.VALUES)}).encode()
    heads = [mutate.choose(rng, HEADS)] if rng.random() < 0.3 else []
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *heads, "", ""]
    whole = "\r\n".join(lines).encode("latin-1", "replace") + body
    return mutate.raw(rng, whole, most=1) if rng.random() < 0.1 else whole


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for one in value.values() for number in _numbers(one)]
    if isinstance(value, list):
        return [number for one in value for number in _numbers(one)]
    return [value] if isinstance(value, float) else []
