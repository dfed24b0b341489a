"""One trial of a search: its settings, its score and what it took."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["COMPLETE", "FAILED", "PRUNED", "RUNNING", "Trial", "is_sound", "key_of"]

COMPLETE, PRUNED, FAILED, RUNNING = "complete", "pruned", "failed", "running"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial; `settings` are those given to the model, so the defaults are an empty mapping.

    A pruned trial has the best score of the epochs it had; a failed one has none, and `reason` says why.
    """

    number: int
    settings: Mapping[str, Any]
    score: float | None = None
    seconds: float = 0.0
    processor_seconds: float = 0.0
    state: str = RUNNING
    reason: str = ""
    gain: Sequence[float] | None = None  # interval of the score minus that of the defaults, where it is better
    point: Mapping[str, Any] = field(default_factory=dict, repr=False)  # where in the search space it is
    curve: Mapping[int, float] = field(default_factory=dict, repr=False)  # scores after epochs, where there are any
    held: Mapping[str, Any] = field(default_factory=dict, repr=False)  # what the first trial settles for the others


def is_sound(trial: Trial) -> bool:
    """Whether a trial that was read has facts of the forms that a search writes."""
    mappings = (trial.settings, trial.point, trial.held, trial.curve)
    numbers = [trial.seconds, trial.processor_seconds, *([] if trial.score is None else [trial.score])]
    gain = (0.0, 0.0) if trial.gain is None else trial.gain
    return (
        all(isinstance(one, Mapping) for one in mappings)
        and isinstance(gain, list | tuple)
        and len(gain) == 2
        and all(type(one) in (int, float) and math.isfinite(one) for one in gain)
        and all(type(one) in (int, float) and math.isfinite(one) for one in [*numbers, *trial.curve.values()])
        and isinstance(trial.reason, str)
        and (trial.score is not None or trial.state != COMPLETE)
    )


def key_of(settings: Mapping[str, Any]) -> str:
    """Text that equal settings share."""
    return json.dumps(settings, sort_keys=True)
