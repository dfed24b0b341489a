"""The outcome of a search: the best settings, every trial, and what they say."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from corml import charts, models
from corml.recommender import Recommender
from corml.storage import atomic
from corml.tuning import analysis
from corml.tuning.drawing import draw
from corml.tuning.settings_text import section
from corml.tuning.trial import COMPLETE, FAILED, PRUNED, Trial

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
        """The settings to give to the model; none if its defaults were best."""
        return dict(self.best_trial.settings)

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
        """The best settings as a section [model], as `corml fit --settings` reads it."""
        head = f"# {self._sentence()}\n"
        return head + section("model", {"name": self.model, **self.best})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the best settings as a file for `corml fit --settings`."""
        atomic.replace(path, self.toml().encode())

    def record(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "model": self.model,
            "metric": self.metric,
            "scored on": self.words,
            "score": self.score,
            "default score": self.default_score,
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
        rows = self._table()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [row[0].ljust(widths[0]) + _to_the_right(row[1:], widths[1:]) for row in rows]
        return "\n".join([self._sentence(), "", *lines])

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        titles = "".join(f"<th>{escape(title)}</th>" for title in head)
        cells = (f"<th>{escape(row[0])}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<p>{escape(self._sentence())}</p><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"

    def _sentence(self) -> str:
        gain = self.score / self.default_score - 1 if self.default_score else 0.0
        return (
            f"{self.model}: {self.metric} {self.score:.4f} on {self.words} (defaults {self.default_score:.4f}, "
            f"{100 * gain:+.1f} %) in {len(self.trials)} trials{self._others()}, {self.seconds:.0f} s, "
            f"{self.processor_seconds:.0f} processor seconds"
        )

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


def _to_the_right(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _frame(rows: list[dict[str, Any]]) -> "polars.DataFrame":
    from corml.lazy_polars import polars

    return polars.DataFrame(rows, infer_schema_length=None, strict=False)
