"""The base of all models trained by gradient descent: their common settings, and a fit that can be interrupted."""

import copy
import math
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory, parallel
from corml._runtime.progress import Asked
from corml._runtime.settings import above, check, choice, log, one_of, optional, setting, values_of, whole
from corml.data.interactions import Interactions
from corml.errors import NumericalError, ResourceError, UsageError
from corml.models.fitted import Epoch, Fitted, Outcome, Plan, Settings
from corml.models.learned_from import planned
from corml.models.neural.training import lazy_torch
from corml.models.neural.training.checkpoint import Checkpoint
from corml.models.neural.training.lazy_torch import torch
from corml.models.neural.training.loop import Arrays, Learner, Schedule, TrainingState, train
from corml.models.neural.training.sampling import suggested_batch
from corml.models.neural.training.validation import METRIC, validator
from corml.models.recommender import FitCall, Recommender, check_is_data

MANY = 100_000  # pairs from which on mini-batches are large enough for threads
COPIES = 17  # of what is learned: itself, gradient, moments, the best so far, what is validated, a checkpoint
ALWAYS = 1 << 26  # bytes of PyTorch's own and of ranking
A_PAIR = 48  # bytes: the pair, its position in an epoch, negatives drawn ahead
SMALLER = "lower size or batch."
HOW_LONG = ("epochs", "patience", "every", "minutes", "device")  # may change between the parts of an interrupted fit

Path = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class GradientPlan(Plan):
    """How many numbers are learned, and in mini-batches of which size."""

    parameters: int
    batch: int


@dataclass(frozen=True, kw_only=True)
class HardNegativesPlan(GradientPlan):
    """The same, and how many negatives are drawn for each pair."""

    negatives: int


@dataclass(kw_only=True, eq=False)
class GradientModel(Recommender):
    """A model with a learner: `_learner` makes what the loop trains, whose arrays become those of the model."""

    PLAN: ClassVar[type[Plan]] = GradientPlan

    size: int = setting(64, whole(1, 4096), search=choice(32, 64, 128), help="embedding dimension")
    learning_rate: float = setting(1e-3, above(0, 1), search=log(1e-4, 1e-2), help="step length of Adam")
    batch: int | None = setting(
        None,
        optional(whole(1, 1 << 20), "4,096, or a fiftieth of the pairs if that is less"),
        search=choice(1024, 4096),
        help="pairs in a mini-batch",
    )
    epochs: int = setting(200, whole(0, 100_000), help="max passes over the data")
    patience: int = setting(10, whole(1, 100_000), help="evaluations on the validation pairs without a gain to stop at")
    every: int = setting(1, whole(1, 1000), help="epochs between two such evaluations")
    minutes: float | None = setting(None, optional(above(0), "no limit"), help="stop after the epoch that passes this")
    seed: int = setting(0, whole(0, 2**32 - 1), help="of the first parameters, the order and the negatives")
    device: str = setting("auto", one_of(*lazy_torch.DEVICES), help="where to learn; auto takes a GPU if there is one")

    def fit(
        self,
        train: Interactions,
        *,
        valid: Interactions | None = None,
        valid_history: Interactions | None = None,
        checkpoint: Path | None = None,
        after_epoch: Callable[[Epoch], None] | None = None,
        progress: Asked = None,
    ) -> Self:
        """Learn from interactions, for all `epochs`, or with `valid` until those pairs are ranked no better.

        `valid_history` is what the users of `valid` are known by, if not by `train`: the .valid_history of a split of
        users, for models that score histories. `checkpoint` is a file that keeps the state of training after each
        epoch; the same fit with the same file resumes from it. `after_epoch` is told the loss and the validation score
        of each epoch; what it raises ends the fit.
        """
        lazy_torch.require(type(self).__name__)
        if valid_history is not None:
            check_is_data(valid_history, "valid_history")
        how = {"valid_history": valid_history, "checkpoint": checkpoint, "after_epoch": after_epoch}
        return self._fit_and_keep(train, valid, progress, **how)

    def _user_rows(self, X: csr_array, users: NDArray[np.int64] | None) -> NDArray[np.float32]:
        """Users are compared by their vectors; who has nothing to go by has none."""
        vectors = np.array(self._represent(X, users), dtype=np.float32)
        vectors[np.diff(X.indptr) == 0] = 0
        return vectors

    def _fit_again(self, data: Interactions, earlier: Self, progress: Asked) -> Self:
        """As many epochs as were best: there are no held-out pairs to stop by."""
        training = earlier.fitted_.training
        if training is not None:
            self.epochs = training.epochs if training.best_epoch is None else training.best_epoch
        return self.fit(data, progress=progress)

    def plan(self, train: Interactions) -> GradientPlan:
        """How much is learned and the memory it takes; refuses what would not fit."""
        check(self)
        return planned(train, values_of(self).get("longest_history"), lambda part: self._plan(part.matrix))

    def _fit(
        self,
        call: FitCall,
        *,
        valid_history: Interactions | None = None,
        checkpoint: Path | None = None,
        after_epoch: Callable[[Epoch], None] | None = None,
    ) -> Outcome:
        begun, worked = time.perf_counter(), time.process_time()
        plan = self._plan(call.X)
        settings = plan.resolved(call.fitted.settings)
        with _torch_threads(call.X.nnz), _sentence_if_full():
            device = lazy_torch.device(settings.device)
            file = None if checkpoint is None else self._checkpoint(checkpoint, call, valid_history)
            state = _resumed(file, settings.epochs)
            learner = self._learner(call.X, settings, device)
            if file:
                file.check_fits(state, learner)
            state.seconds += time.perf_counter() - begun
            state.cpu += time.process_time() - worked
            training = train(
                learner,
                _schedule(settings),
                validate=self._validate(call, valid_history),
                state=state,
                save=None if file is None else file.write,
                progress=call.progress,
                after_epoch=after_epoch,
            )
            arrays = learner.arrays()
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise NumericalError("What was learned is not finite: a setting is too large for single precision.")
        metric = None if call.valid is None else METRIC
        training = replace(training, metric=metric, torch=torch.__version__, device=device.type)
        return Outcome(arrays=arrays, plan=plan, training=training)

    def _plan(self, X: csr_array) -> GradientPlan:
        choices = self._choices(X)
        parameters, beside = self._sizes(X, choices["batch"])
        needed = ALWAYS + 4 * (COPIES * parameters + beside) + A_PAIR * X.nnz
        memory.require(needed, what=f"{type(self).__name__} with {parameters:,} numbers to learn", instead=SMALLER)
        plan = self.PLAN(predicted_bytes=needed, **{"parameters": parameters, **choices})
        assert isinstance(plan, GradientPlan)
        return plan

    def _choices(self, X: csr_array) -> dict[str, int]:
        """Settings that may be left to the data, by name, as they are for these data."""
        return {"batch": self.batch or suggested_batch(X.nnz)}

    @abstractmethod
    def _sizes(self, X: csr_array, batch: int) -> tuple[int, int]:
        """How many numbers are learned, and how many more there are at once in a step."""

    @abstractmethod
    def _learner(self, X: csr_array, settings: Settings, device: "torch.device") -> Learner:
        """What the loop trains on these data with resolved settings; the first parameters come from `seed` alone."""

    def _validate(self, call: FitCall, history: Interactions | None) -> Callable[[Arrays], float] | None:
        if call.valid is None:
            return None
        scorer, name = partial(self._with, call.fitted), type(self).__name__
        return validator(scorer, call.fitted, call.valid, history, name=name, folds_in=self._folds_in)

    def _with(self, fitted: Fitted, arrays: Arrays) -> Self:
        """The model as it would be with these arrays."""
        view = copy.copy(self)
        view.fitted_ = replace(fitted, arrays=arrays)
        return view

    def _checkpoint(self, path: Path, call: FitCall, valid_history: Interactions | None) -> Checkpoint:
        fitted = call.fitted
        settings = {name: value for name, value in fitted.settings.items() if name not in HOW_LONG}
        data = {"train": fitted.fingerprint, "users": fitted.users.fingerprint, "items": fitted.items.fingerprint}
        for name, part in (("valid", call.valid), ("valid_history", valid_history)):
            data[name] = "" if part is None else part.fingerprint
        return Checkpoint(path, self.NAME, settings, data)


def _resumed(file: Checkpoint | None, epochs: int) -> TrainingState:
    state = TrainingState() if file is None else file.read()
    if state.epoch > epochs:
        raise UsageError(
            f"The checkpoint is {state.epoch} epochs on and epochs is {epochs}: set it to as many or more, or "
            "choose another file."
        )
    return state


def _schedule(settings: Settings) -> Schedule:
    return Schedule(
        epochs=settings.epochs,
        patience=settings.patience,
        every=settings.every,
        learning_rate=settings.learning_rate,
        seed=settings.seed,
        seconds=math.inf if settings.minutes is None else 60 * settings.minutes,
    )


@contextmanager
def _sentence_if_full() -> Iterator[None]:
    """PyTorch says in many ways that there is no memory left."""
    try:
        yield
    except RuntimeError as fault:
        if "alloc" not in str(fault).lower() and not isinstance(fault, torch.OutOfMemoryError):
            raise
        raise ResourceError(f"There is not enough memory to learn with these settings: {SMALLER}") from fault


@contextmanager
def _torch_threads(pairs: int) -> Iterator[None]:
    """As many threads of PyTorch as corml may use, while it learns; one for few pairs, where they only wait."""
    before = torch.get_num_threads()
    torch.set_num_threads(parallel.threads() if pairs >= MANY else 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
