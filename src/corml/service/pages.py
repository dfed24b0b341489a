"""The pages: bundled, compressed and named by their content once, so that a first load is small and a second one empty.

The studio is a few files: its modules are bundled into one script. Pages name their files by content (`?v=…`), and a
file asked for by that name may be kept for ever; everything else is asked for again, and is 304 while it is the same.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import msgspec
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from corml.service.bundle import bundle
from corml.service.compression import Packed, pack
from corml.service.etag import is_named, named
from corml.service.gate import PAGE
from corml.service.openapi import description

__all__ = ["PAGES", "routes"]

PAGES = files("corml.service") / "page"
FILES = {
    "style.css": "text/css; charset=utf-8",
    "theme.js": "text/javascript; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "api.css": "text/css; charset=utf-8",
    "api.js": "text/javascript; charset=utf-8",
    "vendor/LICENSES.txt": "text/plain; charset=utf-8",
}
HTML = "text/html; charset=utf-8"
_LINKED = re.compile(r'(?P<before>(?:src|href)="/?page/)(?P<name>[\w./-]+)"')
_FOR_EVER, _ASK_AGAIN = b"public, max-age=31536000, immutable", b"no-cache"


def routes() -> list[Route]:
    """The description of the API, a page to read and try it, the studio; everything comes from this service."""
    return [Route(path, page, methods=["GET"]) for path, page in _pages()]


@cache
def _pages() -> tuple[tuple[str, "_Page"], ...]:
    return tuple(_made())


def _made() -> Iterator[tuple[str, "_Page"]]:
    contents = {name: bundle(name, _read) if name == "app.js" else _read(name) for name in FILES}
    versions = {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in contents.items()}

    def with_versions(html: str) -> bytes:
        return _LINKED.sub(lambda found: f'{found[1]}{found[2]}?v={versions[found["name"]]}"', html).encode()

    yield "/", _Page(with_versions(_read("index.html")), HTML)
    yield "/docs", _Page(with_versions(_read("api.html")), HTML)
    yield "/openapi.json", _Page(msgspec.json.encode(description()), "application/json")
    for name, text in contents.items():
        yield f"/page/{name}", _Page(text.encode(), FILES[name], versions[name])


def _read(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


class _Page:
    """Content that does not change while the service runs."""

    def __init__(self, content: bytes, kind: str, version: str = "") -> None:
        self.packed: Packed = pack(content)
        self.kind, self.query = kind.encode(), f"v={version}".encode()
        self.name = named(hashlib.sha256(content).hexdigest())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or say that it is still the same."""
        scope["corml"]["route"] = PAGE
        headers = scope["corml"]["headers"]
        kept = _FOR_EVER if scope["query_string"] == self.query else _ASK_AGAIN
        head = [(b"etag", self.name.encode()), (b"cache-control", kept)]
        if is_named(headers.get(b"if-none-match"), self.name):
            await send({"type": "http.response.start", "status": 304, "headers": head})
            await send({"type": "http.response.body", "body": b""})
            return
        content, more = self.packed.chosen(headers.get(b"accept-encoding"))
        head += [(b"content-type", self.kind), *more]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})
