"""What a model learned from: facts and findings of the data-quality report, popularity, and measured quality."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from corml.data.interactions import Interactions
from corml.models.recommender import Recommender
from corml.service.served import Served, Shelf
from corml.service.studio import schema
from corml.service.studio.atlas import how_known
from corml.service.studio.results import results_beside

if TYPE_CHECKING:
    from corml.data import Report

STEPS = 100  # of the curve


def about_data(shelf: Shelf, request: schema.OfModel) -> schema.Data:
    """Facts and findings about the data of a model, how popularity is spread, and quality that was measured."""
    return data_of(shelf[request.model])


def data_of(served: Served) -> schema.Data:
    """The same of one model; without a data-quality report, the pairs in the model are examined."""
    state = served.model.fitted_
    report = served.report or _examined(served.model)
    results = results_beside(served.path, state)
    return schema.Data(
        **served.names,
        facts=dict(report.facts),
        findings=[schema.Finding(**asdict(finding)) for finding in report.findings],
        known=how_known(state.counts),
        curve=_curve(state.counts),
        source=_shown(state.source),
        evaluation=_shown(state.evaluation),
        evaluations=[msgspec.structs.replace(one, evaluation=_shown(one.evaluation)) for one in results.evaluations],
        studies=results.studies,
        ignored=results.ignored,
    )


def _examined(model: Recommender) -> "Report":
    """The report on the pairs in the model file; a file without histories has only its sizes."""
    from corml.data import Report, examine  # it imports all readers of files

    state = model.fitted_
    pairs = (state.train if len(state.users) else state.train[:0]).tocoo()
    if not len(state.users) or not pairs.nnz:
        return Report([("users", state.train.shape[0]), ("items", len(state.items))], [])
    data = Interactions(
        state.users,
        state.items,
        pairs.row.astype(np.int64),
        pairs.col.astype(np.int64),
        times=state.times,
        titles=state.titles,
        source=state.source,
        weights=state.weights,
    )
    return examine(data)


def _curve(counts: NDArray[np.int64]) -> list[float]:
    """Shares of the interactions, from the most popular item on."""
    sums = np.concatenate([[0.0], np.cumsum(np.sort(counts)[::-1])])
    at = np.linspace(0, len(counts), STEPS + 1)
    return [round(float(share), 5) for share in np.interp(at, np.arange(len(sums)), sums) / max(sums[-1], 1)]


def _shown(value: Any) -> Any:
    """The value as JSON; names of files without their folders."""
    if isinstance(value, dict):
        return {str(name): _shown(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(one) for one in value]
    if isinstance(value, str):
        return value.replace("\\", "/").rsplit("/", 1)[-1] if "/" in value and " " not in value else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, int | float | bool | None) else str(value)
