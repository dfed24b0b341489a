"""The outcome of a search: the best settings, every trial, and what they say."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from corml import models
from corml._runtime.settings import declared
from corml.evaluation import charts
from corml.experiments.tuning import analysis
from corml.experiments.tuning.drawing import draw
from corml.experiments.tuning.settings_text import section
from corml.experiments.tuning.trial import COMPLETE, FAILED, PRUNED, Trial
from corml.models.recommender import Recommender
from corml.persistence import atomic

if TYPE_CHECKING:
    import polars

__all__ = ["Tuned"]

ORDINALS = ("best", "2nd", "3rd")  # best trials in a table
SHOWN = len(ORDINALS)


@dataclass(frozen=True, kw_only=True, repr=False)
class Tuned:
    """The best settings found for a model: `.best`, and `.make()` for a model with them, ready to be fitted.

    `score` is the best on the held-out pairs, so it flatters the model a little: what it is worth is told by a test
    part, with `evaluate`. The first of `trials` has the defaults.
    """

    model: str
    metric: str
    trials: tuple[Trial, ...]
    searched: tuple[str, ...]  # settings
    maximise: bool = True
    words: str = ""  # what was scored on

    @cached_property
    def best_trial(self) -> Trial:
        """The first of the best trials."""
        return self._ranked[0]

    @property
    def best(self) -> dict[str, Any]:
        """The settings to give to the model; none if its defaults were best.

        A value that the model derives from its data, and that the search did not move, is left to the model.
        """
        best = self.best_trial
        if self.model not in models.names():  # a class of one's own, which nothing finds by its name
            return dict(best.settings)
        first, kind = self.trials[0].point, models.get(self.model)
        derived = {name for name, spec in declared(kind).items() if spec.default is None} - {*kind._HELD_IN_SEARCH}
        kept = {name for name in derived & {*self.searched} if name in first and best.point.get(name) == first[name]}
        return {name: value for name, value in best.settings.items() if name not in kept}

    @property
    def advised(self) -> dict[str, Any]:
        """The best settings, or those of the first trial where the gain over them is within noise."""
        return dict(self.trials[0].settings) if self.within_noise else self.best

    @property
    def score(self) -> float:
        """The score of the best trial."""
        assert self.best_trial.score is not None
        return self.best_trial.score

    @property
    def default_score(self) -> float:
        """The score of the first trial: the model's defaults, but for settings that were fixed."""
        assert self.trials[0].score is not None
        return self.trials[0].score

    @property
    def gain(self) -> tuple[float, float] | None:
        """Interval over users of the best score minus the defaults'; none if the defaults are best or it is unknown.

        The best of many trials is a little lucky, so this interval flatters it.
        """
        ends = self.best_trial.gain
        return None if ends is None else (float(ends[0]), float(ends[1]))

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
        """What all trials took of the processor, all threads together."""
        return sum(trial.processor_seconds for trial in self.trials)

    @cached_property
    def _ranked(self) -> list[Trial]:
        finished = [trial for trial in self.trials if trial.state == COMPLETE]
        return sorted(finished, key=lambda trial: (-1 if self.maximise else 1) * (trial.score or 0.0))

    def make(self) -> Recommender:
        """A model with the best settings, not yet fitted."""
        return models.make(self.model, self.best)

    # --- as files and tables -----------------------------------------------------------------------------------------

    def toml(self) -> str:
        """The settings that are advised, as a section [model], as `corml fit --settings` reads it."""
        head = f"# {self._sentence()}\n"
        return head + section("model", {"name": self.model, **self.advised})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the settings that are advised as a file for `corml fit --settings`."""
        atomic.replace(path, self.toml().encode())

    def record(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "model": self.model,
            "metric": self.metric,
            "scored on": self.words,
            "score": self.score,
            "default score": self.default_score,
            "gain": None if self.gain is None else {"low": self.gain[0], "high": self.gain[1]},
            "within noise": self.within_noise,
            "best": self.best,
            "seconds": round(self.seconds, 3),
            "processor seconds": round(self.processor_seconds, 3),
            "importance": {row["setting"]: round(row["importance"], 4) for row in self._importance},
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
        rows = [
            {
                "trial": trial.number,
                "state": trial.state,
                "score": trial.score,
                "seconds": trial.seconds,
                "processor_seconds": trial.processor_seconds,
                **{name: trial.point.get(name) for name in self.searched},
            }
            for trial in self.trials
        ]
        return _frame(rows)

    def history(self) -> "polars.DataFrame":
        """One row per trial with the best score so far, and the seconds spent so far."""
        return _frame(analysis.history(self.trials, maximise=self.maximise))

    def importance(self) -> "polars.DataFrame":
        """How much of the order of the trials each setting explains by itself, 0 to 1, most important first."""
        return _frame(self._importance)

    def slices(self) -> "polars.DataFrame":
        """One row for each setting of each finished trial: its value there (text, if not all are numbers) and score."""
        rows = analysis.slices(self.trials, self.searched)
        if not all(isinstance(row["value"], int | float) for row in rows):
            rows = [{**row, "value": str(row["value"])} for row in rows]
        return _frame(rows)

    @cached_property
    def _importance(self) -> list[dict[str, Any]]:
        return analysis.importance(self.trials, self.searched)

    def plot(self, kind: str = "history") -> charts.Chart:
        """A chart: "history" (the best score so far), "importance" (of the settings) or "slices" (score by value)."""
        return draw(self, kind)

    # --- shown -------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Tuned({self._sentence()})"

    def __str__(self) -> str:
        return _laid_out(self._sentence(), self._table())

    def brief(self) -> str:
        """The outcome, and the settings in which the best trial differs from the defaults."""
        first, best = self.trials[0].point, self.best_trial.point
        changed = [name for name in self.searched if _cell(first, name) != _cell(best, name)]
        if not changed:
            return self._sentence()
        rows = [["", "default", "best"], *([name, _cell(first, name), _cell(best, name)] for name in changed)]
        return _laid_out(self._sentence(), rows)

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        titles = "".join(f"<th>{escape(title)}</th>" for title in head)
        cells = (f"<th>{escape(row[0])}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<p>{escape(self._sentence())}</p><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"

    def _sentence(self) -> str:
        return (
            f"{self.model}: {self.metric} {self.score:.4f} on {self.words} (defaults {self.default_score:.4f}"
            f"{self._gained()}) in {len(self.trials)} trials{self._others()}, {self.seconds:.0f} s, "
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

    def _others(self) -> str:
        counts = {state: sum(trial.state == state for trial in self.trials) for state in (PRUNED, FAILED)}
        words = [f"{count} {state}" for state, count in counts.items() if count]
        return f" ({', '.join(words)})" if words else ""

    def _table(self) -> list[list[str]]:
        """Rows of text: a column for the defaults and for each of the best trials, a row for each setting."""
        shown = [self.trials[0], *self._ranked[:SHOWN]]
        return [
            ["", "defaults", *(ORDINALS[: len(shown) - 1])],
            ["trial", *(str(trial.number) for trial in shown)],
            [self.metric, *(f"{trial.score:.4f}" for trial in shown)],
            ["seconds", *(f"{trial.seconds:.1f}" for trial in shown)],
            *([name, *(_cell(trial.point, name) for trial in shown)] for name in self.searched),
        ]


def _cell(point: Mapping[str, Any], name: str) -> str:
    value = point.get(name, "")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _laid_out(sentence: str, rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [row[0].ljust(widths[0]) + _to_the_right(row[1:], widths[1:]) for row in rows]
    return "\n".join([sentence, "", *lines])


def _to_the_right(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _frame(rows: list[dict[str, Any]]) -> "polars.DataFrame":
    from corml._runtime.lazy_polars import polars

    return polars.DataFrame(rows, infer_schema_length=None, strict=False)
