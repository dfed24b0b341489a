"""The trials of a study, in memory or on file: a journal of Optuna's, which its own tools can open.

A trial is on file with its settings before it runs, and its outcome is one line that ends it. So a process that is
killed leaves a trial without an outcome, whose lock is free: whoever comes next runs it again under its number.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from corml.errors import DataError, UsageError, ascii_line
from corml.experiments.tuning.locks import Locks
from corml.experiments.tuning.trial import COMPLETE, FAILED, PRUNED, RUNNING, Trial, is_sound
from corml.persistence import atomic

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

__all__ = ["Journal", "open_journal"]

NAME = "corml tune"
FACTS = "corml"
KEPT = ("settings", "point", "held", "seconds", "processor_seconds", "reason", "gain")  # of a trial


@contextmanager
def open_journal(
    path: str | os.PathLike[str] | None, facts: Mapping[str, Any], *, maximise: bool
) -> Iterator["Journal"]:
    """The study of these facts, new or continued; one of other facts is refused."""
    if path is None:
        from optuna.storages import InMemoryStorage

        yield Journal(InMemoryStorage(), None, facts, maximise=maximise)
        return
    file = atomic.writable(path)
    locks = Locks(file)
    try:
        yield Journal(_storage(file, locks), locks, facts, maximise=maximise, name=ascii_line(path, 200))
    finally:
        locks.close()


def _storage(file: Path, locks: Locks) -> "BaseStorage":
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    name = ascii_line(file, 200)
    try:
        locks.writing.acquire()
        try:
            _cut_torn_line(file)
        finally:
            locks.writing.release()
        return JournalStorage(JournalFileBackend(str(file), lock_obj=cast(Any, locks.writing)))
    except OSError as fault:
        raise DataError(f"Cannot use the journal {name}: {fault.strerror or fault}.") from None
    except Exception as fault:  # whatever Optuna makes of a file that is not its own
        raise DataError(f"{name} is not a journal of corml tune ({type(fault).__name__}): choose another.") from fault


def _cut_torn_line(file: Path) -> None:
    """Remove a last line that a crash left unfinished: what it said did not happen. All others are records."""
    if not file.exists():
        return
    with open(file, "rb+") as handle:
        text = handle.read()
        if text and not text.endswith(b"\n"):
            handle.truncate(text.rfind(b"\n") + 1)
    for line in text.splitlines(keepends=True):
        if line.endswith(b"\n"):
            json.loads(line)  # Optuna would go on until something is added


class Journal:
    """The trials of one study."""

    def __init__(
        self,
        storage: "BaseStorage",
        locks: Locks | None,
        facts: Mapping[str, Any],
        *,
        maximise: bool,
        name: str = "",
    ) -> None:
        self.storage, self.locks, self.name = storage, locks, name
        with self.deciding():
            self.study = self._study(json.loads(json.dumps(facts)), maximise)  # as it is read back

    def _study(self, facts: Mapping[str, Any], maximise: bool) -> int:
        from optuna.study import StudyDirection

        known = {study.study_name: study._study_id for study in self.storage.get_all_studies()}
        if NAME not in known:
            if known:
                raise UsageError(f"{self.name} has another study of Optuna: choose another journal.")
            direction = StudyDirection.MAXIMIZE if maximise else StudyDirection.MINIMIZE
            known[NAME] = self.storage.create_new_study([direction], NAME)
        number = known[NAME]
        recorded = self.storage.get_study_user_attrs(number).get(FACTS)
        if recorded is None:  # new, or killed before its first line
            self.storage.set_study_user_attr(number, FACTS, dict(facts))
        else:
            self._refuse_other(recorded, facts)
        return number

    def _refuse_other(self, recorded: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        for name, value in facts.items():
            if recorded.get(name) != value:
                raise UsageError(
                    f"The journal {self.name} is of another {name} ({_short(recorded.get(name))}, not "
                    f"{_short(value)}): go on as it was begun, or choose another journal."
                )

    def deciding(self) -> Any:
        """While one process decides what to do next the others wait."""
        return self.locks.deciding() if self.locks else nullcontext()

    def trials(self) -> list[Trial]:
        """All trials in their order, those that run now as well."""
        found = [_plain(trial) for trial in self.storage.get_all_trials(self.study, deepcopy=False)]
        for trial in found:
            if not is_sound(trial):
                self.refuse(trial)
        return found

    def refuse(self, trial: Trial) -> NoReturn:
        """Say that a trial of the file is none that a search has written."""
        raise DataError(f"Trial {trial.number} in the journal {self.name} is damaged: choose another journal.")

    def claim(self, trial: Trial) -> bool:
        """Take the right to run a trial; false if a living process has it."""
        return self.locks.claim(trial.number) if self.locks else True

    def add(self, settings: Mapping[str, Any], point: Mapping[str, Any], distributions: Mapping[str, Any]) -> Trial:
        """Put down a trial that this process will run."""
        from optuna.trial import TrialState, create_trial

        template = create_trial(
            state=TrialState.RUNNING,
            params=dict(point),
            distributions={name: distributions[name] for name in point},
            user_attrs={"settings": dict(settings), "point": dict(point)},
        )
        number = self.storage.get_trial_number_from_id(self.storage.create_new_trial(self.study, template))
        trial = Trial(number=number, settings=dict(settings), point=dict(point))
        self.claim(trial)
        return trial

    def report(self, trial: Trial, epoch: int, score: float) -> None:
        """Put down a score of a trial that learns in epochs."""
        self.storage.set_trial_intermediate_value(self._id(trial), epoch, score)

    def finish(self, trial: Trial) -> None:
        """Put down the outcome of a trial; its state comes last, and ends it."""
        from optuna.trial import TrialState

        number = self._id(trial)
        for name in KEPT[1:]:
            value = getattr(trial, name)
            if value:
                self.storage.set_trial_user_attr(number, name, dict(value) if isinstance(value, Mapping) else value)
        states = {COMPLETE: TrialState.COMPLETE, PRUNED: TrialState.PRUNED, FAILED: TrialState.FAIL}
        values = None if trial.score is None else [trial.score]
        self.storage.set_trial_state_values(number, states[trial.state], values)
        if self.locks:
            self.locks.release(trial.number)

    def _id(self, trial: Trial) -> int:
        return int(self.storage.get_trial_id_from_study_id_trial_number(self.study, trial.number))


def _plain(trial: "FrozenTrial") -> Trial:
    states = {"COMPLETE": COMPLETE, "PRUNED": PRUNED, "FAIL": FAILED}
    kept = {"settings": None} | {name: trial.user_attrs[name] for name in KEPT if name in trial.user_attrs}
    return Trial(
        number=trial.number,
        score=trial.values[0] if trial.values else None,
        state=states.get(trial.state.name, RUNNING),
        curve=dict(trial.intermediate_values),
        **kept,
    )


def _short(value: object) -> str:
    return ascii_line(value, 40)
