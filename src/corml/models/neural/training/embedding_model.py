"""Models that give every user and every item a vector, and what learns such vectors from pairs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import above, log, setting
from corml.data.requested_ids import required
from corml.errors import UsageError
from corml.models.fitted import Settings, learned
from corml.models.neural.training.gradient_model import GradientModel
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.loop import Arrays
from corml.models.neural.training.sampling import Batch, Sampler
from corml.recommend.pipeline import recommended
from corml.recommend.result import SimilarItems
from corml.recommend.score import band_of

Vectors = NDArray[np.float32]


@dataclass(kw_only=True, eq=False)
class EmbeddingModel(GradientModel):
    """A vector for each user and item; with DISTANCE the score is minus their squared distance, else their product."""

    DISTANCE: ClassVar[bool] = False

    user_ = learned(np.ndarray, "users", "size")
    item_ = learned(np.ndarray, "items", "size")

    init_std: float = setting(
        0.01, above(0, 100), search=log(1e-3, 0.2), help="standard deviation of the numbers in the first vectors"
    )

    def _represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Vectors:
        """Vectors of known users; of new ones what their history gives, where the model folds in."""
        known = np.zeros(X.shape[0], dtype=bool) if users is None else self._learned_from(users)
        new = ~known & (np.diff(X.indptr) > 0)  # users without a history are given popular items, by any model
        table = self.item_ if self.user_ is None else self.user_
        vectors = np.zeros((X.shape[0], table.shape[1]), dtype=np.float32)
        if new.any():
            vectors[new] = self._fold_in(X[new])
        if users is not None and known.any():
            vectors[known] = self.user_[users[known]]
        return vectors

    def _sizes(self, X: csr_array, batch: int) -> tuple[int, int]:
        return sum(X.shape) * self.size, 24 * batch * self.size  # vectors of pairs, and their gradients

    def _learned_from(self, users: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which users have a vector that means something: those with a pair in the training data."""
        starts = self.train_.indptr
        return np.asarray((users >= 0) & (starts[users + 1] > starts[users]))

    def _fold_in(self, X: csr_array) -> Vectors:
        """Vectors of users from their histories alone."""
        raise UsageError(
            f"{type(self).__name__} has a vector for each user it learned from and none for others: ask for known "
            "users, or take a model that scores histories, such as corml, ease or recvae."
        )

    @property
    def _folds_in(self) -> bool:
        """Whether the model makes a vector of a history."""
        return type(self)._fold_in is not EmbeddingModel._fold_in

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """Whole rows."""
        return band_of(*X.shape)

    def score_block(self, users: Any, columns: slice) -> Vectors:
        """Products of vectors, or minus squared distances."""
        return _scores(users, self.item_[columns], distance=self.DISTANCE)

    def similar(self, items: Any, k: int = 10) -> SimilarItems:
        """Items whose vectors are most alike: nearest in distance, or in angle where scores are products."""
        targets, _ = required(self.items_, items, "similar")
        lists = recommended(self, None, [[item] for item in targets], {"k": k}, scorer=_Neighbours(self))
        return SimilarItems.of(lists, targets)


class _Neighbours:
    """Ranks items by how near they are to one item."""

    def __init__(self, model: EmbeddingModel) -> None:
        length = 1.0 if model.DISTANCE else np.maximum(np.linalg.norm(model.item_, axis=1, keepdims=True), 1e-12)
        self.item, self.distance = (model.item_ / length).astype(np.float32), model.DISTANCE

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        return band_of(*X.shape)

    def _represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Vectors:
        return np.asarray(self.item[X.indices])  # a history of one item each

    def _top_k(self, users: Vectors, k: int, seen: csr_array | None, allowed: csr_array | None) -> None:
        return None

    def score_block(self, users: Vectors, columns: slice) -> Vectors:
        return _scores(users, self.item[columns], distance=self.distance)


def _scores(left: Vectors, right: Vectors, *, distance: bool) -> Vectors:
    scores: Vectors = left @ right.T
    if distance:  # −‖l − r‖² = 2 l·r − ‖l‖² − ‖r‖²
        scores *= 2
        scores -= np.einsum("ij,ij->i", left, left)[:, None]
        scores -= np.einsum("ij,ij->i", right, right)
    return scores


# --- learning --------------------------------------------------------------------------------------------------------


class EmbeddingLearner(ABC):
    """One table E of vectors, users first, then items; `negatives` are drawn for each pair."""

    def __init__(self, settings: Settings, X: csr_array, device: "torch.device", *, negatives: int = 1) -> None:
        self.settings, self.device = settings, device
        self.n_users, self.n_items = X.shape
        self.sampler = Sampler(X, size=settings.batch, count=negatives)
        self.steps = len(self.sampler)
        random = torch.Generator().manual_seed(settings.seed)
        E: torch.Tensor = torch.randn(sum(X.shape), settings.size, generator=random) * settings.init_std
        self.E = E.to(device).requires_grad_()

    def groups(self) -> "dict[str, dict[str, torch.Tensor]]":
        """All parameters step together."""
        return {"all": {"E": self.E}}

    def epoch(self, rng: np.random.Generator) -> "Iterator[tuple[str, torch.Tensor]]":
        """Every pair once."""
        for batch in self.sampler(rng):
            yield "all", self.loss(batch, rng)
            with torch.no_grad():
                self.after_step()

    @abstractmethod
    def loss(self, batch: Batch, rng: np.random.Generator) -> "torch.Tensor":
        """The loss of the pairs of a batch."""

    def after_step(self) -> None:  # noqa: B027 (most have nothing to do)
        """What to do after a step."""

    def vectors(self) -> "torch.Tensor":
        """The vectors that are scored."""
        return self.E

    def of_batch(self, table: "torch.Tensor", batch: Batch) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        """Rows of a batch: of its users, of its items, and (a third dimension) of its negatives."""
        users, items, negatives = batch.users, batch.items + self.n_users, batch.negatives + self.n_users
        # One look-up has one gradient of the size of the table; three would have three.
        vectors = rows(table, np.concatenate([users, items, negatives.ravel()]))
        n = len(users)
        return vectors[:n], vectors[n : 2 * n], vectors[2 * n :].view(n, -1, table.shape[1])

    def arrays(self) -> Arrays:
        """Vectors of users and items."""
        with torch.no_grad():
            E = self.vectors().cpu().numpy().astype(np.float32)
        return {"user": E[: self.n_users].copy(), "item": E[self.n_users :].copy()}


def rows(table: "torch.Tensor", numbers: NDArray[np.int64]) -> "torch.Tensor":
    """Rows of a table; an embedding's gradient is summed by rows, faster than an index's."""
    return torch.nn.functional.embedding(torch.from_numpy(numbers).to(table.device), table)
