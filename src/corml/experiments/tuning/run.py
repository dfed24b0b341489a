"""The search: the defaults first, then one trial after the other until the budget is used up."""

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from corml import models
from corml._runtime.console_progress import shown
from corml._runtime.progress import Asked, Progress
from corml._runtime.settings import Search, build, declared, values_of
from corml._runtime.values import is_number
from corml.data.interactions import Interactions
from corml.errors import NumericalError, ResourceError, UsageError, ascii_line
from corml.evaluation import metrics
from corml.experiments.tuning import lazy_optuna
from corml.experiments.tuning.journal import Journal, open_journal
from corml.experiments.tuning.objective import Objective
from corml.experiments.tuning.parts import parts_of
from corml.experiments.tuning.proposal import distributions, fits, propose
from corml.experiments.tuning.prune import should_stop
from corml.experiments.tuning.space import describe, point_near, rounded, space_of
from corml.experiments.tuning.trial import COMPLETE, FAILED, PRUNED, RUNNING, Trial, key_of
from corml.experiments.tuning.tuned import Tuned
from corml.models.fitted import Epoch
from corml.models.neural.training.validation import METRIC
from corml.models.recommender import Recommender
from corml.splits import Split

__all__ = ["tune"]

POLL = 0.1  # seconds between two looks at what other processes do


def tune(
    model: "str | Recommender | type[Recommender]",
    data: Interactions | Split,
    *,
    metric: str = "ndcg@10",
    trials: int = 30,
    seconds: float | None = None,
    processor_seconds: float | None = None,
    seed: int = 0,
    folds: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    space: Mapping[str, Search | str | Sequence[Any]] | Iterable[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Asked = None,
) -> Tuned:
    """Search for the settings of a model with the best score on held-out pairs.

    Scored on the valid part of a split, or on a fifth of each user's items held out of interactions, or with `folds`
    by cross-validation. The test part of a split is never opened. The first trial has the defaults, untouched.

    The budget is a number of `trials`, of `seconds` that trials take, and of `processor_seconds` (all threads); the
    trial that passes a limit is finished. `journal` is a file that keeps every trial: the same call goes on with it,
    and several processes may use it at once, sharing trials and budget.

    `space` names the settings to search, or says where (see `space_of`); `settings` are fixed in all trials, as are
    those in which a model given as an object differs from the defaults.
    """
    lazy_optuna.require()
    kind, fixed = _model(model, settings)
    searched = space_of(kind, space, fixed)
    budget = Budget(trials, seconds, processor_seconds)
    parsed, parts = metrics.parse(metric), parts_of(data, folds)
    maximise = not next(one for one in metrics.describe() if one.name == parsed.name).better.startswith("lower")
    facts = {
        "model": kind.NAME,
        "metric": parsed.label,
        "data": parts.fingerprint,
        "seed": seed,
        "settings": fixed,
        "space": describe(searched),
    }
    with lazy_optuna.quiet(), open_journal(journal, facts, maximise=maximise) as study, shown(progress) as report:
        objective = Objective(kind, parts.splits, parsed.label, searched)
        search = _Search(kind, searched, fixed, seed, maximise, budget, study, objective, report)
        search.run()
        found = study.trials()
    return Tuned(
        model=kind.NAME,
        metric=parsed.label,
        trials=tuple(trial for trial in found if trial.state != RUNNING),
        searched=tuple(searched),
        maximise=maximise,
        words=parts.words,
    )


def _model(
    given: "str | Recommender | type[Recommender]", settings: Mapping[str, Any] | None
) -> tuple[type[Recommender], dict[str, Any]]:
    """The class, and the settings that are fixed, checked and read."""
    own: dict[str, Any] = {}
    if isinstance(given, Recommender):
        specs = declared(type(given))
        own = {name: value for name, value in values_of(given).items() if value != specs[name].default}
        kind: type[Recommender] = type(given)
    elif isinstance(given, type) and issubclass(given, Recommender):
        kind = given
    elif isinstance(given, str):
        kind = models.get(given)
    else:
        raise UsageError(f"tune takes a model or its name, not {ascii_line(given)}.")
    fixed = {**own, **(settings or {})}
    configured = build(kind, fixed)
    return kind, {name: getattr(configured, name) for name in fixed}


@dataclass(frozen=True)
class Budget:
    """How much may be spent, by all trials of a study."""

    trials: int
    seconds: float | None
    processor_seconds: float | None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not (is_number(value) and value > 0):
                raise UsageError(f"{name} of tune must be a number above 0; got {ascii_line(value)}.")

    def is_spent(self, trials: Sequence[Trial]) -> bool:
        """Whether no other trial is to begin."""
        return len(trials) >= self.trials or self._share(trials) >= 1

    def expected(self, trials: Sequence[Trial]) -> int:
        """How many trials there will be in all, at the pace so far."""
        done, share = sum(trial.state != RUNNING for trial in trials), self._share(trials)
        at_this_pace = self.trials if share <= 0 else min(self.trials, math.ceil(done / min(share, 1)))
        return max(at_this_pace, len(trials))

    def _share(self, trials: Sequence[Trial]) -> float:
        """The share of the time that is spent."""
        limits = {"seconds": self.seconds, "processor_seconds": self.processor_seconds}
        spent = {name: sum(getattr(trial, name) for trial in trials) for name in limits}
        return max((spent[name] / limit for name, limit in limits.items() if limit is not None), default=0.0)


class _Pruned(Exception):
    """Raised inside a fit that is not worth finishing."""


@dataclass(frozen=True)
class _Search:
    """What the loop needs to know."""

    model: type[Recommender]
    space: Mapping[str, Search]
    fixed: dict[str, Any]
    seed: int
    maximise: bool
    budget: Budget
    journal: Journal
    objective: Objective
    progress: Progress

    def run(self) -> None:
        """Run trials until the budget is used up and no other process runs one of this study."""
        while True:
            with self.journal.deciding():
                known = self.journal.trials()
                trial = self._next(known)
            if trial is not None:
                self._run(trial, known)
            elif any(other.state == RUNNING for other in known):
                time.sleep(POLL)  # its outcome belongs to ours, and if its process dies we run it
            else:
                return

    def _next(self, known: list[Trial]) -> Trial | None:
        """A trial whose process is gone, or a new one; None if there is nothing to do now."""
        for trial in known:
            if trial.state == RUNNING and self.journal.claim(trial):
                return trial
        if self.budget.is_spent(known) or (known and known[0].state == RUNNING):
            return None  # the first trial settles what all others need
        among = distributions(self.space, lambda name: declared(self.model)[name].rule.whole)
        for trial in known:
            if trial.point and not fits(trial.point, among):
                self.journal.refuse(trial)
        if not known:
            return self.journal.add(self.fixed, {}, among)
        tried = {key_of(trial.settings) for trial in known}
        point = propose(
            self.space,
            among,
            known,
            seed=self.seed,
            maximise=self.maximise,
            is_new=lambda point: key_of(self._settings(known, point)) not in tried,
            tidy=lambda point: rounded(self.model, self.space, point),
        )
        return None if point is None else self.journal.add(self._settings(known, point), point, among)

    def _settings(self, known: list[Trial], point: Mapping[str, Any]) -> dict[str, Any]:
        return {**known[0].held, **self.fixed, **point}

    def _run(self, trial: Trial, known: list[Trial]) -> None:
        self._show(trial, known, "")
        curve: dict[int, float] = {}

        def after_epoch(epoch: Epoch) -> None:
            self._show(trial, known, f", epoch {epoch.epoch}")
            if epoch.valid is None:
                return
            curve[epoch.epoch] = epoch.valid
            self.journal.report(trial, epoch.epoch, epoch.valid)
            if trial.number and should_stop(curve, known):
                raise _Pruned

        begun, worked = time.perf_counter(), time.process_time()
        outcome: dict[str, Any]
        try:
            scored = self.objective(trial.settings, after_epoch)
            outcome = {"state": COMPLETE, "score": scored.score}
            if trial.number == 0:
                self.objective.defaults = scored.values
                held = scored.model._held_in_search(self.space)
                outcome |= {"held": held, "point": point_near(self.model, self.space, scored.model.settings_)}
        except _Pruned:
            outcome = {"state": PRUNED, "score": max(curve.values()) if self.objective.metric == METRIC else None}
        except (NumericalError, ResourceError) as fault:
            if trial.number == 0:  # nothing to compare with, so nothing to search
                raise
            outcome = {"state": FAILED, "reason": str(fault)}
        outcome |= {"seconds": round(time.perf_counter() - begun, 3)}
        outcome |= {"processor_seconds": round(time.process_time() - worked, 3)}
        if trial.number and outcome["state"] == COMPLETE and self._is_gain(scored.score, known[0]):
            outcome |= {"gain": self.objective.gain(scored, known[0].settings)}
        done = replace(trial, curve=curve, **outcome)
        self.journal.finish(done)
        self._show(done, [*(other for other in known if other.number != trial.number), done], "")

    def _is_gain(self, score: float, defaults: Trial) -> bool:
        assert defaults.score is not None
        return score > defaults.score if self.maximise else score < defaults.score

    def _show(self, trial: Trial, known: list[Trial], more: str) -> None:
        scores = [other.score for other in known if other.score is not None and other.state == COMPLETE]
        best = (max if self.maximise else min)(scores, default=None)
        text = "" if best is None else f", best {self.objective.metric} {best:.4f}"
        done = sum(other.state != RUNNING for other in known)
        expected, most = self.budget.expected(known), self.budget.trials
        limited = "" if expected >= most else f" of at most {most}, time for about {expected}"
        self.progress(f"trial {trial.number}{limited}{more}{text}", done, expected)
