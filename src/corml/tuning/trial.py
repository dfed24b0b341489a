"""One trial of a search: its settings, its score and what it took."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["COMPLETE", "FAILED", "PRUNED", "RUNNING", "Trial", "key_of"]

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
    point: Mapping[str, Any] = field(default_factory=dict, repr=False)  # where in the search space it is
    curve: Mapping[int, float] = field(default_factory=dict, repr=False)  # scores after epochs, where there are any
    held: Mapping[str, Any] = field(default_factory=dict, repr=False)  # what the first trial settles for the others


def key_of(settings: Mapping[str, Any]) -> str:
    """Text that equal settings share."""
    return json.dumps(settings, sort_keys=True)
