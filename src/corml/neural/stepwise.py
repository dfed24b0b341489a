"""The base of all models that learn step by step: their common settings, and a fit that can be interrupted."""

import math
import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import parallel
from corml.interactions import Interactions
from corml.neural import late
from corml.neural.checkpoint import Checkpoint
from corml.neural.late import torch
from corml.neural.training import Course, Learner, Place, train
from corml.neural.watch import METRIC, judge
from corml.recommender import Progress, Recommender
from corml.settings import above, choice, declared, log, one_of, optional, setting, whole

__all__ = ["Stepwise"]

MANY = 100_000  # pairs from which on mini-batches are large enough for threads
HOW_LONG = ("epochs", "patience", "every", "minutes", "device")  # may change between the parts of an interrupted fit


@dataclass(kw_only=True, eq=False)
class Stepwise(Recommender):
    """A model with a learner: `_learner` makes what the loop trains, `put` takes over what it found."""

    size: int = setting(64, whole(1, 4096), search=choice(32, 64, 128), help="numbers in a vector")
    learning_rate: float = setting(1e-3, above(0, 1), search=log(1e-4, 1e-2), help="step length of Adam")
    batch: int | None = setting(
        None,
        optional(whole(1, 1 << 20), "4,096, or a fiftieth of the pairs if that is less"),
        search=choice(1024, 4096),
        help="pairs in a mini-batch",
    )
    epochs: int = setting(200, whole(0, 100_000), help="passes over the data, if nothing ends them before")
    patience: int = setting(10, whole(1, 100_000), help="looks at the validation pairs without a gain before the end")
    every: int = setting(1, whole(1, 1000), help="epochs between two such looks")
    minutes: float | None = setting(None, optional(above(0), "no limit"), help="stop after the epoch that passes this")
    seed: int = setting(0, whole(0, 2**32 - 1), help="of the first parameters, the order and the negatives")
    device: str = setting("auto", one_of(*late.DEVICES), help="where to learn; auto takes a GPU if there is one")

    def fit(
        self,
        train: Interactions,
        *,
        valid: Interactions | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from interactions, for all `epochs`, or with `valid` until no more of those pairs are found.

        `checkpoint` is a file that keeps the place after each epoch; the same fit with the same file goes on from it.
        """
        late.require(type(self).__name__)
        self._checkpoint = checkpoint
        return super().fit(train, valid=valid, progress=progress)

    def _fit(self, X: csr_array) -> None:
        with _torch_threads(X.nnz):
            device, kept = late.device(self.device), self._place_file()
            place = kept.read() if kept else Place()
            learner = self._learner(X, device)
            minutes = math.inf if self.minutes is None else self.minutes
            found = train(
                learner,
                Course(self.epochs, self.patience, self.every, self.learning_rate, self.seed, 60 * minutes),
                judge=None if self._valid is None else judge(self, self._valid),
                place=place,
                keep=kept.write if kept else None,
                progress=self._progress,
            )
            self.put(learner.arrays())
        where = {"torch": torch.__version__, "device": device.type}  # like the seed, they decide the numbers
        self.notes_["training"] = found | where | {"valid": None if self._valid is None else METRIC}

    @abstractmethod
    def _learner(self, X: csr_array, device: "torch.device") -> Learner:
        """What the loop trains on these data; the first parameters come from `seed` alone."""

    def put(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over arrays of STATE."""
        for name in self.state():
            setattr(self, name + "_", arrays[name])

    def _place_file(self) -> Checkpoint | None:
        if self._checkpoint is None:
            return None
        settings = {name: getattr(self, name) for name in declared(type(self)) if name not in HOW_LONG}
        data = {"train": self.data_["fingerprint"], "valid": "" if self._valid is None else self._valid.fingerprint}
        return Checkpoint(self._checkpoint, self.NAME, settings, data)


class _torch_threads:  # noqa: N801 (reads as what it is: with _torch_threads())
    """As many threads of PyTorch as corml may use, while it learns; one for few pairs, where they only wait."""

    def __init__(self, pairs: int) -> None:
        self.wanted = parallel.threads() if pairs >= MANY else 1

    def __enter__(self) -> None:
        self.before = torch.get_num_threads()
        torch.set_num_threads(self.wanted)

    def __exit__(self, *_: Any) -> None:
        torch.set_num_threads(self.before)
