"""Requests to a running service: bodies with other values, other bytes, and lines that are no HTTP.

A service must answer below 500 (or 503, 504 where it says that it is busy), or close the line; it must live, with the
memory it had, and no answer may hold a number that is not finite.
"""

import atexit
import json
import re
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import corml
from attack import mutate
from attack.arena import Unsound
from corml.service.operations import TABLE
from serving import Program
from support import random_interactions

FULL, SHORT = 20_000, 150
GROWTH = 20 << 20  # bytes that the service may take more in the end
HISTORY = ["i0", "i1", "i2"]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/recommend": {"history": HISTORY, "k": 3, "exclude": ["i3"], "diversity": 0.2, "boost": {"i1": 1.5}},
    "/v1/recommend/batch": {"queries": [{"history": HISTORY, "k": 3}, {"user": "u1"}]},
    "/v1/why-not": {"history": HISTORY, "item": "i4", "k": 3},
    "/v1/explain": {"history": HISTORY, "item": "i4"},
    "/v1/similar": {"item": "i1", "k": 4},
    "/v1/distance": {"history": HISTORY, "item": "i4", "part": "h"},
    "/v1/items": {"items": HISTORY},
    "/v1/jobs": {"model": "popularity"},
    "/v1/admin/reload": {"model": "m", "file": "m.corml"},
}
READS = (
    "/v1/items?q=i1&limit=3 /v1/models /v1/map /v1/personas /v1/data /v1/jobs /healthz /readyz /metrics / /docs "
    "/openapi.json /v1/jobs/1/events /../../etc/passwd /static/%2e%2e/x /v1/%00 /v1/models/m"
).split()
FORMS = {f"{one.method} {one.path}".encode(): one.answer for one in TABLE if one.path not in ("/metrics", "/v1/jobs")}
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "\x00", "X" * 300]
HEADERS = [
    "Content-Type: application/json", "Content-Type: text/plain", "Content-Encoding: gzip", "Expect: 100-continue",
    "Transfer-Encoding: chunked", "Content-Length: 99999999999", "Content-Length: -1", "Content-Length: 0",
    "Host: evil", "Authorization: Bearer x", "Range: bytes=0-1,2-3,4-5", "If-None-Match: *", "Connection: close",
    "Connection: upgrade", "Upgrade: websocket",
    "X: " + "y" * 9000, "\x00: 1", "Accept-Encoding: br, gzip;q=0", "Cookie: \xff", "Host:",
]  # fmt: skip


def prepare(folder: Path) -> dict[str, Any]:
    """A service with a small model, which ends with this process."""
    aside = Path(tempfile.mkdtemp())
    corml.CoRML(rank=4).fit(random_interactions(3, users=30, items=16)).save(aside / "m.corml")
    service = Program(aside / "log", f"m={aside / 'm.corml'}")
    atexit.register(lambda: (service.stop(), shutil.rmtree(aside, ignore_errors=True)))
    return {"service": service, "aside": aside}


def warm(valid: dict[str, Any], folder: Path) -> None:
    service = valid["service"]
    for path, body in BODIES.items():
        send(service.port, request("POST", path, json.dumps(body).encode()))
    for path in READS:
        send(service.port, request("GET", path))
    valid["pids"] = service.workers()
    valid["before"] = {pid: service.memory(pid) for pid in valid["pids"]}


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One request, and a word with the service after it."""
    service = valid["service"]
    data = made(rng)
    check(send(service.port, data), data)
    if rng.random() < 0.02:
        alive = send(service.port, request("GET", "/healthz"))
        if b"alive" not in alive:
            raise Unsound(f"the service is not alive: {alive[:200]!r}")
        left_out = re.search(rb"\ncorml_nonfinite_total (\S+)", send(service.port, request("GET", "/metrics")))
        if left_out is None or float(left_out[1]) > 0:
            raise Unsound("scores that are no numbers were left out of lists")
        if service.workers() != valid["pids"]:
            raise Unsound("a process of the service was started anew")
        for pid, before in valid["before"].items():
            if (grown := service.memory(pid) - before) > GROWTH:
                raise Unsound(f"the service took {grown / 2**20:.0f} MiB more")
    return 0


def made(rng: np.random.Generator) -> bytes:
    """One request."""
    kind = int(rng.integers(10))
    if kind == 0:
        return bytes(rng.bytes(int(rng.integers(1, 300))))
    path = mutate.choose(rng, [*BODIES, *READS] if kind < 4 else BODIES)
    body: Any = BODIES.get(path, {})
    for _ in range(int(rng.integers(1, 3))):
        body = mutate.facts(rng, body)
    data = json.dumps(body).encode()
    data = mutate.raw(rng, data, most=2) if rng.random() < 0.3 else data
    method = "POST" if rng.random() < 0.9 and path in BODIES else mutate.choose(rng, METHODS)
    if rng.random() < 0.1:
        path = mutate.raw(rng, path.encode(), most=1).decode("latin-1")
    more = [mutate.choose(rng, HEADERS) for _ in range(int(rng.integers(0, 3)))] if rng.random() < 0.25 else []
    whole = request(method, path, data, more)
    return mutate.raw(rng, whole, most=2) if rng.random() < 0.1 else whole


def request(method: str, path: str, body: bytes = b"", more: list[str] | None = None) -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"] if body or method == "POST" else []
    return "\r\n".join([*lines, *(more or []), "", ""]).encode("latin-1", "replace") + body


def send(port: int, data: bytes) -> bytes:
    """What comes back, until the line is closed; half a request is closed by us, as a client that dies would."""
    with socket.create_connection(("127.0.0.1", port), timeout=15) as line:
        try:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            answer = b""
            while part := line.recv(65536):
                answer += part
            return answer
        except (ConnectionResetError, BrokenPipeError):
            return b""


def check(answer: bytes, asked: bytes) -> None:
    """Refuse an answer that is none, or has not the form that is promised: what is no number would be null in it."""
    if not answer:
        return
    found = re.match(rb"HTTP/1\.1 (\d{3})", answer)
    if not found:
        raise Unsound(f"no answer of HTTP: {answer[:200]!r}")
    if int(found[1]) >= 500 and int(found[1]) not in (503, 504, 501, 505):
        raise Unsound(f"answered {answer[:600]!r}")
    body = answer.partition(b"\r\n\r\n")[2]
    form = FORMS.get(b" ".join(asked.partition(b"?")[0].split(b" ", 2)[:2]))
    if int(found[1]) == 200 and form is not None:
        try:
            msgspec.json.decode(body, type=form)
        except msgspec.MsgspecError as fault:
            raise Unsound(f"an answer of another form: {fault}: {body[:300]!r}") from None
    if b"Traceback" in answer:
        raise Unsound(f"a traceback is answered: {answer[:600]!r}")
