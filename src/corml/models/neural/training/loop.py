"""The one training loop: Adam steps, validation, the best parameters kept, early stopping, a state to resume from."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.errors import NumericalError
from corml.models.fitted import Epoch, Training
from corml.models.neural.training.lazy_torch import torch

Arrays = dict[str, NDArray[np.float32]]
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam, one number for each parameter; beside them it counts its steps


class Learner(Protocol):
    """What the loop trains."""

    steps: int  # of an epoch, for progress

    def groups(self) -> "dict[str, dict[str, torch.Tensor]]":
        """Give the parameters by name, in groups that step on their own."""

    def epoch(self, rng: np.random.Generator) -> "Iterator[tuple[str, torch.Tensor]]":
        """A group and its loss for each mini-batch; what follows a yield happens after the step."""

    def arrays(self) -> Arrays:
        """Make the arrays of the fitted model from the present parameters."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long and how fast to learn; `seconds` is a budget, checked after each epoch."""

    epochs: int
    patience: int
    every: int
    learning_rate: float
    seed: int
    seconds: float = math.inf


@dataclass
class TrainingState:
    """How far training is: enough to resume between two epochs as if it had never stopped."""

    epoch: int = 0
    seconds: float = 0.0
    cpu: float = 0.0  # processor seconds
    best: float = -math.inf
    best_epoch: int = 0
    curve: list[Epoch] = field(default_factory=list)
    best_parameters: Arrays = field(default_factory=dict)
    current: Arrays = field(default_factory=dict)  # parameters and moments of Adam

    def report(self, stopped: str) -> Training:
        """What the fitted model keeps of it."""
        return Training(
            epochs=self.epoch,
            seconds=round(self.seconds, 1),
            cpu_seconds=round(self.cpu, 1),
            stopped=stopped,
            curve=tuple(self.curve),
            best_epoch=self.best_epoch or None,
        )


def train(
    learner: Learner,
    schedule: Schedule,
    *,
    validate: Callable[[Arrays], float] | None,
    state: TrainingState,
    save: Callable[[TrainingState], None] | None,
    progress: Progress,
    after_epoch: Callable[[Epoch], None] | None = None,
) -> Training:
    """Train until the schedule ends; the learner is left with the best parameters, or without validation the last.

    `save`, if given, is called after each epoch with the state to resume from; `after_epoch` hears how it went, and
    ends training by raising.
    """
    optimisers = _optimisers(learner, schedule.learning_rate)
    _restore(learner, optimisers, state.current)
    stopped = _stopped(schedule, state)
    while not stopped:
        begun, worked = time.perf_counter(), time.process_time()
        report = partial(_report, progress, learner, schedule, state)
        loss = _epoch(learner, optimisers, schedule.seed, state, report)
        state.epoch += 1
        valid = None
        if validate and state.epoch % schedule.every == 0:
            valid = validate(learner.arrays())
            if valid > state.best:
                state.best_parameters = {}  # makes room
                state.best, state.best_epoch, state.best_parameters = valid, state.epoch, _parameters(learner)
        state.seconds += time.perf_counter() - begun
        state.cpu += time.process_time() - worked
        state.curve.append(_point(state, loss, valid))
        if save:
            state.current = {}
            state.current = _parameters(learner) | _moments(learner, optimisers)
            save(state)
        if after_epoch:
            after_epoch(state.curve[-1])
        stopped = _stopped(schedule, state)
    if state.best_parameters:
        _restore(learner, {}, state.best_parameters)
    return state.report(stopped)


def _point(state: TrainingState, loss: float, valid: float | None) -> Epoch:
    rounded = None if valid is None else round(valid, 6)
    return Epoch(epoch=state.epoch, loss=round(loss, 6), seconds=round(state.seconds, 2), valid=rounded)


def _stopped(schedule: Schedule, state: TrainingState) -> str:
    """Why to stop now, or nothing."""
    if state.epoch >= schedule.epochs:
        return "all epochs done"
    if state.best_epoch and state.epoch - state.best_epoch >= schedule.patience * schedule.every:
        return "no better on the validation pairs"
    if state.seconds >= schedule.seconds:
        return "out of time"
    return ""


def _epoch(learner: Learner, optimisers: Any, seed: int, state: TrainingState, report: Callable[[int], None]) -> float:
    """One epoch; its mean loss."""
    total, steps = 0.0, 0
    report(0)
    for group, loss in learner.epoch(np.random.default_rng((seed, state.epoch))):
        optimiser = optimisers[group]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        total, steps = total + float(loss.detach()), steps + 1
        if not math.isfinite(total):
            raise NumericalError(_not_finite(state.epoch + 1, steps))
        report(steps)
    return total / max(steps, 1)


def _not_finite(epoch: int, steps: int) -> str:
    if (epoch, steps) == (1, 1):  # nothing has moved yet
        return "The first loss is not finite: a setting is too large or too small for single precision."
    return (
        f"The loss of epoch {epoch} is not finite at step {steps}: lower learning_rate, with a new checkpoint if any."
    )


def _report(progress: Progress, learner: Learner, schedule: Schedule, state: TrainingState, done: int) -> None:
    best = f", valid {state.best:.4f}" if state.best_epoch else ""
    progress(f"epoch {state.epoch + 1}{best}", state.epoch * learner.steps + done, schedule.epochs * learner.steps)


# --- parameters and moments as plain arrays ---------------------------------------------------------------------------


def array_shapes(learner: Learner) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Names and shapes of the parameters, and of the arrays of Adam: none where an epoch has no step."""
    groups = learner.groups().values()
    shapes = {name: tuple(tensor.shape) for group in groups for name, tensor in group.items()}
    moments: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items() if learner.steps else ():
        moments |= {f"{name}.step": ()} | {f"{name}.{moment}": shape for moment in MOMENTS}
    return shapes, moments


def _optimisers(learner: Learner, rate: float) -> "dict[str, torch.optim.Adam]":
    # Rows that a batch does not touch move on by their moments. Moving touched rows only takes half the time of a step,
    # and several times as many steps to learn of users with few pairs.
    groups = learner.groups().items()
    return {name: torch.optim.Adam(list(group.values()), lr=rate, fused=True) for name, group in groups}


def _parameters(learner: Learner) -> Arrays:
    groups = learner.groups().values()
    return {name: _plain(tensor) for group in groups for name, tensor in group.items()}


def _moments(learner: Learner, optimisers: "dict[str, torch.optim.Adam]") -> Arrays:
    moments = {}
    for group, named in learner.groups().items():
        for name, tensor in named.items():
            for moment, value in optimisers[group].state[tensor].items():
                moments[f"{name}.{moment}"] = _plain(value)
    return moments


def _restore(learner: Learner, optimisers: "dict[str, torch.optim.Adam]", arrays: Arrays) -> None:
    """Set parameters, and where an optimiser is given its moments, to arrays of `array_shapes`, if there are any."""
    for group, named in learner.groups().items() if arrays else ():
        for name, tensor in named.items():
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(arrays[name]))
            if group in optimisers and f"{name}.step" in arrays:
                optimisers[group].state[tensor] = {
                    moment: torch.from_numpy(arrays[f"{name}.{moment}"].copy()).to(tensor.device)
                    for moment in ("step", *MOMENTS)
                }


def _plain(tensor: "torch.Tensor") -> NDArray[np.float32]:
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float32)
