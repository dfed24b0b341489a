"""The trials of a search and its outcome: the best hyperparameters, every trial, and what they show."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Self

from corml import models
from corml._runtime.settings import declared
from corml.evaluation import charts
from corml.experiments.grid import Grid, Value
from corml.experiments.tuning.analysis import importance
from corml.experiments.tuning.drawing import Plot, draw
from corml.experiments.tuning.settings_text import section
from corml.models.recommender import Recommender
from corml.persistence import atomic
from corml.persistence.facts import from_plain, is_deep, to_plain

if TYPE_CHECKING:
    import polars

COMPLETE, PRUNED, FAILED, RUNNING = "complete", "pruned", "failed", "running"
ORDINALS = ("best", "2nd", "3rd")  # best trials in a table


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial; `settings` are those given to the model, so the defaults are an empty mapping.

    A pruned trial has the best score of its epochs; a failed one has none, and `reason` says why.
    """

    number: int
    settings: Mapping[str, object]
    score: float | None = None
    seconds: float = 0.0
    processor_seconds: float = 0.0
    state: str = RUNNING
    reason: str = ""
    gain: tuple[float, float] | None = None  # interval of the score minus that of the defaults, where it is better
    point: Mapping[str, object] = field(default_factory=dict, repr=False)  # where in the search space it is
    curve: tuple[tuple[int, float], ...] = field(default=(), repr=False)  # epochs and their scores
    held: Mapping[str, object] = field(default_factory=dict, repr=False)  # what the first trial settles for the others

    @staticmethod
    def key_of(number: int) -> str:
        """The name of a trial's file."""
        return f"trial-{number:04}"

    @property
    def key(self) -> str:
        """The name of its file."""
        return self.key_of(self.number)

    def to_bytes(self) -> bytes:
        """The trial as JSON."""
        return json.dumps(to_plain(self)).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The trial of a file, with every fact checked."""
        plain = json.loads(content)
        if is_deep([plain]):
            raise ValueError("no trial")
        trial = from_plain(cls, plain)
        if trial.state not in (COMPLETE, PRUNED, FAILED, RUNNING) or (trial.state == COMPLETE and trial.score is None):
            raise ValueError("no trial")
        return trial


def best_of(finished: Sequence[Trial], maximise: bool) -> Trial:
    """The first of the best trials."""
    return (max if maximise else min)(finished, key=lambda trial: trial.score or 0.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class Tuned:
    """The best hyperparameters for a model: `.best`, and `.make()` for a model with them, ready to be fitted.

    `score` is the best on the held-out pairs, so it is slightly optimistic: `evaluate` on a test set tells what the
    model is worth. The first of `trials` has the defaults.
    """

    model: str
    metric: str
    trials: tuple[Trial, ...]
    searched: tuple[str, ...]  # hyperparameters
    maximise: bool = True
    scored_on: str = ""

    @cached_property
    def best_trial(self) -> Trial:
        """The first of the best trials."""
        return self._ranked[0]

    @property
    def best(self) -> dict[str, object]:
        """The hyperparameters to give to the model; none if its defaults were best.

        A value that the model derives from its data, and that the search did not move, is left to the model.
        """
        best = self.best_trial
        if self.model not in models.names():  # a class of one's own, which has no registered name
            return dict(best.settings)
        first, kind = self.trials[0].point, models.get(self.model)
        derived = {name for name, spec in declared(kind).items() if spec.default is None} - {*kind._HELD_IN_SEARCH}
        kept = {name for name in derived & {*self.searched} if name in first and best.point.get(name) == first[name]}
        return {name: value for name, value in best.settings.items() if name not in kept}

    @property
    def advised(self) -> dict[str, object]:
        """The best hyperparameters, or those of the first trial where the gain over them is within noise."""
        return dict(self.trials[0].settings) if self.within_noise else self.best

    @property
    def score(self) -> float:
        """The score of the best trial."""
        assert self.best_trial.score is not None
        return self.best_trial.score

    @property
    def default_score(self) -> float:
        """The score of the first trial: the model's defaults, except for hyperparameters that were fixed."""
        assert self.trials[0].score is not None
        return self.trials[0].score

    @property
    def gain(self) -> tuple[float, float] | None:
        """Interval over users of the best score minus the defaults'; None if the defaults are best or it is unknown.

        The best of many trials is lucky, so this interval is slightly optimistic.
        """
        return self.best_trial.gain

    @property
    def within_noise(self) -> bool:
        """Whether the gain may be chance, because its interval includes 0: then keep the defaults."""
        return self.gain is not None and min(self.gain) <= 0 <= max(self.gain)

    @property
    def seconds(self) -> float:
        """What all trials took together."""
        return sum(trial.seconds for trial in self.trials)

    @property
    def processor_seconds(self) -> float:
        """CPU time of all trials and threads together."""
        return sum(trial.processor_seconds for trial in self.trials)

    @cached_property
    def _ranked(self) -> list[Trial]:
        finished = [trial for trial in self.trials if trial.state == COMPLETE]
        return sorted(finished, key=lambda trial: (-1 if self.maximise else 1) * (trial.score or 0.0))

    def make(self) -> Recommender:
        """A model with the best hyperparameters, not yet fitted."""
        return models.make(self.model, self.best)

    # --- as files and tables -----------------------------------------------------------------------------------------

    def toml(self) -> str:
        """The hyperparameters that are advised, as a section [model], as `corml fit --settings` reads it."""
        return f"# {self._summary()}\n" + section("model", {"name": self.model, **self.advised})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the hyperparameters that are advised as a file for `corml fit --settings`."""
        atomic.replace(path, self.toml().encode())

    def record(self) -> dict[str, object]:
        """Everything, ready for JSON."""
        return {
            "model": self.model,
            "metric": self.metric,
            "scored on": self.scored_on,
            "score": self.score,
            "default score": self.default_score,
            "gain": None if self.gain is None else {"low": self.gain[0], "high": self.gain[1]},
            "within noise": self.within_noise,
            "best": self.best,
            "seconds": round(self.seconds, 3),
            "processor seconds": round(self.processor_seconds, 3),
            "importance": {name: round(value, 4) for name, value in self._importance.items()},
            "trials": [
                {
                    "number": trial.number,
                    "state": trial.state,
                    "score": trial.score,
                    "seconds": trial.seconds,
                    "processor seconds": trial.processor_seconds,
                    "settings": dict(trial.settings),
                    **({"reason": trial.reason} if trial.reason else {}),
                }
                for trial in self.trials
            ],
        }

    def to_frame(self) -> "polars.DataFrame":
        """One row per trial: number, state, score, times, and where in the search space it was."""
        names = ("state", "score", "seconds", "processor_seconds")
        return _frame(
            [
                {"trial": trial.number}
                | {name: getattr(trial, name) for name in names}
                | {name: trial.point.get(name) for name in self.searched}
                for trial in self.trials
            ]
        )

    def history(self) -> "polars.DataFrame":
        """One row per trial with the best score so far, and the seconds spent so far."""
        rows: list[dict[str, object]] = []
        for count, trial in enumerate(self.trials, 1):
            so_far = self.trials[:count]
            finished = [one for one in so_far if one.state == COMPLETE]
            row = {"trial": trial.number, "state": trial.state, "score": trial.score}
            row["best"] = best_of(finished, self.maximise).score if finished else None
            row["seconds"] = round(math.fsum(one.seconds for one in so_far), 3)
            row["processor_seconds"] = round(math.fsum(one.processor_seconds for one in so_far), 3)
            rows.append(row)
        return _frame(rows)

    def importance(self) -> "polars.DataFrame":
        """How much of the order of the trials each hyperparameter explains by itself, 0 to 1, most important first."""
        return _frame([{"setting": name, "importance": value} for name, value in self._importance.items()])

    def slices(self) -> "polars.DataFrame":
        """One row for each hyperparameter and finished trial: its value (text, if not all are numbers), its score."""
        rows = [
            {"setting": name, "trial": trial.number, "value": trial.point[name], "score": trial.score}
            for name in self.searched
            for trial in self.placed
        ]
        if not all(isinstance(row["value"], int | float) for row in rows):
            rows = [{**row, "value": str(row["value"])} for row in rows]
        return _frame(rows)

    @cached_property
    def placed(self) -> list[Trial]:
        """The finished trials inside the search space."""
        return [trial for trial in self.trials if trial.state == COMPLETE and trial.point]

    @cached_property
    def _importance(self) -> dict[str, float]:
        scores = [trial.score or 0.0 for trial in self.placed]
        return importance({name: [trial.point[name] for trial in self.placed] for name in self.searched}, scores)

    def plot(self, kind: Plot = "history") -> charts.Chart:
        """A chart: "history" (the best score so far), "importance" (of the settings) or "slices" (score by value)."""
        return draw(self, kind)

    # --- shown -------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Tuned({self._summary()})"

    def __str__(self) -> str:
        return f"{self._summary()}\n\n{self._table().text()}"

    def brief(self) -> str:
        """The outcome, and the hyperparameters in which the best trial differs from the defaults."""
        first, best = self.trials[0].point, self.best_trial.point
        rows = [(name, _text(first, name), _text(best, name)) for name in self.searched]
        rows = [row for row in rows if row[1] != row[2]]
        return f"{self._summary()}\n\n{_grid(('', 'default', 'best'), rows).text()}" if rows else self._summary()

    def _repr_html_(self) -> str:
        return f"<p>{escape(self._summary())}</p>{self._table().html()}"

    def _summary(self) -> str:
        counts = {state: sum(trial.state == state for trial in self.trials) for state in (PRUNED, FAILED)}
        others = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        return (
            f"{self.model}: {self.metric} {self.score:.4f} on {self.scored_on} (defaults {self.default_score:.4f}"
            f"{self._gained()}) in {len(self.trials)} trials{f' ({others})' if others else ''}, {self.seconds:.0f} s, "
            f"{self.processor_seconds:.0f} CPU s"
        )

    def _gained(self) -> str:
        """How much is gained over the defaults, and whether that may be chance."""
        if self.best_trial is self.trials[0]:
            return ": keep them"
        percent = f", {100 * (self.score / self.default_score - 1):+.1f} %" if self.default_score else ""
        if self.gain is None:
            return percent
        low, high = (f"{end:+.4f}" for end in self.gain)
        noise = ", within noise: keep the defaults" if self.within_noise else ""
        return f"{percent}, difference {low} to {high}{noise}"

    def _table(self) -> Grid:
        """A column for the defaults and for each of the best trials, a row for each hyperparameter."""
        shown = [self.trials[0], *self._ranked[: len(ORDINALS)]]
        rows = [
            ("trial", *(str(trial.number) for trial in shown)),
            (self.metric, *(f"{trial.score:.4f}" for trial in shown)),
            ("seconds", *(f"{trial.seconds:.1f}" for trial in shown)),
            *((name, *(_text(trial.point, name) for trial in shown)) for name in self.searched),
        ]
        return _grid(("", "defaults", *ORDINALS[: len(shown) - 1]), rows)


def _text(point: Mapping[str, object], name: str) -> str:
    value = point.get(name, "")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _grid(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Grid:
    return Grid(heads, tuple(tuple(map(Value, row)) for row in rows))


def _frame(rows: Sequence[Mapping[str, object]]) -> "polars.DataFrame":
    from corml._runtime.lazy_polars import polars

    return polars.DataFrame(rows, infer_schema_length=None, strict=False)
