"""The base of all models that learn step by step: their common settings, and a fit that can be interrupted."""

import math
import os
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml import memory, parallel
from corml.errors import NumericalError, ResourceError, UsageError
from corml.interactions import Interactions
from corml.neural import lazy_torch
from corml.neural.checkpoint import Checkpoint
from corml.neural.lazy_torch import torch
from corml.neural.training import Course, Learner, Place, train
from corml.neural.validation import METRIC, judge
from corml.recommender import Progress, Recommender, check_is_data
from corml.settings import above, check, choice, declared, log, one_of, optional, setting, whole

__all__ = ["Stepwise"]

MANY = 100_000  # pairs from which on mini-batches are large enough for threads
COPIES = 17  # of what is learned: itself, gradient, moments, the best so far, what is judged, a checkpoint on its way
ALWAYS = 1 << 26  # bytes of PyTorch's own and of ranking
A_PAIR = 48  # bytes: the pair, its place in an epoch, negatives drawn ahead
SMALLER = "lower size or batch."
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
    device: str = setting("auto", one_of(*lazy_torch.DEVICES), help="where to learn; auto takes a GPU if there is one")

    epochs_kept = 0  # in the checkpoint of a fit, also one that was interrupted

    def fit(
        self,
        train: Interactions,
        *,
        valid: Interactions | None = None,
        valid_history: Interactions | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from interactions, for all `epochs`, or with `valid` until no more of those pairs are found.

        `valid_history` is what the users of `valid` are known by, if not by `train`: the .valid_history of a split of
        users, for models that score histories. `checkpoint` is a file that keeps the place after each epoch; the same
        fit with the same file goes on from it.
        """
        lazy_torch.require(type(self).__name__)
        if valid_history is not None:
            check_is_data(valid_history, "valid_history")
        self._checkpoint, self._valid_history, self.epochs_kept = checkpoint, valid_history, 0
        return super().fit(train, valid=valid, progress=progress)

    def _fit(self, X: csr_array) -> None:
        begun, worked = time.perf_counter(), time.process_time()
        self._plan(X)
        with _torch_threads(X.nnz), _sentence_if_full():
            device, kept = lazy_torch.device(self.device), self._place_file()
            place = kept.read() if kept else Place()
            self._check_goes_on(place)
            learner = self._learner(X, device)
            minutes = math.inf if self.minutes is None else self.minutes
            place.seconds += time.perf_counter() - begun
            place.cpu += time.process_time() - worked
            found = train(
                learner,
                Course(self.epochs, self.patience, self.every, self.learning_rate, self.seed, 60 * minutes),
                judge=None if self._valid is None else judge(self, self._valid, self._valid_history),
                place=place,
                keep=None if kept is None else partial(self._keep, kept),
                progress=self._progress,
            )
            self.put(learner.arrays())
        if not all(np.isfinite(getattr(self, name + "_")).all() for name in self.state()):
            raise NumericalError("What was learned is not finite: a setting is too large for single precision.")
        where = {"torch": torch.__version__, "device": device.type}  # like the seed, they decide the numbers
        self.notes_["training"] = found | where | {"valid": None if self._valid is None else METRIC}

    def plan(self, train: Interactions) -> dict[str, Any]:
        """How much is learned and the memory it takes; refuses what would not fit."""
        check(self)
        return self._plan(train.matrix)

    def _plan(self, X: csr_array) -> dict[str, Any]:
        learned, beside = self._sizes(X)
        needed = ALWAYS + 4 * (COPIES * learned + beside) + A_PAIR * X.nnz
        memory.require(needed, what=f"{type(self).__name__} with {learned:,} numbers to learn", instead=SMALLER)
        return {"numbers to learn": learned, "predicted bytes": needed}

    @abstractmethod
    def _sizes(self, X: csr_array) -> tuple[int, int]:
        """How many numbers are learned, and how many more there are at once in a step."""

    @abstractmethod
    def _learner(self, X: csr_array, device: "torch.device") -> Learner:
        """What the loop trains on these data; the first parameters come from `seed` alone."""

    def put(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over arrays of STATE."""
        for name in self.state():
            setattr(self, name + "_", arrays[name])

    @property
    def folds_in(self) -> bool:
        """Whether people it did not learn from are scored by their histories."""
        return True

    def _check_goes_on(self, place: Place) -> None:
        self.epochs_kept = place.epoch
        if place.epoch > self.epochs:
            raise UsageError(
                f"The checkpoint is {place.epoch} epochs on and epochs is {self.epochs}: set it to as many or more, or "
                "choose another file."
            )

    def _keep(self, file: Checkpoint, place: Place) -> None:
        file.write(place)
        self.epochs_kept = place.epoch

    def _place_file(self) -> Checkpoint | None:
        if self._checkpoint is None:
            return None
        settings = {name: getattr(self, name) for name in declared(type(self)) if name not in HOW_LONG}
        data = {"train": self.data_["fingerprint"], "users": self.users_.fingerprint, "items": self.items_.fingerprint}
        for name, part in (("valid", self._valid), ("valid_history", self._valid_history)):
            data[name] = "" if part is None else part.fingerprint
        return Checkpoint(self._checkpoint, self.NAME, settings, data)


@contextmanager
def _sentence_if_full() -> Iterator[None]:
    """PyTorch says in many ways that there is no memory left."""
    try:
        yield
    except RuntimeError as fault:
        if "alloc" not in str(fault).lower() and not isinstance(fault, torch.OutOfMemoryError):
            raise
        raise ResourceError(f"There is not enough memory to learn with these settings: {SMALLER}") from fault


class _torch_threads:  # noqa: N801 (reads as what it is: with _torch_threads())
    """As many threads of PyTorch as corml may use, while it learns; one for few pairs, where they only wait."""

    def __init__(self, pairs: int) -> None:
        self.wanted = parallel.threads() if pairs >= MANY else 1

    def __enter__(self) -> None:
        self.before = torch.get_num_threads()
        torch.set_num_threads(self.wanted)

    def __exit__(self, *_: Any) -> None:
        torch.set_num_threads(self.before)
