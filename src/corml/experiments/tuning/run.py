"""The search: the defaults first, then one trial after the other until the budget is used up."""

import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from corml import models
from corml._runtime.console_progress import shown
from corml._runtime.progress import Asked, Progress
from corml._runtime.settings import Search, build
from corml.data.interactions import Interactions
from corml.errors import DataError, NumericalError, ResourceError, UsageError, ascii_line
from corml.evaluation.metrics import describe, parse
from corml.experiments.candidates import changed
from corml.experiments.store import Store
from corml.experiments.tuning import lazy_optuna
from corml.experiments.tuning.objective import Objective, validation_of
from corml.experiments.tuning.proposal import Point, propose
from corml.experiments.tuning.space import Range, contains, point_near, space_of
from corml.experiments.tuning.tuned import COMPLETE, FAILED, PRUNED, RUNNING, Trial, Tuned, best_of
from corml.models.fitted import Epoch
from corml.models.neural.training.validation import METRIC
from corml.models.recommender import Recommender
from corml.persistence.facts import is_deep
from corml.splits import Split

POLL = 0.1  # seconds between two looks at what other processes do
TRIALS, EPOCHS = 4, 5  # finished trials, and epochs of a trial, before it may be pruned


def tune(
    model: str | Recommender | type[Recommender],
    data: Interactions | Split,
    *,
    metric: str = "ndcg@10",
    trials: int = 30,
    seconds: float | None = None,
    processor_seconds: float | None = None,
    seed: int = 0,
    folds: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    space: Mapping[str, Range] | Iterable[str] | None = None,
    settings: Mapping[str, object] | None = None,
    progress: Asked = None,
) -> Tuned:
    """Search for the hyperparameters of a model with the best score on held-out pairs.

    Scored on the validation set of a split, or on a fifth of each user's items held out of interactions, or with
    `folds` by cross-validation. The test set of a split is never opened. The first trial has the defaults.

    The budget is a number of `trials`, of `seconds` that trials take, and of `processor_seconds` (CPU time of all
    threads); the trial that passes a limit is finished. `journal` is a folder that keeps every trial: the same call
    resumes from it, and several processes may use it at once, sharing trials and budget.

    `space` names the hyperparameters to search, or says where (see `space_of`); `settings` are fixed in all trials, as
    are those in which a model given as an object differs from the defaults.
    """
    lazy_optuna.require()
    kind, fixed = _model(model, settings)
    searched = space_of(kind, space, fixed)
    budget = Budget(trials, seconds, processor_seconds)
    parsed, validation = parse(metric), validation_of(data, folds)
    maximise = not next(one for one in describe() if one.name == parsed.name).better.startswith("lower")
    facts = {
        "model": kind.NAME,
        "metric": parsed.label,
        "data": validation.fingerprint,
        "seed": seed,
        "settings": fixed,
        "space": {name: [search.kind, *search.values] for name, search in searched.items()},
    }
    store = Store(Trial, journal)
    objective = Objective(kind, validation.splits, parsed.label, searched)
    with lazy_optuna.quiet(), shown(progress) as report:
        _resume(store, facts)
        search = _Search(kind, searched, fixed, seed, maximise, budget, store, objective, report)
        try:
            finished = search.run()
        finally:
            store.release()
    return Tuned(
        model=kind.NAME,
        metric=parsed.label,
        trials=tuple(finished),
        searched=tuple(searched),
        maximise=maximise,
        scored_on=validation.phrase,
    )


def _model(
    given: "str | Recommender | type[Recommender]", settings: Mapping[str, object] | None
) -> tuple[type[Recommender], dict[str, object]]:
    """The class, and the hyperparameters that are fixed, checked and read."""
    if isinstance(given, str):
        kind: type[Recommender] = models.get(given)
    elif isinstance(given, type) and issubclass(given, Recommender):
        kind = given
    elif isinstance(given, Recommender):
        kind = type(given)
    else:
        raise UsageError(f"tune takes a model or its name, not {ascii_line(given)}.")
    fixed = {**(changed(given) if isinstance(given, Recommender) else {}), **(settings or {})}
    configured = build(kind, fixed)
    return kind, {name: getattr(configured, name) for name in fixed}


def _resume(store: Store[Trial], facts: Mapping[str, object]) -> None:
    """Begin a search, or resume one; a search with other facts is refused."""
    store.create()
    with store.deciding():
        plan, name = store.plan(), ascii_line(store.folder, 200)
        if plan is None:
            store.write_plan({"search": facts})
            return
        recorded = plan.get("search") if isinstance(plan, dict) else None
        if not isinstance(recorded, dict) or is_deep(recorded):
            raise DataError(f"{name} is not a journal of corml tune: choose another.")
        for what, value in json.loads(json.dumps(facts)).items():  # as they are read back
            if recorded.get(what) != value:
                raise UsageError(
                    f"The journal {name} is for another {what} ({ascii_line(recorded.get(what), 40)}, not "
                    f"{ascii_line(value, 40)}): continue it with the same options, or choose another journal."
                )


@dataclass(frozen=True)
class Budget:
    """How much may be spent, by all trials of a search."""

    trials: int
    seconds: float | None
    processor_seconds: float | None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and value > 0):
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
    """What the loop needs."""

    model: type[Recommender]
    space: Mapping[str, Search]
    fixed: dict[str, object]
    seed: int
    maximise: bool
    budget: Budget
    store: Store[Trial]
    objective: Objective
    progress: Progress

    def run(self) -> list[Trial]:
        """Run trials until the budget is used up and no other process runs one of this search; all that ended."""
        ended: list[Trial] = []
        while True:
            with self.store.deciding():
                trials = self._trials(ended)
                trial = self._next(trials)
            if trial is not None:
                self._run(trial, trials)
            elif any(other.state == RUNNING for other in trials):
                time.sleep(POLL)  # its outcome belongs to ours, and if its process dies we run it
            else:
                return trials

    def _trials(self, ended: list[Trial]) -> list[Trial]:
        """All trials in their order, also those that run now; `ended` are the first ones, which need not be read."""
        trials = list(ended)
        while (trial := self.store.get(Trial.key_of(len(trials)))) is not None:
            if trial.point and not contains(self.space, trial.point):
                raise self.store.damaged(trial.key)
            if trial.state != RUNNING and len(ended) == len(trials):
                ended.append(trial)
            trials.append(trial)
        return trials

    def _next(self, trials: list[Trial]) -> Trial | None:
        """A trial whose process is gone, or a new one; None if there is nothing to do now."""
        for trial in trials:
            if trial.state == RUNNING and self.store.claim(trial.key):
                return trial
        if self.budget.is_spent(trials) or (trials and trials[0].state == RUNNING):
            return None  # the first trial settles what all others need
        point: Point | None = {}
        if trials:
            tried = {_text(trial.settings) for trial in trials}
            point = propose(
                self.model,
                self.space,
                trials,
                seed=self.seed,
                maximise=self.maximise,
                is_new=lambda point: _text(self._settings(trials, point)) not in tried,
            )
        if point is None:
            return None
        trial = Trial(number=len(trials), settings=self._settings(trials, point), point=point)
        self.store.claim(trial.key)
        self.store.put(trial)
        return trial

    def _settings(self, trials: list[Trial], point: Point) -> dict[str, object]:
        return {**(trials[0].held if trials else {}), **self.fixed, **point}

    def _run(self, trial: Trial, trials: list[Trial]) -> None:
        self._show(trial, trials)
        curve: dict[int, float] = {}

        def after_epoch(epoch: Epoch) -> None:
            self._show(trial, trials, f", epoch {epoch.epoch}")
            if epoch.valid is not None:
                curve[epoch.epoch] = epoch.valid
                if trial.number and should_stop(curve, trials):
                    raise _Pruned

        begun, worked = time.perf_counter(), time.process_time()
        done, scored = trial, None
        try:
            scored = self.objective(trial.settings, after_epoch)
            done = replace(trial, state=COMPLETE, score=scored.score)
        except _Pruned:
            done = replace(trial, state=PRUNED, score=max(curve.values()) if self.objective.metric == METRIC else None)
        except (NumericalError, ResourceError) as fault:
            if trial.number == 0:  # nothing to compare with, so nothing to search
                raise
            done = replace(trial, state=FAILED, reason=str(fault))
        spent = round(time.perf_counter() - begun, 3), round(time.process_time() - worked, 3)
        done = replace(done, curve=tuple(curve.items()), seconds=spent[0], processor_seconds=spent[1])
        if scored is not None and trial.number == 0:
            self.objective.defaults = scored.values
            point = point_near(self.model, self.space, scored.model.settings_)
            done = replace(done, held=scored.model._held_in_search(self.space), point=point)
        elif scored is not None and best_of([trials[0], done], self.maximise) is done:
            done = replace(done, gain=self.objective.gain(scored, trials[0].settings))
        self.store.put(done)
        self.store.release(done.key)
        self._show(done, [*(other for other in trials if other.number != done.number), done])

    def _show(self, trial: Trial, trials: list[Trial], more: str = "") -> None:
        finished = [other for other in trials if other.state == COMPLETE]
        best = f", best {self.objective.metric} {best_of(finished, self.maximise).score:.4f}" if finished else ""
        done = sum(other.state != RUNNING for other in trials)
        expected, most = self.budget.expected(trials), self.budget.trials
        limited = "" if expected >= most else f" of at most {most}, time for about {expected}"
        self.progress(f"trial {trial.number}{limited}{more}{best}", done, expected)


def should_stop(curve: Mapping[int, float], trials: Sequence[Trial]) -> bool:
    """Whether a trial's best score so far is below the median of the finished trials after as many epochs.

    Scores are NDCG@10 on the held-out pairs, by which models stop early, so higher is better whatever is tuned for.
    """
    curves = [trial.curve for trial in trials if trial.state == COMPLETE and trial.curve]
    epoch = max(curve)
    if len(curves) < TRIALS or epoch < EPOCHS:
        return False
    best = sorted(max(score for at, score in one if at <= epoch) for one in curves)
    return max(curve.values()) < best[len(best) // 2]


def _text(settings: Mapping[str, object]) -> str:
    """Text that equal hyperparameters share."""
    return json.dumps(settings, sort_keys=True)
