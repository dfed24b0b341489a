"""EASE and SLIM against other programs, at equal settings (run: python benchmarks/linear_peers.py [DATA …]).

Each is fitted in a process of its own, with one thread (THREADS below), and evaluated on the test part by the same
ranking. scikit-learn has no SLIM, so its ElasticNet is fitted item by item; LensKit (pip install lenskit) has
both models. What is not installed is left out, and the reason is written down. Writes results/linear/peers.json.
"""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _machine import alone, load_split, measured
from _packages import missing
from _record import begin, write
from _rivals import ItemItem, ndcg
from scipy.sparse import csc_matrix, csr_array, csr_matrix, issparse, vstack

import corml
from corml import models
from corml.recommender import Recommender

THREADS = (
    *("CORML_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("LK_NUM_THREADS", "LK_NUM_BACKEND_THREADS"),
)
PACKAGES = ("scikit-learn", "lenskit", "torch")
SETTINGS: dict[str, dict[str, dict[str, float]]] = {
    "ease": {"movielens-small": {"l2": 300.0}, "pinterest": {"l2": 300.0}},
    "slim": {"movielens-small": {"l1": 1.0, "l2": 100.0}, "pinterest": {"l1": 1.0, "l2": 300.0}},
}


def ours(name: str) -> Callable[..., Any]:
    def fit(train: corml.Interactions, **settings: float) -> Any:
        return models.make(name, settings).fit(train)

    return fit


def numpy_ease(train: corml.Interactions, *, l2: float) -> Any:
    """The lines of the paper."""
    gram = (train.matrix.T @ train.matrix).toarray()
    gram[np.diag_indices_from(gram)] += l2
    P = np.linalg.inv(gram)
    B = P / -np.diag(P)
    B[np.diag_indices_from(B)] = 0
    return B


def sklearn_slim(train: corml.Interactions, *, l1: float, l2: float) -> Any:
    from sklearn.linear_model import ElasticNet

    X, columns, users = csc_matrix(train.matrix), [], len(train.users)
    net = ElasticNet(alpha=(l1 + l2) / users, l1_ratio=l1 / (l1 + l2), positive=True, fit_intercept=False, copy_X=False)
    for item in range(len(train.items)):
        own = slice(X.indptr[item], X.indptr[item + 1])
        target = X[:, [item]].toarray()[:, 0]
        X.data[own] = 0
        columns.append(csr_matrix(net.fit(X, target).coef_.astype(np.float32)))
        X.data[own] = 1
    return csr_array(vstack(columns).T)


def lenskit_ease(data: Any, *, l2: float) -> Any:
    from lenskit.knn.ease import EASEScorer

    model = EASEScorer(regularization=l2)
    model.train(data)
    return model


def lenskit_slim(data: Any, *, l1: float, l2: float) -> Any:
    from lenskit.knn.slim import SLIMScorer
    from lenskit.training import TrainingOptions

    model = SLIMScorer(l1_reg=l1, l2_reg=l2)
    model.train(data, TrainingOptions())
    return model


def lenskit_data(train: corml.Interactions) -> Any:
    import pandas
    from lenskit.data import from_interactions_df

    pairs = {"user_id": train.users.labels[train.user], "item_id": train.items.labels[train.item]}
    return from_interactions_df(pandas.DataFrame(pairs))


def rankable(fitted: Any, train: corml.Interactions) -> Any:
    """What was fitted as something that ranks; LensKit has items in its own order, and only those of the data."""
    if isinstance(fitted, Recommender):
        return fitted
    if not hasattr(fitted, "weights"):
        return ItemItem(train.items, (fitted,))
    position = train.items.find([str(label) for label in fitted.items.ids()])
    move = csr_array(
        (np.ones(len(position), np.float32), (position, np.arange(len(position)))), (len(train.items), len(position))
    )
    moved = move @ fitted.weights @ move.T
    return ItemItem(train.items, (csr_array(moved) if issparse(moved) else moved,))


PEERS: dict[str, dict[str, tuple[Callable[..., Any], str | None]]] = {
    "ease": {
        "corml": (ours("ease"), None),
        "NumPy, inv": (numpy_ease, None),
        "LensKit": (lenskit_ease, "lenskit"),
    },
    "slim": {
        "corml": (ours("slim"), None),
        "scikit-learn, ElasticNet": (sklearn_slim, "scikit-learn"),
        "LensKit": (lenskit_slim, "lenskit"),
    },
}


def measure(name: str, peer: str, data: str) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # what other programs say while they work
    fit, package = PEERS[name][peer]
    split, tiny, settings = load_split(data), corml.load("movielens-small", at_least=4, k_core=20), SETTINGS[name][data]
    ready = lenskit_data if package == "lenskit" else lambda train: train
    fit(ready(tiny), **settings)  # what is compiled or loaded at first use is not timed
    given, record = ready(split.train), {"load before": round(os.getloadavg()[0], 2)}
    with measured(record):
        fitted = fit(given, **settings)
    return record | {"ndcg@10": round(ndcg(rankable(fitted, split.train), split, "test"), 5)}


def main(names: list[str]) -> None:
    os.environ.update(dict.fromkeys(THREADS, "1"))
    begun, measurements = begin(*names, packages=PACKAGES), {}
    for data in names:
        measurements[data] = {}
        for name, peers in PEERS.items():
            results: dict[str, Any] = {"settings": SETTINGS[name][data]}
            measurements[data][name] = results
            for peer, (_, package) in peers.items():
                why = alone(missing, package) if package else None
                results[peer] = {"skipped": why} if why else alone(measure, name, peer, data)
                print(data, name, peer, results[peer], flush=True)
                write("linear/peers", begun, {"data": measurements})


if __name__ == "__main__":
    main(sys.argv[1:] or ["movielens-small", "pinterest"])
