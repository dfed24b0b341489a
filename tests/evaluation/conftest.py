from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from corml import Interactions, Split
from corml.models.fitted import Outcome, learned
from corml.models.recommender import Recommender
from support import random_interactions


@dataclass(kw_only=True, eq=False)
class Fixed(Recommender):
    """A model whose score of an item is given by its label, the same for all users."""

    NAME: ClassVar[str] = "fixed"
    row_ = learned(np.ndarray, "items")

    worth: dict | None = None

    def _fit(self, call):
        worth = self.worth or {}
        row = np.array([worth.get(label, 0.0) for label in call.train.items.labels], dtype=np.float32)
        return Outcome(arrays={"row": row})

    def score_block(self, X, columns):
        return np.broadcast_to(self.row_[columns], (X.shape[0], columns.stop - columns.start))


@pytest.fixture(scope="session")
def fixed():
    return Fixed


@pytest.fixture(scope="session")
def pairs():
    """Interactions from a text such as 'ann:ab bob:c'; ids and their order can be those of other interactions."""

    def build(text, like=None):
        rows = [(user, item) for user, _, items in (word.partition(":") for word in text.split()) for item in items]
        data = Interactions.from_pairs([user for user, _ in rows], [item for _, item in rows])
        return data if like is None else data.on(like.users, like.items)

    return build


@pytest.fixture(scope="session")
def split():
    """Random pairs, 60/20/20, all on the same ids."""
    data = random_interactions(1, users=60, items=30, mean=10)
    part = np.random.default_rng(1).choice(3, size=len(data), p=(0.6, 0.2, 0.2))
    train, valid, test = (data.where(part == number) for number in range(3))
    return Split(train=train, valid=valid, test=test, procedure={"name": "by hand"})
