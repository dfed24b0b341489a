"""A small split, models that are fitted in no time, and one that fails."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import corml
from corml._runtime.settings import between, linear, setting, whole
from corml.models.fitted import Outcome, learned
from corml.models.recommender import Recommender
from support import random_interactions


@dataclass(kw_only=True, eq=False)
class Dice(Recommender):
    """Random scores: a model with nothing but a seed."""

    NAME: ClassVar[str] = "dice"
    row_ = learned(np.ndarray, "items")
    fits: ClassVar[list[int]] = []

    seed: int = setting(0, whole(0, 1000), help="of the scores")

    def _fit(self, call):
        type(self).fits.append(self.seed)
        return Outcome(arrays={"row": np.random.default_rng(self.seed).random(len(call.train.items), np.float32)})

    def score_block(self, X, columns):
        return np.broadcast_to(self.row_[columns], (X.shape[0], columns.stop - columns.start))


@dataclass(kw_only=True, eq=False)
class Broken(Dice):
    """A model that cannot be fitted, unless it is repaired."""

    NAME: ClassVar[str] = "broken"
    repaired: ClassVar[bool] = False

    def _fit(self, call):
        if not self.repaired:
            raise RuntimeError("a bolt\nis loose")
        return super()._fit(call)


@dataclass(kw_only=True, eq=False)
class Dial(Dice):
    """The popularity of items, spoilt by a setting: there is something to tune."""

    NAME: ClassVar[str] = "dial"

    noise: float = setting(9.0, between(0, 9), search=linear(0, 9), help="how much is spoilt")

    def _fit(self, call):
        worth = call.train.item_degrees / max(call.train.item_degrees.max(), 1)
        random = np.random.default_rng(self.seed).random(len(worth))
        return Outcome(arrays={"row": (worth + self.noise * random).astype(np.float32)})


@pytest.fixture(autouse=True)
def fresh():
    Dice.fits.clear()
    Broken.repaired = False


@pytest.fixture(scope="session")
def kinds():
    return {kind.NAME: kind for kind in (Dice, Broken, Dial)}


@pytest.fixture(scope="session")
def data():
    return random_interactions(4, users=80, items=40, mean=12)


@pytest.fixture(scope="session")
def split(data):
    return corml.split(data, "ratio", seed=1)
