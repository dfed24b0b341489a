"""What a page needs to run a model by itself: the catalogue, weights as arrays, and what a service would tell about it.

Nothing is approximated: weights are those of the model, in single precision. Of people there are counts only.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu, vstack

from corml.data.ids import Ids
from corml.models.corml.estimator import CoRML, Dial
from corml.models.corml.scoring import NOISE, Scoring
from corml.models.recommender import Recommender
from corml.service.export._weights import rows_of_weights
from corml.service.studio.about_data import data_of
from corml.service.studio.atlas import chart_of, how_known
from corml.service.studio.personas import histories_of

__all__ = ["arrays_and_scoring", "contents"]

Arrays = dict[str, NDArray[Any]]


# --- what scores are made of -----------------------------------------------------------------------------------------


def arrays_and_scoring(model: Recommender) -> tuple[Arrays, dict[str, Any]]:
    """Arrays by name, and what they mean: of CoRML its metric and its filter, of other models one matrix of weights."""
    if isinstance(model, Dial):
        last = len(model.fitted_.settings.item_norms) - 1
        return _metric([model.at(1 - position / last)._scoring for position in range(last + 1)])
    if isinstance(model, CoRML):
        return _metric([model._scoring])
    weights = csr_array(vstack(list(rows_of_weights(model)), format="csr"))
    nothing = {"rank": 0, "filter_norm": 0, "score_factor": 0, "clips": False, "noise": 0}
    arrays: Arrays = {"degrees": np.zeros(0), "vectors": np.zeros(0, dtype=np.float32), **_packed(weights, 0)}
    return arrays, {**nothing, "metric": False, "parts": ["weight"], "positions": [{"item_norm": 0}]}


def _metric(positions: list[Scoring]) -> tuple[Arrays, dict[str, Any]]:
    """H of each position as it was learned, symmetric: what stands above its diagonal is enough. They share V."""
    first = positions[0]
    V = np.asarray(first.V) if first.filters else np.zeros((len(first.d), 0), dtype=np.float32)
    arrays: Arrays = {"degrees": first.d.astype(np.float64), "vectors": V.ravel()}
    for number, one in enumerate(positions):
        arrays |= _packed(csr_array(triu(one.H, format="csr")), number)
    scoring = {
        "metric": True,
        "parts": ["h", "g"],
        "rank": V.shape[1],
        "filter_norm": first.weights.filter_norm,
        "score_factor": first.weights.score_factor,
        "clips": first.filters and first.clips_entries,
        "noise": NOISE if first.filters else 0,
        "positions": [{"item_norm": one.weights.item_norm} for one in positions],
    }
    return arrays, scoring


def _packed(matrix: csr_array, number: int) -> Arrays:
    """Lengths of rows, how far each column is from the one before it in its row, and values."""
    matrix.sort_indices()
    gaps = np.diff(matrix.indices, prepend=0)
    starts = matrix.indptr[:-1][np.diff(matrix.indptr) > 0]
    gaps[starts] = matrix.indices[starts]
    return {
        f"lengths-{number}": np.diff(matrix.indptr).astype(np.uint16),
        f"gaps-{number}": gaps.astype(np.uint16),
        f"values-{number}": matrix.data.astype(np.float32),
    }


# --- what is told ----------------------------------------------------------------------------------------------------


def contents(model: Recommender, name: str, digest: str) -> dict[str, Any]:
    """Everything but arrays, as JSON has it; like the answers of a service, without what only a service can do."""
    chart = chart_of(model)
    return {
        "model": _about(model, name, digest),
        "items": {
            "ids": model.items_.labels.tolist(),
            "titles": [model.titles_.get(label) for label in model.items_.labels],
            "people": model.counts_.tolist(),
        },
        "map": {"known": msgspec.to_builtins(how_known(model.counts_)), **_places(chart)},
        "personas": [] if chart is None else histories_of(chart),
        "data": _data(model, name, digest),
    }


def _about(model: Recommender, name: str, digest: str) -> dict[str, Any]:
    return {
        "name": name,
        "version": digest[:16],
        "digest": digest,
        "kind": model.NAME,
        "items": len(model.items_),
        "users": int(model.train_.shape[0]),
        "novelty": isinstance(model, Dial),
        "explains": True,
        "settings": _plain(dict(model.settings_)),
    }


def _plain(value: Any) -> Any:
    """What JSON makes of a value."""
    return json.loads(json.dumps(value))


def _places(chart: Any) -> dict[str, Any]:
    if chart is None:
        return {"state": "none"}
    points = np.round(chart.points.astype(np.float64), 4)
    return {"state": "ready", "x": points[:, 0].tolist(), "y": points[:, 1].tolist()}


def _data(model: Recommender, name: str, digest: str) -> Mapping[str, Any]:
    """Facts and findings; the doctor may quote ids, so people have numbers here."""
    nameless, state = copy.copy(model), model.fitted_
    nameless.fitted_ = replace(state, users=Ids(range(len(state.users)), kind="user"))
    told: dict[str, Any] = msgspec.to_builtins(data_of(nameless, name, digest[:16]))
    return {key: value for key, value in told.items() if key not in ("model", "model_version")}
