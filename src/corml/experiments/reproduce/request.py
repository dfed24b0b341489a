"""What was asked for: an experiment's section of the file, narrowed to data and models, and where to run it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from corml._runtime.values import nearest
from corml.errors import DataError, UsageError, ascii_line
from corml.experiments.cell import Cell
from corml.experiments.reproduce.bench import Bench
from corml.experiments.reproduce.outcome import Outcome
from corml.experiments.reproduce.published import Published
from corml.experiments.reproduce.rows import Row, choose, row
from corml.models.saved.model_file import environment
from corml.splits import Split

__all__ = ["Request", "failures"]

SAMPLE = "movielens-small"


@dataclass(frozen=True, kw_only=True)
class Request:
    """One experiment to run; `quick` takes the bundled sample and what the file says of it."""

    published: Published
    section: Mapping[str, Any]
    bench: Bench
    data: Sequence[str] | None = None
    models: Sequence[str] | None = None
    quick: bool = False

    def __getitem__(self, name: str) -> Any:
        quick = self.section.get("quick", {}) if self.quick else {}
        return quick[name] if name in quick else self.section[name]

    @property
    def epochs(self) -> int | None:
        """How long gradient models may learn, if that is cut short."""
        return self.section.get("quick", {}).get("epochs") if self.quick else None

    def names(self, missing: Callable[[Published, str], str]) -> tuple[list[str], list[str]]:
        """Data sets to run on, and a sentence for each that is not at hand; none at hand is an error."""
        wanted = self._wanted()
        absent = {name: why for name in wanted if (why := missing(self.published, name))}
        if len(absent) == len(wanted):
            raise DataError(f"None of the data are at hand. {' '.join(absent.values())}")
        return [name for name in wanted if name not in absent], list(absent.values())

    def _wanted(self) -> list[str]:
        offered: list[str] = self["data"]
        if self.data is None or self.quick:
            return offered
        names = [name.strip().replace("_", "-") for name in self.data]
        for name in names:
            if name not in (*offered, SAMPLE):
                raise UsageError(f"There are no data {ascii_line(name)} here{nearest(name, (*offered, SAMPLE))}")
        return list(dict.fromkeys(names))

    def rows(self, data: str, offered: Sequence[str] | None = None) -> list[Row]:
        """The models to run on a data set, with its settings."""
        everyone = [*self.section["models"], *self.section.get("corml", [])] if offered is None else offered
        chosen = [name for name in choose(self.published, self.models, everyone) if name not in self.skipped]
        return [one for name in chosen if (one := row(self.published, name, data, epochs=self.epochs)) is not None]

    @cached_property
    def skipped(self) -> frozenset[str]:
        """Gradient models where PyTorch is not installed; whoever asks for one by name is told by its failure."""
        if self.models is not None or find_spec("torch") is not None:
            return frozenset()
        known, beside = self.published["models"], self.section.get("beside", {})
        lists = [self.section.get("models", []), *(beside.values() if isinstance(beside, Mapping) else [])]
        return frozenset(name for names in lists for name in names if known.get(name, {}).get("gradient"))

    def outcome(
        self,
        name: str,
        splits: Mapping[str, Split],
        *,
        missing: Sequence[str],
        notes: Sequence[str] = (),
        **content: Any,
    ) -> Outcome:
        """An outcome with where it comes from."""
        if self.skipped:
            notes = (
                *notes,
                f"Not run without PyTorch (pip install 'corml[neural]'): {', '.join(sorted(self.skipped))}.",
            )
        prints = {what: {"train": one.train.fingerprint, "split": one.fingerprint} for what, one in splits.items()}
        source = self.section.get("source")
        return Outcome(
            name=name,
            title=self.section["title"] + (", a quick run on the bundled sample" if self.quick else ""),
            data=prints,
            notes=tuple(notes),
            missing=tuple(missing),
            provenance={
                "command": self.bench.command,
                "source": self.published.sources[source] if source else None,
                "environment": environment(),
            },
            **content,
        )


def failures(data: str, cells: Mapping[str, Cell]) -> list[str]:
    """A sentence for each cell that failed."""
    return [f"{data}, {label}: {cell.error}" for label, cell in cells.items() if cell.error]
