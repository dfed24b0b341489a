"""The popularity–novelty trade-off of a dial: one evaluation for each operating point."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

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

METRICS = ("ndcg@10", "novelty@10")


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The results of a dial at its operating points: `novelty` from 0 (popular) to 1 (novel)."""

    novelty: tuple[float, ...]
    results: tuple[Result, ...]

    def __len__(self) -> int:
        return len(self.novelty)

    def __repr__(self) -> str:
        return f"Frontier({len(self)} positions)"

    def points(self, x: str = "novelty@10", y: str = "ndcg@10") -> list[tuple[float, float]]:
        """Two metrics at each operating point, from popular to novel."""
        return [(result[x], result[y]) for result in self.results]

    def to_frame(self) -> "polars.DataFrame":
        """One row per operating point and one column per metric, as a polars frame."""
        from corml._runtime.lazy_polars import polars

        return polars.DataFrame({"position": self.novelty, **{name: self._column(name) for name in self.results[0]}})

    def plot(self, x: str = "novelty@10", y: str = "ndcg@10") -> charts.Chart:
        """The trade-off as a curve."""
        curve = charts.Line("dial", self.points(x, y), marks=True, ends=("popular", "novel"))
        return charts.lines([curve], x=charts.Axis(x), y=charts.Axis(y), title=f"{y} against {x}", named=True)

    def _column(self, name: str) -> list[float]:
        return [result[name] for result in self.results]

    def _repr_html_(self) -> str:
        names = list(self.results[0])
        rows = [[at, *(result[name] for name in names)] for at, result in zip(self.novelty, self.results, strict=True)]
        return html.table(["position", *names], rows, caption="A novelty dial, from popular (0) to novel (1)")


def frontier(
    dial: "Recommender", split: Split, metrics: Metrics = METRICS, *, part: str = "test", progress: Asked = None
) -> Frontier:
    """Evaluate every operating point of a fitted dial on a part of a split."""
    from corml.models.corml.dial import NoveltyDial  # with the code of CoRML

    if not isinstance(dial, NoveltyDial):
        raise UsageError(f"{type(dial).__name__} has no positions: fit a dial with CoRML.dial(train).")
    last = len(dial.settings_.item_norms) - 1
    novelty = tuple(at / last for at in range(last + 1))
    points = map(dial.at, novelty)
    results = (evaluate(one, split, metrics, part=part, intervals=False, progress=progress) for one in points)
    return Frontier(novelty, tuple(results))
