"""Compare models: make every run that is not finished yet, whichever fail, and put the study together."""

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from corml._runtime import memory
from corml._runtime.compiled import compilation
from corml._runtime.console_progress import shown
from corml._runtime.progress import Asked, Progress
from corml._runtime.values import nearest
from corml.data.interactions import Interactions
from corml.errors import CormlError, DataError, ModelFileError, UsageError, ascii_line
from corml.evaluation import Result, evaluate, evaluate_lists
from corml.evaluation.task import early_stopping
from corml.experiments.analysis import assemble
from corml.experiments.candidates import Given, candidates
from corml.experiments.plan import Design, DesignOptions, Plan, PlannedRun, Provenance, Row, SplitFacts, rows_of
from corml.experiments.record import FORMAT, Cost, Run
from corml.experiments.store import PLAN, Store, damaged
from corml.experiments.study import Study
from corml.experiments.tuning import Tuned, lazy_optuna, tune
from corml.models.saved.model_file import environment
from corml.persistence.facts import to_plain
from corml.persistence.locks import held
from corml.splits import Split
from corml.splits import split as split_data

if TYPE_CHECKING:
    from corml.evaluation.external_lists import ExternalLists

UNLIMITED = 10_000  # trials, where only seconds are limited

Notify: TypeAlias = Callable[[str], None]


def compare(
    models: Given | Iterable[Given] | Mapping[str, Given],
    data: Interactions | Split | Sequence[Split],
    *,
    lists: "Mapping[str, ExternalLists] | None" = None,
    targets: str | Sequence[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    command: str = "",
    progress: Asked = None,
    notify: Notify | None = None,
    **options: Unpack[DesignOptions],
) -> Study:
    """Fit and evaluate models on the same split, with the same masks and for the same users, and test who is better.

    `models` are names with hyperparameters ("ease:l2=500"), models, or "label=file" for lists; a mapping labels them.
    `data` are interactions, which are split by ratio, a split, or several splits, over which figures are averaged.
    With `targets="purchase"` only held-out pairs with such an event count as relevant, as for `evaluate`. With `folder`
    every finished run is kept there: the same call resumes, and a call of another process meanwhile is refused. A model
    that fails is reported in the study, and the others finish.

    The options, with their defaults: `metrics`; `primary="ndcg@10"`, the metric that decides, named beforehand;
    `baseline`, with which all models are compared (None: with the best); `seeds=1` of each model that has one;
    `trials=0` and CPU `seconds=None`, within which each model is tuned on the validation set as well; and for
    intervals over users `confidence=0.95`, `resamples=1000` and `seed=0`.
    """
    design = Design.of(**options)
    compared = candidates(models, lists)
    splits = _splits(data)
    splits = splits if targets is None else tuple(one.judging(targets) for one in splits)
    rows = rows_of(compared, splits, design)
    labels = [row.planned.label for row in rows]
    if design.baseline is not None and design.baseline not in labels:
        baseline = ascii_line(design.baseline)
        raise UsageError(f"The baseline {baseline} is not among the models{nearest(design.baseline, labels)}")
    if any(row.planned.tuned for row in rows):
        lazy_optuna.require()
    plan = _plan(design, rows, splits, command)
    with nullcontext() if folder is None else held(folder, folder=True), shown(progress) as report:
        store = Store(Run, folder)
        _resume(store, plan)
        runner = Runner(design=design, store=store, command=command, progress=report)
        runner.finish([run for row in rows for run in row.runs], notify)
        return _study(plan, store)


def read_study(folder: str | os.PathLike[str]) -> Study:
    """The study in a folder as it was last planned; models without all their runs are not finished."""
    store = Store(Run, folder)
    plan = _read_plan(store)
    if plan is None:
        raise DataError(f"{ascii_line(folder, 200)} is not the folder of a study: it has no {PLAN}.")
    return _study(plan, store)


def _study(plan: Plan, store: Store[Run]) -> Study:
    runs = {key: store.get(key) for one in plan.models for key in one.runs}
    for key, run in runs.items():
        if run is not None and not run.error and not set(plan.design.metrics) <= set(run.means):
            raise store.damaged(key)
    return assemble(plan, runs)


# --- the plan --------------------------------------------------------------------------------------------------------


def _splits(data: object) -> tuple[Split, ...]:
    given = [split_data(data)] if isinstance(data, Interactions) else [data] if isinstance(data, Split) else data
    splits = tuple(one for one in given if isinstance(one, Split)) if isinstance(given, Sequence) else ()
    if not splits or len(splits) < len(given):  # type: ignore[arg-type]
        raise UsageError(f"compare takes Interactions, a Split or several, not {type(data).__name__}: use corml.load.")
    if len({one.fingerprint for one in splits}) < len(splits):
        raise UsageError("Two of the splits are the same: make each with a seed of its own.")
    return splits


def _plan(design: Design, rows: Sequence[Row], splits: Sequence[Split], command: str) -> Plan:
    return Plan(
        design=design,
        models=tuple(row.planned for row in rows),
        splits=tuple(
            SplitFacts(fingerprint=one.fingerprint, procedure=dict(one.procedure), counts=one.counts())
            for one in splits
        ),
        provenance=Provenance(command=command, data=dict(splits[0].train.source), environment=environment()),
    )


def _read_plan(store: Store[Run]) -> Plan | None:
    plain = store.plan()
    if plain is None:
        return None
    assert store.folder is not None
    if isinstance(plain, dict) and plain.get("format", FORMAT) != FORMAT:
        name = ascii_line(store.folder, 200)
        raise DataError(f"The study in {name} was made by another version of corml: choose another folder.")
    try:
        return Plan.read(plain)
    except (TypeError, UsageError, ModelFileError):
        raise damaged(store.folder / PLAN) from None


def _resume(store: Store[Run], plan: Plan) -> None:
    """Write the plan, unless the store holds a study of another split or with another primary metric."""
    earlier = _read_plan(store)
    if earlier is not None:
        name = ascii_line(store.folder, 200)
        was, now = ([one.fingerprint for one in which.splits] for which in (earlier, plan))
        if was != now:
            raise DataError(
                f"{name} holds a study of another split ({_short(was)} is recorded, {_short(now)} is given): "
                "load and split the data as before, or choose another folder."
            )
        if earlier.design.primary != plan.design.primary:
            raise DataError(
                f"The primary metric of the study in {name} is {earlier.design.primary}, named when it began: keep it, "
                "or choose another folder."
            )
    store.create()
    store.write_plan(to_plain(plan))


def _short(fingerprints: Sequence[str]) -> str:
    return ", ".join(ascii_line(one[:12]) for one in fingerprints)


# --- the runs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Makes runs and keeps them; what all of them share."""

    design: Design
    store: Store[Run]
    command: str = ""
    progress: Progress | None = None
    _searches: dict[str, Tuned] = field(default_factory=dict)

    def finish(self, planned: Sequence[PlannedRun], notify: Notify | None) -> None:
        """Make every run that is not finished; one that failed is tried again. `notify` gets a line for each."""
        begun, made, total = time.monotonic(), 0, len(planned)
        self._show(0, total)
        for done, one in enumerate(planned, 1):
            run = self.store.get(one.key)
            if run is None or run.error:
                run = self.run(one)
                self.store.put(run)
                made += 1
                left = (time.monotonic() - begun) / made * (total - done)
                seed = "" if run.seed is None else f", seed {run.seed}"
                primary = self.design.primary
                outcome = f"failed: {run.error}" if run.error else f"{primary} {run.means[primary]:.4f}"
                if notify is not None:
                    rest = f"; about {left:.0f} s left" if done < total else ""
                    notify(f"{done} of {total}: {one.label}{seed}: {outcome}{rest}")
            self._show(done, total)

    def run(self, planned: PlannedRun) -> Run:
        """A finished run, or one with the error: a study continues without it."""
        blank = Run(
            key=planned.key,
            label=planned.label,
            model=planned.candidate.name,
            tuned=planned.search is not None,
            seed=planned.seed,
            split=planned.split.fingerprint,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                run = self._lists(planned, blank) if planned.candidate.model is None else self._model(planned, blank)
            except Exception as fault:  # whatever a model does wrong, the others are to finish
                run = replace(blank, error=_message(fault))
        texts = tuple(dict.fromkeys(map(_warned, caught)))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(run, warnings=texts, finished=now, command=self.command, environment=environment())

    def _model(self, planned: PlannedRun, blank: Run) -> Run:
        tuned = None if planned.search is None else self._tuned(planned, planned.search)
        chosen = {} if tuned is None else tuned.best
        model = planned.candidate.build({**chosen, **({} if planned.seed is None else {"seed": planned.seed})})
        with measured() as fitting:
            model.fit(planned.split.train, progress=self.progress, **early_stopping(model, planned.split))
        with measured() as scoring:
            result = evaluate(model, planned.split, self.design.metrics, intervals=False, progress=self.progress)
        cost = Cost(
            fit_seconds=fitting.seconds,
            fit_processor=fitting.processor,
            score_processor=scoring.processor,
            compile_processor=fitting.compile_processor + scoring.compile_processor,
            trials=0 if tuned is None else len(tuned.trials),
            tuning_seconds=0.0 if tuned is None else tuned.seconds,
            tuning_processor=0.0 if tuned is None else tuned.processor_seconds,
        )
        return replace(blank, settings=dict(model.settings_), cost=cost, **_figures(result))

    def _lists(self, planned: PlannedRun, blank: Run) -> Run:
        assert planned.candidate.lists is not None
        result = evaluate_lists(planned.candidate.lists, planned.split, self.design.metrics, intervals=False, mask=True)
        return replace(blank, **_figures(result))

    def _tuned(self, planned: PlannedRun, key: str) -> Tuned:
        """The search for the hyperparameters of a model, which all its seeds share; a finished one is only read."""
        if key not in self._searches:
            assert planned.candidate.model is not None
            folder = self.store.folder
            self._searches[key] = tune(
                planned.candidate.model,
                planned.split,
                metric=self.design.primary,
                trials=self.design.trials or UNLIMITED,
                processor_seconds=self.design.seconds,
                seed=self.design.seed,
                journal=None if folder is None else folder / "searches" / key,
                progress=self.progress,
            )
        return self._searches[key]

    def _show(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress("study", done, total)


class Figures(TypedDict):
    """The part of a run that an evaluation gives."""

    means: dict[str, float]
    users: NDArray[np.object_]
    per_user: dict[str, NDArray[np.float64]]
    notes: dict[str, int]


def _figures(result: Result) -> Figures:
    per_user = {label: np.asarray(values, dtype=np.float64) for label, values in result.per_user.items()}
    return {"means": dict(result.means), "users": result.users, "per_user": per_user, "notes": dict(result.notes)}


def _warned(one: warnings.WarningMessage) -> str:
    """A warning in words; the class of one from another library says where it is from."""
    own = one.category.__module__ == "corml.errors"
    return str(one.message) if own else f"{one.category.__name__}: {one.message}"


def _message(fault: Exception) -> str:
    if isinstance(fault, CormlError):
        return " ".join(str(fault).split())
    return memory.SHORT if memory.is_shortage(fault) else f"{type(fault).__name__}: {ascii_line(fault, 200)}"


@dataclass
class Spent:
    """What some work took; compilation happens once on a machine, so it is kept apart."""

    seconds: float = 0.0
    processor: float = 0.0
    compile_processor: float = 0.0


@contextmanager
def measured() -> Iterator[Spent]:
    """Measure what is done inside; also if it fails."""
    spent, compiled, started = Spent(), np.zeros(2), np.zeros(2)

    def now() -> NDArray[np.float64]:
        return np.array([time.perf_counter(), time.process_time()])

    def compiling(done: int, begun: int) -> None:
        nonlocal compiled, started
        if done < begun:
            started = now()
        else:
            compiled = compiled + now() - started

    begun = now()
    try:
        with compilation(compiling):
            yield spent
    finally:
        spent.seconds, spent.processor = (now() - begun - compiled).tolist()
        spent.compile_processor = float(compiled[1])
