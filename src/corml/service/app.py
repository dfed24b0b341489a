"""The application: routes from the table of operations, the pages, and the gate around them."""

from typing import Any

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from corml.service import pages, schema
from corml.service.endpoint import Endpoint, Service
from corml.service.gate import Gate
from corml.service.operations import TABLE
from corml.service.problems import Refusal
from corml.service.served import LOADING
from corml.service.studio import jobs

__all__ = ["application"]


def application(service: Service) -> Gate:
    """An ASGI application that answers by the models of a service."""
    service.own |= {
        "health": lambda _: schema.Health(),
        "ready": lambda _: _ready(service),
        "metrics": lambda _: service.meter.text(service.shelf.all(), service.load.admitted),
        "reload": lambda request: _reload(service, request),
        "jobs": lambda _: jobs.listed(service.jobs),
        "fit": lambda request: jobs.start(service.jobs, request),
    }
    by_path: dict[str, dict[str, Endpoint]] = {}
    for one in TABLE:
        by_path.setdefault(one.path, {})[one.method] = Endpoint(one, service)
    routes: list[Any] = [Route(path, _ByMethod(those), methods=list(those)) for path, those in by_path.items()]
    routes.append(Route("/v1/jobs/{number}/events", jobs.Events(service), methods=["GET"]))
    if service.options.docs:
        routes += pages.routes()
    router = Router(routes, redirect_slashes=False, default=_nothing)
    exact = {(method, path): one for path, those in by_path.items() for method, one in those.items()}
    return Gate(_Exact(exact, router), service.options, service.guard, service.load, service.meter, service.log)


class _Exact:
    """Operations are found by method and path at once; the patterns of a router are for everything else."""

    def __init__(self, endpoints: dict[tuple[str, str], Endpoint], router: Router) -> None:
        self.endpoints, self.router = endpoints, router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self.endpoints.get((scope.get("method", ""), scope.get("path", "")))
        await (self.router if found is None else found)(scope, receive, send)


class _ByMethod:
    """Operations of one path."""

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        self.endpoints = endpoints | ({"HEAD": endpoints["GET"]} if "GET" in endpoints else {})

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
    served = service.shelf[name]
    return schema.Reloaded(model=name, model_version=served.version, changed=changed)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        raise Refusal(404, "There is nothing at this path: GET /openapi.json lists what there is.")
