"""The application: routes from the table of operations, the pages, and the gate around them.

The studio is a few files: its modules are bundled into one script. Pages name their files by content (`?v=…`), and a
file asked for by that name may be kept for ever; everything else is asked for again, and is 304 while it is the same.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import msgspec
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from corml.service import schema
from corml.service.bundle import bundle
from corml.service.caching import is_named, named, pack
from corml.service.endpoint import Endpoint, Service
from corml.service.gate import NOTHING_HERE, PAGE, Gate, respond
from corml.service.openapi import description
from corml.service.operations import TABLE
from corml.service.problems import Refusal
from corml.service.served import LOADING
from corml.service.studio import jobs

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


def application(service: Service) -> Gate:
    """An ASGI application that answers with the models of a service."""
    service.own |= {
        "health": lambda _: schema.Health(),
        "ready": lambda _: _ready(service),
        "metrics": lambda _: service.meter.text(service.shelf.all(), service.load.admitted),
        "reload": lambda request: _reload(service, request),
        "jobs": lambda _: jobs.listed(service.jobs),
        "fit": lambda request: jobs.start(service.jobs, request),
    }
    by_path: dict[str, dict[str, ASGIApp]] = {}
    for one in TABLE:
        by_path.setdefault(one.path, {})[one.method] = Endpoint(one, service)
    for methods in by_path.values():
        if "GET" in methods:
            methods["HEAD"] = methods["GET"]
    routes = [Route(path, _ByMethod(methods), methods=list(methods)) for path, methods in by_path.items()]
    routes.append(Route("/v1/jobs/{number}/events", jobs.Events(service), methods=["GET"]))
    if service.options.docs:
        routes += [Route(path, page, methods=["GET"]) for path, page in _pages()]
    router = Router(routes, redirect_slashes=False, default=_nothing)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        """Find operations by path and method at once; the router, which compares patterns, is for everything else."""
        endpoint = by_path.get(scope.get("path", ""), {}).get(scope.get("method", ""), router)
        await endpoint(scope, receive, send)

    return Gate(app, service.options, service.guard, service.load, service.meter, service.log)


class _ByMethod:
    """The operations of one path."""

    def __init__(self, endpoints: dict[str, ASGIApp]) -> None:
        self.endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.endpoints[scope["method"]](scope, receive, send)


def _ready(service: Service) -> schema.Readiness:
    served = service.shelf.all()
    if service.load.draining:
        raise Refusal(503, "The service is about to stop.", title="Stopping", headers={"Retry-After": "1"})
    if not served.keys() >= service.options.models.keys():
        raise Refusal(503, LOADING, title="Not ready", headers={"Retry-After": "1"})
    return schema.Readiness(models={name: one.version for name, one in served.items()})


async def _reload(service: Service, request: schema.Reload) -> schema.Reloaded:
    name = service.shelf[request.model].name
    changed = await service.reload(name, request.file if isinstance(request.file, str) else None)
    return schema.Reloaded(**service.shelf[name].names, changed=changed)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        raise NOTHING_HERE


# --- pages -----------------------------------------------------------------------------------------------------------


@cache
def _pages() -> tuple[tuple[str, "_Page"], ...]:
    """The description of the API, a page to read and try it, the studio; everything comes from this service."""
    return tuple(_made())


def _made() -> Iterator[tuple[str, "_Page"]]:
    contents = {name: bundle(name, _read) if name == "app.js" else _read(name) for name in FILES}
    versions = {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in contents.items()}

    def with_versions(html: str) -> bytes:
        return _LINKED.sub(lambda link: f'{link[1]}{link[2]}?v={versions[link["name"]]}"', html).encode()

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
        self.packed = pack(content)
        self.kind, self.query = kind.encode(), f"v={version}".encode()
        self.name = named(hashlib.sha256(content).hexdigest())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or answer that it is still the same."""
        scope["corml"]["route"] = PAGE
        headers = scope["corml"]["headers"]
        kept = _FOR_EVER if scope["query_string"] == self.query else _ASK_AGAIN
        head = [(b"etag", self.name.encode()), (b"cache-control", kept)]
        if is_named(headers.get(b"if-none-match"), self.name):
            await respond(send, 304, b"", head)
            return
        content, more = self.packed.chosen(headers.get(b"accept-encoding"))
        head += [(b"content-type", self.kind), *more]
        await respond(send, 200, b"" if scope["method"] == "HEAD" else content, head)
