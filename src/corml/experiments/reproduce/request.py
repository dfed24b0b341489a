"""What to run: an experiment's section of the file, narrowed to data and models, and where its runs are kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corml import models
from corml._runtime.progress import Progress
from corml._runtime.values import nearest, no_such
from corml.errors import DataError, UsageError, ascii_line
from corml.evaluation.metrics import direction
from corml.experiments.candidates import candidates
from corml.experiments.plan import Design, rows_of
from corml.experiments.record import Run
from corml.experiments.reproduce.published import OURS, Published, Row
from corml.experiments.run import Notify, Runner
from corml.experiments.store import Store
from corml.models.recommender import Recommender
from corml.splits import Split

SAMPLE = "movielens-small"
PRIMARY = "ndcg@10"  # shown while running, where it is measured


@dataclass(frozen=True, kw_only=True)
class Request:
    """One experiment to run; `quick` takes the bundled sample and its section of the file.

    Runs are kept in a store for each split, below `folder`; without one in memory.
    """

    published: Published
    section: Mapping[str, Any]  # TOML
    data: Sequence[str] | None = None
    models: Sequence[str] | None = None
    quick: bool = False
    folder: Path | None = None
    command: str = ""
    progress: Progress | None = None
    notify: Notify | None = None
    failed: list[str] = field(default_factory=list)
    _stores: dict[str, Store[Run]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        quick = self.section.get("quick", {}) if self.quick else {}
        return quick[name] if name in quick else self.section[name]

    def names(self, missing: Callable[[Published, str], str]) -> tuple[list[str], list[str]]:
        """Data sets to run on, and a message for each that is not available; none available is an error."""
        wanted: list[str] = self["data"]
        if self.data is not None and not self.quick:
            offered = (*wanted, SAMPLE)
            wanted = list(dict.fromkeys(name.strip().replace("_", "-") for name in self.data))
            for name in wanted:
                if name not in offered:
                    raise UsageError(f"There are no data {ascii_line(name)} here{nearest(name, offered)}")
        absent = {name: why for name in wanted if (why := missing(self.published, name))}
        if len(absent) == len(wanted):
            raise DataError(f"None of the data are available. {' '.join(absent.values())}")
        return [name for name in wanted if name not in absent], list(absent.values())

    def rows(self, data: str) -> list[Row]:
        """The models to run on a data set, with its hyperparameters."""
        epochs = self.section.get("quick", {}).get("epochs") if self.quick else None
        names = [name for name in self._chosen() if name not in self.skipped]
        return [one for name in names if (one := self.published.row(name, data, epochs=epochs)) is not None]

    def _chosen(self) -> list[str]:
        """The models that are asked for, else all that are offered; `corml` stands for all rows of CoRML."""
        offered = [*self.section["models"], *self.section.get("corml", [])]
        if self.models is None:
            return offered
        variants = self.published["corml"]
        every, names = (*variants, *models.names()), list[str]()
        for name in (text.strip().replace("_", "-") for text in self.models):
            if name not in every:
                raise no_such("model", name, every)
            names += [one for one in offered if one in variants] if name == OURS else [name]
        if not names:
            raise UsageError("No model is named: name at least one, such as corml.")
        return list(dict.fromkeys(names))

    @cached_property
    def skipped(self) -> frozenset[str]:
        """Gradient models where PyTorch is not installed; one that was asked for by name fails instead."""
        if self.models is not None or find_spec("torch") is not None:
            return frozenset()
        entries, others = self.published["models"], self.section.get("beside", {})
        lists = [self.section.get("models", []), *(others.values() if isinstance(others, Mapping) else [])]
        return frozenset(name for names in lists for name in names if entries.get(name, {}).get("gradient"))

    def runs(
        self, data: str, split: Split, fitted: Mapping[str, Recommender], metrics: Sequence[str], name: str = ""
    ) -> dict[str, Run]:
        """A finished or failed run for each model, by its label; the same model is fitted once for all labels.

        What was run before is read. `name` is the folder of the split, the name of the data if none is given.
        """
        if not fitted:
            return {}
        name = name or data
        primary = PRIMARY if PRIMARY in metrics else next(metric for metric in metrics if direction(metric))
        design = Design.of(metrics=list(metrics), primary=primary)
        rows = rows_of(candidates(fitted), (split,), design)
        folder = None if self.folder is None else self.folder / name
        store = self._stores.setdefault(name, Store(Run, folder))
        store.create()
        runner = Runner(design=design, store=store, command=self.command, progress=self.progress)
        notify = self.notify
        prefixed = None if notify is None else lambda text: notify(f"{name}: {text}")
        runner.finish([run for row in rows for run in row.runs], prefixed)
        runs = {row.planned.label: run for row in rows if (run := store.get(row.runs[0].key)) is not None}
        self.failed.extend(f"{data}, {label}: {run.error}" for label, run in runs.items() if run.error)
        return runs
