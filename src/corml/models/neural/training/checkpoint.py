"""The state of training as a file: written after each epoch, atomically, and checked before it is believed.

Whatever the file says is compared with what training would have written: facts among themselves when it is read, names,
types and shapes of arrays with those of the model before PyTorch, which checks none of them, is given any.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import CormlError, ModelFileError, ascii_line, printable
from corml.models.fitted import Epoch
from corml.models.neural.training.loop import Learner, TrainingState, array_shapes
from corml.persistence import atomic, container
from corml.persistence.facts import from_plain, to_plain

UNFINISHED = " (unfinished)"  # after the name of a model: no model is called so, and no file with it is taken for one
BEST, CURRENT = "best:", "current:"  # before the names of arrays
LAYOUT = 2  # of what a state is made of; another is not understood
ROUNDED = 1e-6  # in the curve, not in the best value


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a checkpoint says of the state, beside its arrays."""

    epoch: int
    seconds: float
    cpu: float
    best: float | None
    best_epoch: int
    curve: tuple[Epoch, ...]


@dataclass(frozen=True)
class Checkpoint:
    """A file that belongs to one model, with these settings, on these data."""

    path: str | os.PathLike[str]
    model: str
    settings: Mapping[str, Any]
    data: Mapping[str, str]

    def read(self) -> TrainingState:
        """The state training was in, or the first one if there is no file yet."""
        if not os.path.exists(atomic.writable(self.path)):
            return TrainingState()
        try:
            contents = container.read(self.path, mapped=False)
        except ModelFileError as fault:
            raise ModelFileError(f"No checkpoint to go on from: {fault} Choose another file, or delete it.") from None
        self._check_belongs(contents)
        try:
            return _state(contents)
        except ModelFileError as fault:
            raise self._odd(str(fault)) from None

    def check_fits(self, state: TrainingState, learner: Learner) -> None:
        """Refuse a state whose arrays are not exactly those of the learner."""
        parameters, moments = array_shapes(learner)
        try:
            if state.epoch:
                _check_arrays(state.current, parameters | moments, CURRENT)
            if state.best_epoch:
                _check_arrays(state.best_parameters, parameters, BEST)
        except ModelFileError as fault:
            raise self._odd(str(fault)) from None

    def write(self, state: TrainingState) -> None:
        """Replace the file by the present state."""
        facts = {spec.name: getattr(state, spec.name) for spec in fields(Facts)}
        facts |= {"best": state.best if state.best_epoch else None, "curve": tuple(state.curve)}
        meta = {
            "model": self.model + UNFINISHED,
            "settings": dict(self.settings),
            "shape": [],
            "data": dict(self.data),
            "notes": {"state": to_plain(Facts(**facts))},
            "evaluation": {},
            "made_with": {"layout": LAYOUT},
        }
        arrays = {CURRENT + name: array for name, array in state.current.items()}
        arrays |= {BEST + name: array for name, array in state.best_parameters.items()}
        atomic.replace(self.path, *container.pieces(arrays, meta))

    def _odd(self, fault: str) -> ModelFileError:
        name = ascii_line(self.path, 200)
        return ModelFileError(f"{name} does not hold a state of training ({fault}): delete it, and fit again.")

    def _check_belongs(self, contents: container.Contents) -> None:
        """Refuse the training of something else."""
        name, other = contents.name, contents.meta["model"]
        if other != self.model + UNFINISHED:
            kind = "a checkpoint of" if other.endswith(UNFINISHED) else "a finished model,"
            model = ascii_line(other.removesuffix(UNFINISHED))
            raise ModelFileError(f"{name} is no checkpoint of {self.model} but {kind} {model}: choose another file.")
        if contents.meta["made_with"].get("layout") != LAYOUT:
            raise ModelFileError(f"{name} is a checkpoint of another version of corml: choose another file.")
        for setting, value in self.settings.items():
            before = contents.meta["settings"].get(setting)
            if before != value:
                was, now = (printable(repr(one)[:60]) for one in (before, value))
                raise ModelFileError(
                    f"{name} was trained with {setting} {was}, not {now}: set it back, or choose another file."
                )
        if contents.meta["data"] != dict(self.data):
            raise ModelFileError(
                f"{name} was trained on other data, or on these in another order: choose another file."
            )


def epochs_in(path: str | os.PathLike[str], model: str) -> int:
    """How many epochs of a model a checkpoint holds: none if there is no such file, or it is something else."""
    try:
        contents = container.read(path, mapped=False)
        is_ours = contents.meta["model"] == model + UNFINISHED and contents.meta["made_with"].get("layout") == LAYOUT
        return _state(contents).epoch if is_ours else 0
    except CormlError:
        return 0


# --- checks ----------------------------------------------------------------------------------------------------------


def _state(contents: container.Contents) -> TrainingState:
    facts = from_plain(Facts, contents.meta["notes"].get("state"))
    _check_facts(facts)
    parts: dict[str, dict[str, NDArray[Any]]] = {CURRENT: {}, BEST: {}}
    for name, array in contents.arrays.items():
        prefix = name[: name.find(":") + 1]
        if prefix not in parts:
            raise ModelFileError(f"its array {ascii_line(name)} is unknown")
        parts[prefix][name.removeprefix(prefix)] = array
    if parts[BEST] and not facts.best_epoch:
        raise ModelFileError("it has parameters of a best epoch, and no such epoch")
    return TrainingState(
        epoch=facts.epoch,
        seconds=facts.seconds,
        cpu=facts.cpu,
        best=-math.inf if facts.best is None else facts.best,
        best_epoch=facts.best_epoch,
        curve=list(facts.curve),
        best_parameters=parts[BEST],
        current=parts[CURRENT],
    )


def _check_facts(facts: Facts) -> None:
    numbers = [facts.seconds, facts.cpu, *(point.seconds for point in facts.curve)]
    if not all(number is not None and math.isfinite(number) and number >= 0 for number in numbers):
        raise ModelFileError("its seconds are not finite numbers of 0 or more")
    if facts.epoch < 1 or [point.epoch for point in facts.curve] != list(range(1, len(facts.curve) + 1)):
        raise ModelFileError("its epochs are not 1, 2, 3 and so on")
    if facts.epoch != len(facts.curve):
        raise ModelFileError(f"its curve has {len(facts.curve):,} epochs, its epoch is {ascii_line(facts.epoch)}")
    values = [point.valid for point in facts.curve if point.valid is not None]
    if not all(math.isfinite(value) for value in (*values, *(point.loss for point in facts.curve))):
        raise ModelFileError("its curve is not finite")
    if not _has_best(facts, values):
        raise ModelFileError("its best epoch is not that of its curve")


def _has_best(facts: Facts, values: list[float]) -> bool:
    """Whether the best value is the first largest of the curve, up to its rounding, or there is none in either."""
    if facts.best is None or not values:
        return facts.best is None and not values and facts.best_epoch == 0
    if not 1 <= facts.best_epoch <= facts.epoch:
        return False
    value = facts.curve[facts.best_epoch - 1].valid
    return value is not None and value == max(values) and abs(facts.best - value) <= ROUNDED


def _check_arrays(arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]], prefix: str) -> None:
    for name in {**shapes, **arrays}:
        label = ascii_line(prefix + name)
        if name not in arrays:
            raise ModelFileError(f"its array {label} is missing")
        if name not in shapes:
            raise ModelFileError(f"its array {label} is unknown")
        array = arrays[name]
        if array.dtype != np.float32 or array.shape != shapes[name]:
            raise ModelFileError(
                f"its array {label} is {array.dtype} of shape {array.shape}, not float32 of shape {shapes[name]}"
            )
        if not _can_be(name, array):
            raise ModelFileError(f"its array {label} has numbers that Adam does not make")


def _can_be(name: str, array: NDArray[Any]) -> bool:
    """Adam counts whole steps from 1, and its second moments are means of squares."""
    if name.endswith(".step"):
        return bool(array >= 1 and array == np.floor(array))
    return not name.endswith(".exp_avg_sq") or bool(array.min(initial=0) >= 0)
