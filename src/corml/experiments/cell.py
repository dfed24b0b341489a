"""A cell of a study: one contestant with one set of settings, one seed and one split, and what came of it.

A finished cell is one JSON file with every user's values, so that all tests can be made again from the files alone.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from corml.errors import DataError, ascii_line

__all__ = ["FORMAT", "Cell", "Cost", "key_of"]

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds by the clock and of all processors, without compiling kernels; tuning is that of all its trials."""

    fit_seconds: float = 0.0
    fit_processor: float = 0.0
    score_processor: float = 0.0
    compile_processor: float = 0.0
    trials: int = 0
    tuning_seconds: float = 0.0
    tuning_processor: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """What one fit and its evaluation gave, or the sentence that says why it failed."""

    key: str
    label: str
    model: str = ""
    tuned: bool = False
    seed: int | None = None
    split: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    means: Mapping[str, float] = field(default_factory=dict)
    users: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, dtype=object), repr=False)
    per_user: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    notes: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    cost: Cost = field(default_factory=Cost)
    finished: str = ""
    command: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """JSON that gives back every number to the last bit; what is not finite is written as null."""
        plain = {spec.name: getattr(self, spec.name) for spec in fields(self)}
        plain |= {
            "format": FORMAT,
            "users": self.users.tolist(),
            "per_user": {
                label: [_finite(value) for value in values.tolist()] for label, values in self.per_user.items()
            },
            "means": {label: _finite(mean) for label, mean in self.means.items()},
            "cost": asdict(self.cost),
        }
        return json.dumps(plain, ensure_ascii=False, allow_nan=False, default=str).encode("utf-8", "surrogatepass")

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> Self:
        """The cell of a file; one that no study wrote is an error."""
        try:
            plain = json.loads(content.decode("utf-8", "surrogatepass"))
            if plain.pop("format") != FORMAT:
                raise ValueError("format")
            users = np.empty(len(plain["users"]), dtype=object)
            users[:] = plain["users"]
            per_user = {label: np.array(values, dtype=np.float64) for label, values in plain["per_user"].items()}
            if any(values.shape != users.shape for values in per_user.values()):
                raise ValueError("per_user")
            means = {label: math.nan if mean is None else float(mean) for label, mean in plain["means"].items()}
            arrays = {"users": users, "per_user": per_user, "means": means, "warnings": tuple(plain["warnings"])}
            return cls(**{**plain, **arrays, "cost": Cost(**plain["cost"])})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise DataError(f"{ascii_line(name, 200)} is not a cell of a study: delete it, and run again.") from None


def key_of(name: str, what: Mapping[str, Any]) -> str:
    """A file name for a cell: readable at its front, and different for everything that decides its numbers."""
    digest = hashlib.sha256(json.dumps({"format": FORMAT, **what}, sort_keys=True, default=str).encode()).hexdigest()
    return f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'cell'}-{digest[:16]}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
