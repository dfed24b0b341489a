"""Other models, as benchmarks/rivals.py fits them.

Each is a generator: it takes the training data and settings and yields a fitted model, or several, each a continuation
of the one before. What happens between two yields is the cost of a fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_array, csr_matrix, issparse, vstack
from threadpoolctl import threadpool_limits

import corml
from corml._runtime.parallel import threads
from corml.data.ids import Ids
from corml.evaluation import evaluate_lists
from corml.linalg.products import add_sparse_product
from corml.linalg.spd import spd_inverse
from corml.recommend.score import band_of

ITERATIONS = (1, 2, 4, 8, 16)


def corml_(train: corml.Interactions) -> Iterator[Any]:
    """CoRML with everything at its default."""
    yield corml.CoRML().fit(train)


def popularity(train: corml.Interactions) -> Iterator[Any]:
    """Items by their number of users."""
    yield corml.Popularity().fit(train)


def als(train: corml.Interactions, **settings: Any) -> Iterator["Factors"]:
    """Alternating least squares of implicit, with one thread of BLAS as its documentation asks for."""
    from implicit.als import AlternatingLeastSquares

    done, known = 0, csr_matrix(train.matrix)
    with threadpool_limits(1, user_api="blas"):
        model = AlternatingLeastSquares(num_threads=threads(), random_state=0, **settings)
        for count in ITERATIONS:
            model.iterations, done = count - done, count  # its fit goes on from the factors it has
            model.fit(known, show_progress=False)
            yield Factors(model)


def ease(train: corml.Interactions, *, l2: float) -> Iterator["ItemItem"]:
    """Ridge regression of each item on all others, in closed form (Steck, WWW 2019)."""
    gram = (train.matrix.T @ train.matrix).toarray(order="C")
    gram[np.diag_indices_from(gram)] += l2
    weights = spd_inverse(gram)  # in place, by LAPACK's Cholesky: half the work of a general inverse
    weights /= -np.diag(weights).copy()
    np.fill_diagonal(weights, 0)
    yield ItemItem(train.items, (weights,))


def slim(train: corml.Interactions, *, strength: float, items: Any = None) -> Iterator["ItemItem"]:
    """Non-negative elastic nets of scikit-learn, one for each item on all others (Ning and Karypis, ICDM 2011).

    `strength` is for the sum over users that the paper writes, of which scikit-learn takes the mean.
    """
    from sklearn.linear_model import ElasticNet

    alpha, X, columns = strength / len(train.users), csc_matrix(train.matrix), []
    net = ElasticNet(alpha=alpha, l1_ratio=0.01, positive=True, fit_intercept=False, copy_X=False, tol=1e-3)
    for item in range(len(train.items)) if items is None else items:
        own = slice(X.indptr[item], X.indptr[item + 1])
        target = X[:, [item]].toarray()[:, 0]
        X.data[own] = 0
        columns.append(csr_matrix(net.fit(X, target).coef_.astype(np.float32)))
        X.data[own] = 1
    yield ItemItem(train.items, (csr_array(vstack(columns).T),))


def sansa(train: corml.Interactions, *, l2: float, density: float, factorizer: str) -> Iterator["ItemItem"]:
    """EASE with a sparse approximation of the inverse (Spišák and others, RecSys 2023)."""
    import sansa as s

    kinds = {"icf": s.ICFGramianFactorizerConfig, "cholmod": s.CHOLMODGramianFactorizerConfig}
    inverter = s.UMRUnitLowerTriangleInverterConfig(scans=1, finetune_steps=5)
    model = s.SANSA(s.SANSAConfig(l2, density, kinds[factorizer](), inverter))
    yield ItemItem(train.items, tuple(map(csr_array, model.fit(csr_matrix(train.matrix)).weights)))


# --- how they answer -------------------------------------------------------------------------------------------------


def ndcg(model: Any, split: corml.Split, part: str) -> float:
    """NDCG@10 of the lists for everyone, with the catalogue ranked whole."""
    options: Any = {"metrics": "ndcg@10", "part": part, "intervals": False}
    if isinstance(model, Factors):
        return float(evaluate_lists(model.lists(split, part), split, **options)["ndcg@10"])
    return float(corml.evaluate(model, split, **options)["ndcg@10"])


@dataclass
class ItemItem:
    """Scores are a history times one matrix, or several one after the other."""

    items: Any
    weights: tuple[Any, ...]
    users_: Ids = field(default_factory=lambda: Ids([], kind="user"))
    NAME = "item-item"

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """Whole rows."""
        return band_of(*X.shape)

    def _represent(self, X: csr_array, users: Any) -> csr_array:
        """Users are their histories."""
        return X

    def score_block(self, X: csr_array, columns: slice) -> Any:
        """Scores of histories for all items."""
        *first, last = self.weights
        for one in first:
            X = csr_array(X @ one)
        if not issparse(last):
            return X @ last
        out = np.zeros((X.shape[0], last.shape[1]), dtype=np.float32)
        add_sparse_product(X, last, out)
        return out


@dataclass
class Factors:
    """A model of implicit, which knows users by their number."""

    model: Any

    def lists(self, split: corml.Split, part: str) -> dict[str, list[str]]:
        """Ten items for everyone, none that is seen."""
        seen = csr_matrix(split.part(part)[1].matrix)
        best, _ = self.model.recommend(np.arange(seen.shape[0]), seen, N=10)
        return dict(zip(split.train.users.labels, split.train.items.labels[best].tolist(), strict=True))
