"""Compare models: run every cell that is not there yet, whoever fails, and put the study together."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml._runtime.console_progress import shown
from corml._runtime.progress import Asked
from corml.data.interactions import Interactions
from corml.errors import DataError, UsageError, ascii_line
from corml.experiments import search
from corml.experiments.analysis import assemble, check_baseline
from corml.experiments.cell import FORMAT, Cell
from corml.experiments.contestants import Given, contestants
from corml.experiments.design import METRICS, Design
from corml.experiments.plan import Planned, PlannedCell, plan
from corml.experiments.recorded import check_figures, check_manifest
from corml.experiments.run_cell import Runner
from corml.experiments.store import MANIFEST, Folder, Memory, Store
from corml.experiments.study import Study
from corml.models.saved.model_file import environment
from corml.persistence.locks import held
from corml.splits import Split
from corml.splits import split as split_data

if TYPE_CHECKING:
    from corml.evaluation.external_lists import ExternalLists

__all__ = ["compare", "read_study", "run_cells"]

Data = Interactions | Split | Sequence[Split]
Notify = Callable[[str], None]


def compare(
    models: Given | Iterable[Given] | Mapping[str, Given],
    data: Data,
    *,
    lists: "Mapping[str, ExternalLists] | None" = None,
    metrics: str | Sequence[str] = METRICS,
    primary: str = "ndcg@10",
    baseline: str | None = None,
    targets: str | Sequence[str] | None = None,
    seeds: int = 1,
    trials: int = 0,
    seconds: float | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    command: str = "",
    progress: Asked = None,
    notify: Notify | None = None,
) -> Study:
    """Fit and evaluate models on the same split, with the same masks and for the same users, and test who is better.

    `models` are names with settings ("ease:l2=500"), models, or "label=file" of lists; a mapping gives them labels.
    `data` are interactions, which are split by ratio, a split, or several splits, over which figures are averaged.
    With `targets="purchase"` only held-out pairs with such an event count as relevant, as for `evaluate`.
    `primary` is the metric that decides, named beforehand. Models with a seed are fitted with `seeds` of them. With
    `trials` or processor `seconds` every model is tuned on the valid part as well, each within that budget. Everyone is
    compared with `baseline`, without it with the best. With `folder` every finished cell is kept there: the same call
    continues from them, and a call of another process meanwhile is refused. A model that fails is reported in the
    study, and the others finish.
    """
    design = Design.of(
        metrics,
        primary,
        baseline=baseline,
        seeds=seeds,
        trials=trials,
        seconds=seconds,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    everyone = contestants(models, lists)
    splits = _splits(data)
    splits = splits if targets is None else tuple(one.judging(targets) for one in splits)
    rows = plan(everyone, splits, design)
    check_baseline(design, [row.label for row in rows])
    if any(row.tuned for row in rows):
        search.require()
    manifest = _manifest(design, rows, splits, command)
    with nullcontext() if folder is None else held(folder, folder=True), shown(progress) as report:
        store = Memory() if folder is None else _opened(folder, manifest)
        runner = Runner(design=design, store=store, command=command, progress=report)
        run_cells([cell for row in rows for cell in row.cells], runner, notify or _nobody)
        return _study(manifest, store)


def read_study(folder: str | os.PathLike[str]) -> Study:
    """The study of a folder as its last run planned it; entries whose cells are missing are not finished."""
    store = Folder(folder)
    manifest = store.manifest()
    if manifest is None:
        raise DataError(f"{ascii_line(folder, 200)} is not the folder of a study: it has no study.json.")
    with _whole(folder):
        check_manifest(manifest)
        return _study(manifest, store)


@contextmanager
def _whole(folder: str | os.PathLike[str]) -> Iterator[None]:
    """A plan of another form than a study writes is a sentence."""
    try:
        yield
    except (KeyError, TypeError, UsageError):
        name = ascii_line(Path(folder) / MANIFEST, 200)
        raise DataError(f"{name} is damaged: delete it, and run again.") from None


def _study(manifest: Mapping[str, Any], store: Store) -> Study:
    planned = manifest["design"]
    design = Design(**{**planned, "metrics": tuple(planned["metrics"])})
    rows = [(row, [store.cell(key) for key in row["cells"]]) for row in manifest["entries"]]
    check_figures([cell for _, cells in rows for cell in cells if cell is not None], design.metrics)
    return assemble(design, rows, manifest["splits"], manifest["provenance"])


# --- what is planned -------------------------------------------------------------------------------------------------


def _splits(data: Data) -> tuple[Split, ...]:
    splits: tuple[Any, ...]
    if isinstance(data, Interactions):
        splits = (split_data(data),)
    else:
        splits = (data,) if isinstance(data, Split) else tuple(data) if isinstance(data, Sequence) else ()
    if not splits or not all(isinstance(one, Split) for one in splits):
        raise UsageError(f"compare takes Interactions, a Split or several, not {type(data).__name__}: use corml.load.")
    if len({one.fingerprint for one in splits}) < len(splits):
        raise UsageError("Two of the splits are the same: make each with a seed of its own.")
    return splits


def _manifest(design: Design, rows: Sequence[Planned], splits: Sequence[Split], command: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "design": asdict(design),
        "entries": [row.record() for row in rows],
        "splits": [
            {"fingerprint": one.fingerprint, "procedure": dict(one.procedure), "counts": one.counts()} for one in splits
        ],
        "provenance": {
            "command": command,
            "data": dict(splits[0].train.source),
            "environment": environment(),
        },
    }


def _opened(folder: str | os.PathLike[str], manifest: dict[str, Any]) -> Folder:
    """The folder, if it is new or holds a study of the same split with the same primary metric."""
    store, name = Folder(folder), ascii_line(folder, 200)
    earlier = store.manifest()
    if earlier is not None:
        if earlier.get("format") != FORMAT:
            raise DataError(f"The study in {name} was made by another version of corml: choose another folder.")
        with _whole(folder):
            check_manifest(earlier)
        was, now = ([one["fingerprint"] for one in m["splits"]] for m in (earlier, manifest))
        if was != now:
            raise DataError(
                f"{name} holds a study of another split ({_short(was)} is recorded, {_short(now)} is given): "
                "load and split the data as before, or choose another folder."
            )
        was, now = (m["design"]["primary"] for m in (earlier, manifest))
        if was != now:
            raise DataError(
                f"The primary metric of the study in {name} is {was}, named when it began: keep it, or choose another "
                "folder."
            )
    store.create()
    store.keep_manifest(manifest)
    return store


def _short(fingerprints: Sequence[str]) -> str:
    return ", ".join(ascii_line(one[:12]) for one in fingerprints)


# --- the loop --------------------------------------------------------------------------------------------------------


def run_cells(cells: Sequence[PlannedCell], runner: Runner, notify: Notify) -> None:
    """Run every cell that is not finished; one that failed is tried again."""
    pace = _Pace(len(cells), runner, notify)
    for planned in cells:
        known = runner.store.cell(planned.key)
        if known is not None and not known.error:
            pace.found(known)
            continue
        cell = runner.run(planned)
        runner.store.keep(cell)
        pace.ran(planned, cell)


class _Pace:
    """Says what is done and how long the rest may take, judged by the cells that were run."""

    def __init__(self, total: int, runner: Runner, notify: Notify) -> None:
        self.total, self.runner, self.notify = total, runner, notify
        self.done, self.run, self.begun = 0, 0, time.monotonic()
        self._show()

    def found(self, cell: Cell) -> None:
        self.done += 1
        self._show()

    def ran(self, planned: PlannedCell, cell: Cell) -> None:
        self.done, self.run = self.done + 1, self.run + 1
        left = (time.monotonic() - self.begun) / self.run * (self.total - self.done)
        seed = "" if cell.seed is None else f", seed {cell.seed}"
        primary = self.runner.design.primary
        outcome = f"failed: {cell.error}" if cell.error else f"{primary} {cell.means[primary]:.4f}"
        rest = f"; about {left:.0f} s left" if self.done < self.total else ""
        self.notify(f"{self.done} of {self.total}: {planned.label}{seed}: {outcome}{rest}")
        self._show()

    def _show(self) -> None:
        if self.runner.progress is not None:
            self.runner.progress("study", self.done, self.total)


def _nobody(text: str) -> None:
    """Tell nobody."""
