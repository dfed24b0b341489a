"""Where models are fitted and evaluated: every finished cell is kept, and what is kept is not run again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corml._runtime.progress import Progress
from corml.evaluation.metrics import direction
from corml.experiments.cell import Cell
from corml.experiments.contestants import contestants
from corml.experiments.design import Design
from corml.experiments.plan import plan
from corml.experiments.run import run_cells
from corml.experiments.run_cell import Runner
from corml.experiments.store import Folder, Memory
from corml.models.recommender import Recommender
from corml.splits import Split

__all__ = ["Bench"]

USUAL = "ndcg@10"  # told while running, where it is measured


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A folder of studies, one below it for each split; without a folder cells are kept in memory."""

    folder: Path | None = None
    command: str = ""
    progress: Progress | None = None
    notify: Callable[[str], None] = lambda text: None
    _memory: dict[str, Memory] = field(default_factory=dict)

    def cells(
        self, place: str, split: Split, models: Mapping[str, Recommender], metrics: Sequence[str]
    ) -> dict[str, Cell]:
        """One finished or failed cell for each model, by its label; the same settings are run once for all labels."""
        if not models:
            return {}
        decisive = USUAL if USUAL in metrics else next(metric for metric in metrics if direction(metric))
        design = Design.of(list(metrics), decisive)
        rows = plan(contestants(models), (split,), design)
        store = self._store(place)
        runner = Runner(design=design, store=store, command=self.command, progress=self.progress)
        run_cells([cell for row in rows for cell in row.cells], runner, lambda text: self.notify(f"{place}: {text}"))
        cells = {row.label: store.cell(row.cells[0].key) for row in rows}
        return {label: cell for label, cell in cells.items() if cell is not None}

    def _store(self, place: str) -> Folder | Memory:
        if self.folder is None:
            return self._memory.setdefault(place, Memory())
        store = Folder(self.folder / place)
        store.create()
        return store
