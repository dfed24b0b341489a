"""The contents of a page that runs a model by itself: exact weights as arrays, and precomputed answers of the studio.

Of users there are counts only.
"""

import copy
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from corml.data.ids import Ids
from corml.models.corml.estimator import CoRML
from corml.models.corml.scoring import NOISE
from corml.models.recommender import Recommender
from corml.service.export._weights import rows_of_weights
from corml.service.handlers import about
from corml.service.served import Served
from corml.service.studio.about_data import data_of
from corml.service.studio.atlas import State, chart_of, map_answer, personas_answer

Arrays = dict[str, NDArray[np.generic]]


def arrays_and_scoring(model: Recommender) -> tuple[Arrays, dict[str, object]]:
    """Arrays by name, and what they mean.

    Every model has one matrix of weights for each operating point. That of CoRML holds H alone, because G is the
    product of two factors, which all operating points share.
    """
    last = len(model.fitted_.settings.item_norms) - 1 if hasattr(model, "at") else 0
    points = [model.at(1 - point / last) for point in range(last + 1)] if hasattr(model, "at") else [model]
    factored = [point._scoring for point in points if isinstance(point, CoRML) and not point._scoring.clips_entries]
    if factored:
        matrices = [one.H_scaled for one in factored]
        rank = None if factored[0].filters else 0
        left, right = factored[0].left[:, :rank], factored[0].right[:, :rank]
    else:
        matrices = [csr_array(vstack(list(rows_of_weights(point)), format="csr")) for point in points]
        left = right = np.zeros((len(model.items_), 0), dtype=np.float32)
    arrays: Arrays = {"left": left.ravel(), "right": right.ravel()}
    for number, matrix in enumerate(matrices):
        arrays |= {
            f"starts-{number}": matrix.indptr.astype(np.uint32),
            f"columns-{number}": matrix.indices.astype(np.uint16),
            f"values-{number}": matrix.data.astype(np.float32),
        }
    noise = NOISE if left.size else 0
    parts = ["h", "g"] if factored else ["weight"]
    return arrays, {"points": len(points), "rank": left.shape[1], "noise": noise, "parts": parts}


def contents(model: Recommender, name: str, digest: str) -> dict[str, object]:
    """Everything but arrays, as JSON: the answers of a service to what the studio asks once."""
    chart = chart_of(model)
    state: State = "none" if chart is None else "ready"
    served = Served(name, model, digest)
    nameless = copy.copy(model)  # a finding may quote ids of users, so they are numbers there
    nameless.fitted_ = replace(model.fitted_, users=Ids(range(len(model.fitted_.users)), kind="user"))
    answers = {
        "model": about(served, default=True),
        "map": map_answer(served, state, chart),
        "personas": personas_answer(served, state, chart),
        "data": data_of(replace(served, model=nameless)),
    }
    answered: dict[str, dict[str, object]] = msgspec.to_builtins(answers)
    del answered["model"]["loaded"]  # equal exports are byte-identical
    return {**answered, "ids": model.items_.labels.tolist()}
