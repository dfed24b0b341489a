"""The one small interface of every model: fit, recommend, similar, explain, save."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import requests
from corml.errors import NotFittedError, UsageError
from corml.explanation import Explanation
from corml.interactions import Ids, Interactions, labels_of
from corml.recommendations import Recommendations
from corml.settings import check
from corml.topn import block_of, top_k

__all__ = ["Progress", "Recommender", "check_is_data"]

Labels = Sequence[Hashable]
Progress = Callable[[str, int, int], None]


@dataclass(kw_only=True, eq=False)
class Recommender(ABC):
    """A model of who likes what.

    A subclass is a dataclass of settings with two methods: `_fit` learns arrays from the binary users × items matrix,
    and `score_block` scores people. `STATE` names the arrays to keep in a model file with their shapes ("users",
    "items", or None for any length). People are the rows of their histories, unless `represent` makes something else
    of them.
    """

    NAME: ClassVar[str]
    CITATION: ClassVar[str] = ""
    STATE: ClassVar[Mapping[str, tuple[str | None, ...]]]

    def fit(self, train: Interactions, *, valid: Interactions | None = None, progress: Progress | None = None) -> Self:
        """Learn from interactions; settings are checked first, the data are left alone.

        `valid` are pairs to be found, such as the .valid of a split: models that learn step by step stop when they find
        no more of them. The others do not look at them.
        """
        check_is_data(train, "train")
        if valid is not None:
            check_is_data(valid, "valid")
        check(self)
        self._progress, self._valid = progress or _silent, valid
        self.notes_: dict[str, Any] = {}
        self.evaluation_: dict[str, Any] = {}
        self.users_, self.items_, self.train_ = train.users, train.items, train.matrix
        self.counts_ = train.item_degrees
        self.titles_ = {label: title for label, title in train.titles.items() if label in train.items}
        self.data_: dict[str, Any] = {"fingerprint": train.fingerprint, "source": dict(train.source)}
        try:
            self._fit(train.matrix)
        except BaseException:  # half a fit is none
            del self.items_
            raise
        return self

    def plan(self, train: Interactions) -> dict[str, Any]:
        """How a fit would go, before anything is allocated: empty for models that need no plan."""
        check(self)
        return {}

    @abstractmethod
    def _fit(self, X: csr_array) -> None:
        """Learn the arrays named in STATE."""

    def represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Any:
        """What stands for people when they are scored, one row each: here their histories, whoever they are.

        `users` are the numbers of known users, −1 for somebody of whom only the history is known.
        """
        return X

    @abstractmethod
    def score_block(self, people: Any, columns: slice) -> NDArray[np.float32]:
        """Scores of people, as `represent` gives them, for a range of items."""

    def check_state(self) -> None:  # noqa: B027 (most models have nothing to add)
        """Raise ModelFileError if the arrays of STATE cannot come from a fit: asked before a save, after a load."""

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        """How many rows and columns of scores to make at a time."""
        return block_of(*X.shape)

    def state(self) -> Mapping[str, tuple[str | None, ...]]:
        """The arrays to keep in a model file with their shapes: STATE, unless a setting decides how many there are."""
        return self.STATE

    def check_fitted(self) -> None:
        """Refuse to answer before `fit`."""
        if not hasattr(self, "items_"):
            raise NotFittedError(type(self).__name__)

    @property
    def items(self) -> Ids:
        """The catalogue."""
        self.check_fitted()
        return self.items_

    @property
    def popularity(self) -> NDArray[np.float32]:
        """Share of training users who met each item."""
        self.check_fitted()
        return np.asarray(self.counts_ / max(self.train_.shape[0], 1), dtype=np.float32)

    def scores(self, history: Sequence[Labels] | Interactions) -> NDArray[np.float32]:
        """Scores of the whole catalogue for each history: a dense array, so for a few histories at a time."""
        self.check_fitted()
        people = self.represent(requests.histories(self.items_, history).matrix, None)
        return self.score_block(people, slice(0, len(self.items_)))

    def recommend(
        self,
        users: Labels | str | None = None,
        *,
        history: Sequence[Labels] | Interactions | None = None,
        k: int = 10,
        exclude: Labels | Sequence[Labels] | None = None,
        only: Labels | Sequence[Labels] | None = None,
    ) -> Recommendations:
        """The k best items for known users, or for anyone from the items they met.

        Items of the history are never recommended, nor those in `exclude`; `only`, where given, limits the choice.
        Both take one list for all or one list per row. Every list has k items, or `reasons` says why not.
        """
        self.check_fitted()
        asked = requests.resolve(self.items_, self.users_, self.train_, users, history)
        limits = requests.limits(self.items_, asked, exclude, only)
        requests.check_k(k)
        best = top_k(self, asked.matrix, k, users=asked.users, seen=limits.seen, allowed=limits.allowed)
        return requests.answer(self, asked, limits, *best)

    def similar(self, items: Labels | str, k: int = 10) -> Recommendations:
        """Items that meeting one item speaks most for: the list of someone who met only that item, for each item."""
        wanted = labels_of(items, "similar")
        self.items.rows(wanted)
        found = self.recommend(history=[[item] for item in wanted], k=k)
        return requests.relabelled(found, wanted)

    def explain(self, history: Labels | str | int, item: Hashable) -> Explanation:
        """Why an item scores as it does: what each item of the history (or of a known user) adds to it."""
        known, unknown = self.known_history(history)
        target = int(self.items.rows([item])[0])
        parts = self.contributions(known, target)
        return Explanation(self.items_.labels[target], tuple(self.items_.labels[known]), parts, unknown, self.titles_)

    def contributions(self, history: NDArray[np.int64], target: int) -> dict[str, NDArray[np.float64]]:
        """What each history item adds to the target's score, by part; for models that are linear in the history."""
        raise UsageError(
            f"{type(self).__name__} does not score item by item of a history, so there is nothing to explain."
        )

    def known_history(self, history: Labels | str | int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Item numbers of a list of items (each once) or of a known user, and the ids the model does not know."""
        self.check_fitted()
        return requests.history_of(self.items_, self.users_, self.train_, history)

    def save(
        self, path: str | os.PathLike[str], *, history: bool = True, evaluation: Mapping[str, Any] | None = None
    ) -> None:
        """Write the model as one file, atomically; `history=False` leaves the training users out of it."""
        from corml.storage.model_file import save_model

        self.check_fitted()
        save_model(self, path, history=history, evaluation=evaluation or self.evaluation_)


def check_is_data(given: object, name: str) -> None:
    """Refuse what cannot be learned from."""
    if not isinstance(given, Interactions):
        raise UsageError(
            f"fit learns from Interactions, not {type(given).__name__}: use corml.load(…), "
            f"Interactions.from_pairs(users, items), or the .{name} of a split."
        )


def _silent(stage: str, done: int, total: int) -> None:
    pass
