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

import corml._runtime.lazy_polars  # noqa: F401 (a fork is noticed from now on)
from corml._runtime.version import VERSION

# The allocator of Polars otherwise keeps what was freed for seconds, which doubles the peak of a load.
if "polars" not in sys.modules:
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")

if TYPE_CHECKING:
    from corml import data, errors, evaluation, models, report, splits
    from corml.data import load, load_items
    from corml.data.attributes import Attributes
    from corml.data.interactions import Interactions
    from corml.data.store import Store
    from corml.errors import CormlError
    from corml.evaluation import Result, charts, evaluate, metrics
    from corml.experiments import Study, compare, read_study
    from corml.experiments.tuning import Tuned, tune
    from corml.models import read_model
    from corml.models.corml.estimator import CoRML
    from corml.models.corml.sparse.reuse import Workspace
    from corml.models.linear.popularity import Popularity
    from corml.outofcore import build_store, estimate, fit_store, plan_store, recommend_to
    from corml.recommend.options import ListRules
    from corml.recommend.result import Recommendations
    from corml.service import export
    from corml.splits import Split, StoreSplit, read_split, split

__version__ = VERSION

# Names are looked up when first used, so that `import corml` stays light.
_HOMES = {
    "Attributes": "corml.data.attributes",
    "CoRML": "corml.models.corml.estimator",
    "CormlError": "corml.errors",
    "Interactions": "corml.data.interactions",
    "ListRules": "corml.recommend.options",
    "Popularity": "corml.models.linear.popularity",
    "Recommendations": "corml.recommend.result",
    "Result": "corml.evaluation",
    "Split": "corml.splits",
    "Store": "corml.data.store",
    "StoreSplit": "corml.splits",
    "Study": "corml.experiments",
    "Tuned": "corml.experiments.tuning",
    "Workspace": "corml.models.corml.sparse.reuse",
    "build_store": "corml.outofcore",
    "compare": "corml.experiments",
    "estimate": "corml.outofcore",
    "evaluate": "corml.evaluation",
    "fit_store": "corml.outofcore",
    "load": "corml.data",
    "load_items": "corml.data",
    "plan_store": "corml.outofcore",
    "read_model": "corml.models",
    "read_split": "corml.splits",
    "read_study": "corml.experiments",
    "recommend_to": "corml.outofcore",
    "split": "corml.splits",
    "tune": "corml.experiments.tuning",
}

# So are submodules: `corml.metrics.names()` works after `import corml`.
_MODULES = {
    "charts": "corml.evaluation.charts",
    "data": "corml.data",
    "errors": "corml.errors",
    "evaluation": "corml.evaluation",
    "export": "corml.service.export",
    "metrics": "corml.evaluation.metrics",
    "models": "corml.models",
    "report": "corml.report",
    "splits": "corml.splits",
}

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
    "build_store",
    "charts",
    "compare",
    "data",
    "errors",
    "estimate",
    "evaluate",
    "evaluation",
    "export",
    "fit_store",
    "load",
    "load_items",
    "metrics",
    "models",
    "plan_store",
    "read_model",
    "read_split",
    "read_study",
    "recommend_to",
    "report",
    "split",
    "splits",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'corml' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
