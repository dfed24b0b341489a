"""What is decided before anything is fitted: metrics, the one that decides, seeds, the budget, and how to test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from corml.errors import UsageError, ascii_line
from corml.evaluation.metrics import direction, parse, parse_all
from corml.evaluation.resampling import Bootstrap

__all__ = ["METRICS", "Design"]

METRICS = ("ndcg@10", "recall@10", "mrr@10", "novelty@10", "coverage@10")


@dataclass(frozen=True, kw_only=True)
class Design:
    """A comparison as it was planned; the budget of tuning is `trials` and processor `seconds`, for each model."""

    metrics: tuple[str, ...] = METRICS
    primary: str = "ndcg@10"
    baseline: str | None = None
    seeds: int = 1
    trials: int = 0
    seconds: float | None = None
    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0

    @classmethod
    def of(cls, metrics: str | Sequence[str], primary: str, **more: Any) -> Self:
        """Check and normalise; the primary metric is measured whether it is listed or not."""
        decisive = parse(primary)
        if not direction(decisive.label):
            raise UsageError(
                f"{decisive.label} cannot decide which model is best: random lists would win it. "
                "Choose a metric of accuracy, such as ndcg@10."
            )
        labels = [metric.label for metric in parse_all(metrics)]
        if decisive.label not in labels:
            labels.insert(0, decisive.label)
        design = cls(metrics=tuple(labels), primary=decisive.label, **more)
        design._check()
        return design

    @property
    def tunes(self) -> bool:
        """Whether models are tuned as well."""
        return self.trials > 0 or self.seconds is not None

    @property
    def bootstrap(self) -> Bootstrap:
        """How intervals over users are drawn."""
        return Bootstrap(self.confidence, self.resamples, self.seed)

    def _check(self) -> None:
        for name, value, least in (("seeds", self.seeds, 1), ("trials", self.trials, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise UsageError(f"{name} must be a whole number of {least} or more; got {ascii_line(value)}.")
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError(f"seconds must be above 0; got {ascii_line(self.seconds)}.")
        self.bootstrap  # noqa: B018 (checks itself)
