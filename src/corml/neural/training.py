"""The one training loop: Adam steps, a look at validation pairs, the best kept, an early end, a place to go on from."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corml.errors import ModelFileError, NumericalError
from corml.neural.lazy_torch import torch

__all__ = ["Course", "Learner", "Place", "train"]

Arrays = dict[str, NDArray[np.float32]]
Judge = Callable[[Arrays], float]


class Learner(Protocol):
    """What the loop trains."""

    steps: int  # of an epoch, for progress

    def groups(self) -> "dict[str, dict[str, torch.Tensor]]":
        """Give the parameters by name, in groups that step on their own."""

    def epoch(self, rng: np.random.Generator) -> "Iterator[tuple[str, torch.Tensor]]":
        """A group and its loss for each mini-batch; what follows a yield happens after the step."""

    def arrays(self) -> Arrays:
        """Make the arrays of the fitted model from the parameters of now."""


@dataclass(frozen=True)
class Course:
    """How long and how fast to learn; `seconds` is a budget, asked after each epoch."""

    epochs: int
    patience: int
    every: int
    learning_rate: float
    seed: int
    seconds: float = math.inf


@dataclass
class Place:
    """How far training is: enough to go on as if nothing had happened between two epochs."""

    epoch: int = 0
    seconds: float = 0.0
    cpu: float = 0.0  # processor seconds
    best: float = -math.inf
    best_epoch: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)
    kept: Arrays = field(default_factory=dict)  # parameters of the best epoch
    now: Arrays = field(default_factory=dict)  # parameters and moments of Adam

    def report(self, why: str) -> dict[str, Any]:
        """Facts for the model file."""
        cost = {"seconds": round(self.seconds, 1), "cpu seconds": round(self.cpu, 1)}
        facts = {"epochs": self.epoch, **cost, "stopped": why, "curve": self.curve}
        return facts | ({"best epoch": self.best_epoch} if self.best_epoch else {})


def train(
    learner: Learner,
    course: Course,
    *,
    judge: Judge | None,
    place: Place,
    keep: Callable[[Place], None] | None,
    progress: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Train until the course is over; the learner ends with the best parameters seen, or with the last if none looks.

    `keep`, if given, is called after each epoch with the place to go on from.
    """
    optimisers = _optimisers(learner, course.learning_rate)
    _put(learner, optimisers, place.now)
    why = _over(course, place)
    while not why:
        begun, worked = time.perf_counter(), time.process_time()
        tell = partial(_tell, progress, learner, course, place)
        loss = _epoch(learner, optimisers, course.seed, place, tell)
        place.epoch += 1
        row = {"epoch": place.epoch, "loss": round(loss, 6)}
        if judge and place.epoch % course.every == 0:
            found = judge(learner.arrays())
            row["valid"] = round(found, 6)
            if found > place.best:
                place.kept = {}  # makes room
                place.best, place.best_epoch, place.kept = found, place.epoch, _parameters(learner)
        place.seconds += time.perf_counter() - begun
        place.cpu += time.process_time() - worked
        place.curve.append(row | {"seconds": round(place.seconds, 2)})
        if keep:
            place.now = {}
            place.now = _parameters(learner) | _moments(learner, optimisers)
            keep(place)
        why = _over(course, place)
    if place.kept:
        _put(learner, {}, place.kept)
    return place.report(why)


def _over(course: Course, place: Place) -> str:
    """Why to stop now, or nothing."""
    if place.epoch >= course.epochs:
        return "all epochs done"
    if place.best_epoch and place.epoch - place.best_epoch >= course.patience * course.every:
        return "no better on the validation pairs"
    if place.seconds >= course.seconds:
        return "out of time"
    return ""


def _epoch(learner: Learner, optimisers: Any, seed: int, place: Place, tell: Callable[[int], None]) -> float:
    """One epoch; its mean loss."""
    total, steps = 0.0, 0
    tell(0)
    for group, loss in learner.epoch(np.random.default_rng((seed, place.epoch))):
        optimiser = optimisers[group]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total, steps = total + float(loss.detach()), steps + 1
        if not math.isfinite(total):
            raise NumericalError(_not_finite(place.epoch + 1, steps))
        tell(steps)
    return total / max(steps, 1)


def _not_finite(epoch: int, steps: int) -> str:
    if (epoch, steps) == (1, 1):  # nothing has moved yet
        return "The first loss is not finite: a setting is too large or too small for single precision."
    return (
        f"The loss of epoch {epoch} is not finite at step {steps}: lower learning_rate, with a new checkpoint if any."
    )


def _tell(progress: Callable[[str, int, int], None], learner: Learner, course: Course, place: Place, done: int) -> None:
    known = f", valid {place.best:.4f}" if place.best_epoch else ""
    progress(f"epoch {place.epoch + 1}{known}", place.epoch * learner.steps + done, course.epochs * learner.steps)


# --- parameters and moments as plain arrays ---------------------------------------------------------------------------


def _optimisers(learner: Learner, rate: float) -> "dict[str, torch.optim.Adam]":
    # Rows that a batch does not touch move on by their moments. Moving touched rows only takes half the time of a step,
    # and several times as many steps to learn of people with few pairs.
    groups = learner.groups().items()
    return {name: torch.optim.Adam(list(group.values()), lr=rate, fused=True) for name, group in groups}


def _parameters(learner: Learner) -> Arrays:
    groups = learner.groups().values()
    return {name: _plain(tensor) for group in groups for name, tensor in group.items()}


def _moments(learner: Learner, optimisers: "dict[str, torch.optim.Adam]") -> Arrays:
    found = {}
    for group, named in learner.groups().items():
        for name, tensor in named.items():
            for moment, value in optimisers[group].state[tensor].items():
                found[f"{name}.{moment}"] = _plain(value)
    return found


def _put(learner: Learner, optimisers: "dict[str, torch.optim.Adam]", arrays: Arrays) -> None:
    """Set parameters, and where an optimiser is given its moments, to what was kept, if anything was."""
    for group, named in learner.groups().items() if arrays else ():
        for name, tensor in named.items():
            if name not in arrays or arrays[name].shape != tuple(tensor.shape):
                raise ModelFileError(
                    f"The checkpoint is of another model, its {name} does not fit: choose another file."
                )
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(arrays[name]))
            moments = {key[len(name) + 1 :]: key for key in arrays if key.startswith(f"{name}.")}
            if group in optimisers and moments:
                optimisers[group].state[tensor] = {
                    moment: torch.from_numpy(arrays[key].copy()).to(tensor.device) for moment, key in moments.items()
                }


def _plain(tensor: "torch.Tensor") -> NDArray[np.float32]:
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float32)
