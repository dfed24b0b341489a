"""What the report says about a metric: its name for people, what it means, and which direction is better."""

from dataclasses import dataclass
from functools import cache

from corml.evaluation.metrics import Described, describe

__all__ = ["Measure", "measure"]

_INITIALS = frozenset({"ndcg", "mrr", "map", "auc"})


@dataclass(frozen=True)
class Measure:
    """A metric as the report shows it; `better` is +1 (higher), −1 (lower) or 0 (neither by itself)."""

    name: str
    label: str
    meaning: str
    better: int


def measure(name: str) -> Measure:
    """Describe a metric by its name, such as `ndcg@10`; an unknown one has no meaning and no direction."""
    family, at, k = name.partition("@")
    about = _known().get(family)
    label = family.upper() if family in _INITIALS else family.replace("_", " ").capitalize()
    return Measure(name, label + at + k, about.words if about else "", about.direction if about else 0)


@cache
def _known() -> dict[str, Described]:
    return {about.name: about for about in describe()}
