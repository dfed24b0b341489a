"""Top-N recommendation from implicit feedback with CoRML, Collaborative Residual Metric Learning.

data  = corml.load("ratings.csv")
split = corml.split(data, "ratio", seed=2026)
model = corml.CoRML().fit(split.train)
model.recommend(["u1"], k=10)
corml.evaluate(model, split)
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import corml.lazy_polars  # noqa: F401 (a fork is noticed from now on)

# The allocator of Polars otherwise keeps what was freed for seconds, which doubles the peak of a load.
if "polars" not in sys.modules:
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")

if TYPE_CHECKING:
    from corml import baselines, charts, datasets, errors, evaluation, export, metrics, models, report, splits
    from corml.attributes import Attributes
    from corml.baselines.popularity import Popularity
    from corml.datasets import load, load_items
    from corml.errors import CormlError
    from corml.evaluation import Result, evaluate
    from corml.experiments import Study, compare, read_study
    from corml.interactions import Interactions
    from corml.method.estimator import CoRML
    from corml.method.out_of_core.estimate import estimate
    from corml.method.sparse.fit_cache import Workspace
    from corml.models import read_model
    from corml.recommendations import Recommendations
    from corml.rules import ListRules
    from corml.scale import build_store
    from corml.splits import Split, StoreSplit, read_split, split
    from corml.store import Store
    from corml.tuning import Tuned, tune

__version__ = "0.1.0"

# Names are looked up when first used, so that `import corml` stays light.
_HOMES = {
    "Attributes": "corml.attributes",
    "CoRML": "corml.method.estimator",
    "CormlError": "corml.errors",
    "Interactions": "corml.interactions",
    "ListRules": "corml.rules",
    "Popularity": "corml.baselines.popularity",
    "Recommendations": "corml.recommendations",
    "Result": "corml.evaluation",
    "Split": "corml.splits",
    "Store": "corml.store",
    "StoreSplit": "corml.splits",
    "Study": "corml.experiments",
    "Tuned": "corml.tuning",
    "Workspace": "corml.method.sparse.fit_cache",
    "build_store": "corml.scale",
    "compare": "corml.experiments",
    "estimate": "corml.method.out_of_core.estimate",
    "evaluate": "corml.evaluation",
    "load": "corml.datasets",
    "load_items": "corml.datasets",
    "read_model": "corml.models",
    "read_split": "corml.splits",
    "read_study": "corml.experiments",
    "split": "corml.splits",
    "tune": "corml.tuning",
}

# So are the rooms: `corml.metrics.names()` works after `import corml`.
_ROOMS = ("baselines", "charts", "datasets", "errors", "evaluation", "export", "metrics", "models", "report", "splits")

__all__ = [
    "Attributes",
    "CoRML",
    "CormlError",
    "Interactions",
    "ListRules",
    "Popularity",
    "Recommendations",
    "Result",
    "Split",
    "Store",
    "StoreSplit",
    "Study",
    "Tuned",
    "Workspace",
    "baselines",
    "build_store",
    "charts",
    "compare",
    "datasets",
    "errors",
    "estimate",
    "evaluate",
    "evaluation",
    "export",
    "load",
    "load_items",
    "metrics",
    "models",
    "read_model",
    "read_split",
    "read_study",
    "report",
    "split",
    "splits",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"corml.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'corml' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
