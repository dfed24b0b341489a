"""One run of a comparison: a model with its hyperparameters, a seed and a split, and its figures or its error.

A run is one JSON file with the values of every user, so that all tests can be repeated from the files alone.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from corml.persistence.facts import from_plain, is_deep

FORMAT = 2


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Wall-clock seconds and CPU seconds of all threads, without compilation; tuning sums up all trials."""

    fit_seconds: float = 0.0
    fit_processor: float = 0.0
    score_processor: float = 0.0
    compile_processor: float = 0.0
    trials: int = 0
    tuning_seconds: float = 0.0
    tuning_processor: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What one fit and its evaluation gave, or why it failed."""

    key: str
    label: str
    model: str = ""
    tuned: bool = False
    seed: int | None = None
    split: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    error: str = ""
    means: Mapping[str, float] = field(default_factory=dict)
    users: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, dtype=object), repr=False)
    per_user: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    notes: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    cost: Cost = field(default_factory=Cost)
    finished: str = ""
    command: str = ""
    environment: Mapping[str, object] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """JSON that gives back every number to the last bit; a number that is not finite is written as null."""
        plain: dict[str, object] = {spec.name: getattr(self, spec.name) for spec in fields(self)}
        plain |= {
            "format": FORMAT,
            "users": self.users.tolist(),
            "per_user": {label: list(map(_finite, values.tolist())) for label, values in self.per_user.items()},
            "means": {label: _finite(mean) for label, mean in self.means.items()},
            "cost": asdict(self.cost),
        }
        return json.dumps(plain, ensure_ascii=False, allow_nan=False, default=str).encode("utf-8", "surrogatepass")

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The run of a file; the facts are checked, because tables and pages rely on every one of them."""
        plain = json.loads(content.decode("utf-8", "surrogatepass"))
        labels, per_user, means = (plain.pop(name) for name in ("users", "per_user", "means"))
        users = np.empty(len(labels), dtype=object)
        users[:] = labels
        values = {label: np.array(column, dtype=np.float64) for label, column in per_user.items()}
        sound = (
            plain.pop("format") == FORMAT
            and not is_deep(plain)
            and all(isinstance(label, str) for label in labels)
            and len(set(labels)) == len(labels)
            and all(column.shape == users.shape and not np.isinf(column).any() for column in values.values())
        )
        if not sound:
            raise ValueError("no run of a comparison")
        run = from_plain(cls, plain)
        return replace(run, users=users, per_user=values, means={label: _number(mean) for label, mean in means.items()})


def key_of(name: str, facts: Mapping[str, object]) -> str:
    """A file name for a run: readable at its front, and different for everything that decides its numbers."""
    digest = hashlib.sha256(json.dumps({"format": FORMAT, **facts}, sort_keys=True, default=str).encode()).hexdigest()
    return f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'run'}-{digest[:16]}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: object) -> float:
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError("no mean")
    return float(value)  # type: ignore[arg-type]
