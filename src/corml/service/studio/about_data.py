"""What a model learned from: the doctor's facts and findings, how popularity is spread, and what was measured."""

from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from corml.data.interactions import Interactions
from corml.models.recommender import Recommender
from corml.service.served import Shelf
from corml.service.studio import schema
from corml.service.studio.atlas import how_known
from corml.service.studio.beside import beside

__all__ = ["about_data", "data_of"]

STEPS = 100  # of the curve


def about_data(shelf: Shelf, request: schema.OfModel) -> schema.Data:
    """Facts and findings about the data of a model, how popularity is spread, and quality that was measured."""
    served = shelf[request.model]
    return data_of(served.model, served.name, served.version, served.report, served.path)


def data_of(model: Recommender, name: str, version: str, report: Any = None, path: str = "") -> schema.Data:
    """The same of a model by itself; without a report of the doctor, the pairs in the model are examined.

    Results are looked for beside `path`, where the model's file lies.
    """
    state = model.fitted_
    report = report or _examined(model)
    found = beside(path, state)
    return schema.Data(
        model=name,
        model_version=version,
        facts=dict(report.facts),
        findings=[schema.Finding(**asdict(finding)) for finding in report.findings],
        known=how_known(state.counts),
        curve=_curve(state.counts),
        source=_plain(state.source),
        evaluation=_plain(state.evaluation),
        evaluations=[msgspec.structs.replace(one, evaluation=_plain(one.evaluation)) for one in found.evaluations],
        studies=found.studies,
        ignored=found.ignored,
    )


def _examined(model: Recommender) -> Any:
    """By the pairs in the model file; one without histories has only its sizes."""
    from corml.data import Report, examine  # with all that reads files: only where somebody asks

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
    """Shares of the interactions, from the best known item on."""
    sums = np.concatenate([[0.0], np.cumsum(np.sort(counts)[::-1])])
    at = np.linspace(0, len(counts), STEPS + 1)
    return [round(float(share), 5) for share in np.interp(at, np.arange(len(sums)), sums) / max(sums[-1], 1)]


def _plain(value: Any) -> Any:
    """As JSON has it; the name of a file without the folders it was in."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return value.replace("\\", "/").rsplit("/", 1)[-1] if "/" in value and " " not in value else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, int | float | bool | None) else str(value)
