"""Accuracy against novelty along a novelty dial: one evaluation for each position."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from corml._runtime import html
from corml._runtime.progress import Asked
from corml.errors import UsageError
from corml.evaluation import charts
from corml.evaluation.metrics import Asked as Metrics
from corml.evaluation.result import Result
from corml.evaluation.run import evaluate
from corml.splits import Split

if TYPE_CHECKING:
    import polars

    from corml.models.recommender import Recommender

__all__ = ["Frontier", "frontier"]

METRICS = ("ndcg@10", "novelty@10")


class Turnable(Protocol):
    """A model with positions between popular (0) and novel (1)."""

    def at(self, novelty: float) -> "Recommender":
        """The model of a position."""


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The results of a dial, position by position: `novelty` from 0 (popular) to 1 (novel)."""

    novelty: tuple[float, ...]
    results: tuple[Result, ...]

    def __len__(self) -> int:
        return len(self.novelty)

    def __repr__(self) -> str:
        return f"Frontier({len(self)} positions)"

    def points(self, x: str = "novelty@10", y: str = "ndcg@10") -> list[tuple[float, float]]:
        """Two metrics at each position, from popular to novel."""
        return [(result[x], result[y]) for result in self.results]

    def to_frame(self) -> "polars.DataFrame":
        """One row per position and one column per metric, as a polars frame."""
        from corml._runtime.lazy_polars import polars

        return polars.DataFrame({"position": self.novelty, **{name: self._column(name) for name in self.results[0]}})

    def plot(self, x: str = "novelty@10", y: str = "ndcg@10") -> charts.Chart:
        """The dial as a curve."""
        curve = charts.Line("dial", self.points(x, y), marks=True, ends=("popular", "novel"))
        return charts.lines([curve], x=charts.Axis(x), y=charts.Axis(y), title=f"{y} against {x}", named=True)

    def _column(self, name: str) -> list[float]:
        return [result[name] for result in self.results]

    def _repr_html_(self) -> str:
        names = list(self.results[0])
        rows = [[at, *(result[name] for name in names)] for at, result in zip(self.novelty, self.results, strict=True)]
        return html.table(["position", *names], rows, caption="A novelty dial, from popular (0) to novel (1)")


def frontier(
    dial: Turnable,
    split: Split,
    metrics: Metrics = METRICS,
    *,
    part: str = "test",
    progress: Asked = None,
) -> Frontier:
    """Evaluate every position of a fitted dial on a part of a split."""
    norms = getattr(getattr(dial, "settings_", None), "item_norms", None)
    if norms is None:
        raise UsageError(f"{type(dial).__name__} has no positions: fit a dial with CoRML.dial(train).")
    positions = tuple(at / (len(norms) - 1) for at in range(len(norms)))
    results = tuple(
        evaluate(dial.at(novelty), split, metrics, part=part, intervals=False, progress=progress)
        for novelty in positions
    )
    return Frontier(positions, results)
