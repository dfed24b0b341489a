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
    from corml import data as data
    from corml import errors as errors
    from corml import evaluation as evaluation
    from corml import models as models
    from corml import report as report
    from corml import splits as splits
    from corml.data import load as load
    from corml.data import load_items as load_items
    from corml.data.attributes import Attributes as Attributes
    from corml.data.interactions import Interactions as Interactions
    from corml.data.store import Store as Store
    from corml.errors import CormlError as CormlError
    from corml.evaluation import Result as Result
    from corml.evaluation import charts as charts
    from corml.evaluation import evaluate as evaluate
    from corml.evaluation import metrics as metrics
    from corml.experiments import Study as Study
    from corml.experiments import compare as compare
    from corml.experiments import read_study as read_study
    from corml.experiments.tuning import Tuned as Tuned
    from corml.experiments.tuning import tune as tune
    from corml.models import read_model as read_model
    from corml.models.corml.estimator import CoRML as CoRML
    from corml.models.corml.sparse.reuse import Workspace as Workspace
    from corml.models.linear.popularity import Popularity as Popularity
    from corml.outofcore import build_store as build_store
    from corml.outofcore import estimate as estimate
    from corml.outofcore import fit_store as fit_store
    from corml.outofcore import plan_store as plan_store
    from corml.outofcore import recommend_to as recommend_to
    from corml.recommend.options import ListRules as ListRules
    from corml.recommend.result import Recommendations as Recommendations
    from corml.service import export as export
    from corml.splits import Split as Split
    from corml.splits import StoreSplit as StoreSplit
    from corml.splits import read_split as read_split
    from corml.splits import split as split

__version__ = VERSION

# Names are looked up when they are first used, so that `import corml` stays light.
_HOMES = {
    name: module
    for module, names in {
        "corml.data": "load load_items",
        "corml.data.attributes": "Attributes",
        "corml.data.interactions": "Interactions",
        "corml.data.store": "Store",
        "corml.errors": "CormlError",
        "corml.evaluation": "Result evaluate",
        "corml.experiments": "Study compare read_study",
        "corml.experiments.tuning": "Tuned tune",
        "corml.models": "read_model",
        "corml.models.corml.estimator": "CoRML",
        "corml.models.corml.sparse.reuse": "Workspace",
        "corml.models.linear.popularity": "Popularity",
        "corml.outofcore": "build_store estimate fit_store plan_store recommend_to",
        "corml.recommend.options": "ListRules",
        "corml.recommend.result": "Recommendations",
        "corml.splits": "Split StoreSplit read_split split",
    }.items()
    for name in names.split()
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
__all__ = sorted({*_HOMES, *_MODULES})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'corml' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
