"""The one table of operations: routes, checks, limits, access and the OpenAPI description all come from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from corml.service import handlers, schema
from corml.service.studio import schema as studio
from corml.service.studio.about_data import about_data
from corml.service.studio.atlas import map_of, name_of_map, personas_of

PUBLIC, TOKEN, ADMIN = "public", "token", "admin"  # who may call: anyone; with the token; with the admin's token
OPEN = {"/healthz", "/readyz", "/metrics"}  # answered however busy the service is
ANSWERED = (400, 401, 403, 404, 413, 415, 422, 429, 503, 504)  # problems of any operation with a body
READ = (401, 404, 422, 429, 503, 504)  # of any without one
ANYWHERE = (408, 421, 500)  # and of any operation at all


@dataclass(frozen=True)
class Operation:
    """One row of the table. `work` is called with the models and the checked request.

    An operation without `work` is one of the service itself, and `app` has it under its name.
    """

    name: str
    method: str
    path: str
    request: Any
    answer: Any
    work: Callable[..., Any] | None = None
    access: str = TOKEN
    light: bool = False  # answered at once if the model is quick; the others in a thread, within a time
    large: bool = False  # whether the body may be that of a batch
    name_of: Callable[..., str | None] | None = None  # the ETag of the answer; None while it may still change
    problems: tuple[int, ...] = ANSWERED
    about: str = ""

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return self.about or (self.work.__doc__ or "").strip()


def _post(name: str, path: str, request: Any, answer: Any, work: Any = None, **more: Any) -> Operation:
    return Operation(name, "POST", path, request, answer, work, **more)


def _get(name: str, path: str, request: Any, answer: Any, work: Any = None, **more: Any) -> Operation:
    return Operation(name, "GET", path, request, answer, work, **({"problems": READ} | more))


TABLE = (
    _post("recommend", "/v1/recommend", schema.Recommend, schema.ListAnswer, handlers.recommend, light=True),
    _post("batch", "/v1/recommend/batch", schema.Batch, schema.BatchAnswer, handlers.batch, large=True),
    _post("why_not", "/v1/why-not", schema.WhyNot, schema.WhyNotAnswer, handlers.why_not),
    _post("explain", "/v1/explain", schema.Explain, schema.ExplainAnswer, handlers.explain, light=True),
    _post("similar", "/v1/similar", schema.Similar, schema.SimilarAnswer, handlers.similar, light=True),
    _post("distance", "/v1/distance", schema.Distance, schema.DistanceAnswer, handlers.distance),
    _get("search", "/v1/items", schema.Search, schema.Found, handlers.search),
    _post("items", "/v1/items", schema.Ids, schema.IdsAnswer, handlers.ids, light=True),
    _get("models", "/v1/models", None, schema.Models, handlers.models, name_of=handlers.name_of_models),
    _get("map", "/v1/map", studio.OfModel, studio.MapAnswer, map_of, name_of=name_of_map),
    _get("personas", "/v1/personas", studio.OfModel, studio.Personas, personas_of, name_of=name_of_map),
    _get("data", "/v1/data", studio.OfModel, studio.Data, about_data),
    _get("jobs", "/v1/jobs", None, studio.Jobs, about="Fits of this process: those of `corml studio`."),
    _post(
        *("fit", "/v1/jobs", studio.StartFit, studio.JobInfo),
        problems=(*ANSWERED, 409),
        about="Fit another model on the data that `corml studio` has open, next to the models that are there.",
    ),
    _post(
        *("reload", "/v1/admin/reload", schema.Reload, schema.Reloaded),
        access=ADMIN,
        problems=(*ANSWERED, 409),
        about="Read a model's file again: it is checked and tested first, and replaces the old version in one step.",
    ),
    _get("health", "/healthz", None, schema.Health, access=PUBLIC, problems=(), about="Whether the process is alive."),
    _get(
        *("ready", "/readyz", None, schema.Readiness),
        access=PUBLIC,
        problems=(503,),
        about="Whether models are loaded and tested, and the service is not about to stop.",
    ),
    _get("metrics", "/metrics", None, str, problems=(401, 429), about="Metrics for Prometheus."),
)
