"""The figures of a report and their captions; without matplotlib, how to get them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml.interactions import Interactions
from corml.report._measures import measure
from corml.report._results import Measured, main_names, shared_names
from corml.report.page import Figure, Gallery
from corml.report.study import Study

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["NO_PLOTS", "gallery", "popularity_shares"]

NO_PLOTS = (
    "The figures need matplotlib, which is not installed: pip install 'corml[plots]', then create this page again."
)
TENTHS = 10
MAX_USERS = 2000  # whose lists make the figure of popularity
MAX_PANELS = 3


def gallery(study: Study) -> Gallery:
    """All figures the study has the data for."""
    heading, plots = "Figures", _plots()
    if plots is None:
        return Gallery(heading, notice=NO_PLOTS)
    results = {name: result for name, (_, result) in study.models.items()}
    about_models = [*_of_results(plots, results), *_of_lists(plots, study)]
    return Gallery(heading, figures=(*about_models, *_of_data(plots, study), *_of_solver(plots, study)))


def popularity_shares(train: Interactions, lists: NDArray[np.object_]) -> tuple[NDArray[np.float64], list[int]]:
    """How recommendations are distributed over tenths of all interactions, and how many items make up each tenth.

    Items are ordered from the most popular to the least and cut where a tenth, two tenths … of the interactions are
    reached; lists that follow the data would put a tenth of the recommendations in each.
    """
    degrees = train.item_degrees
    order = np.argsort(-degrees, kind="stable")
    before = np.cumsum(degrees[order]) - degrees[order]
    tenth = np.empty(len(order), dtype=np.int64)
    tenth[order] = np.minimum(before * TENTHS // max(int(degrees.sum()), 1), TENTHS - 1)
    rows = train.items.find(item for item in lists.ravel() if item is not None)
    counts = np.bincount(tenth[rows[rows >= 0]], minlength=TENTHS)
    return counts / max(int(counts.sum()), 1), np.bincount(tenth, minlength=TENTHS).tolist()


def _plots() -> "ModuleType | None":
    try:
        from corml.report import plots
    except ImportError:
        return None
    return plots


def _of_results(plots: Any, results: Mapping[str, Measured]) -> Iterator[Figure]:
    shared = shared_names(results.values())
    names = main_names([name for name in shared if all(np.isfinite(one[name]) for one in results.values())])
    accurate = [name for name in names if measure(name).better > 0]
    novel = next((name for name in names if name.startswith("novelty@")), None)
    if not accurate:
        return
    yield _accuracy(plots, results, accurate[:MAX_PANELS])
    if novel and len(results) > 1:
        yield _trade_off(plots, results, accurate[0], novel)
    if all(accurate[0] in result.per_user for result in results.values()):
        yield _across_users(plots, results, accurate[0])


def _accuracy(plots: Any, results: Mapping[str, Measured], names: Sequence[str]) -> Figure:
    panels = {
        measure(name).label: {model: (result[name], result.intervals.get(name)) for model, result in results.items()}
        for name in names
    }
    caption = "Longer bars are better. The thin lines are confidence intervals over users."
    return Figure("bars", "Accuracy", caption, plots.bars(panels), wide=True)


def _trade_off(plots: Any, results: Mapping[str, Measured], accurate: str, novel: str) -> Figure:
    points = {model: (result[novel], result[accurate]) for model, result in results.items()}
    svg = plots.accuracy_against_novelty(points, accuracy=measure(accurate).label, novelty=measure(novel).label)
    caption = "A model above and to the right of another is more accurate and recommends less popular items."
    return Figure("novelty", "Accuracy against novelty", caption, svg)


def _across_users(plots: Any, results: Mapping[str, Measured], accurate: str) -> Figure:
    per_user = {model: result.per_user[accurate] for model, result in results.items()}
    svg = plots.user_shares(per_user, label=measure(accurate).label)
    caption = (
        "The share of users above each value: higher curves are better. The left end is the share of users with a hit."
    )
    return Figure("users", "Accuracy across users", caption, svg)


def _of_lists(plots: Any, study: Study) -> Iterator[Figure]:
    """How popular the items are that each model recommends."""
    train = study.split.train if study.split else study.data
    shares, sizes = {}, [0]
    for name, (model, result) in study.models.items():
        if hasattr(model, "recommend"):
            lists = model.recommend(_thinned(train, result.users), k=TENTHS)
            shares[name], sizes = popularity_shares(train, lists.items)
    if shares:
        caption = (
            "Items are grouped by popularity, each group with a tenth of all interactions: few popular items on the "
            "left, many rare ones on the right. The dashed line is the share in the data; a model far above it "
            "on the left recommends mostly popular items."
        )
        yield Figure(
            "popularity", "Popularity of the recommended items", caption, plots.popularity(shares, sizes), wide=True
        )


def _of_data(plots: Any, study: Study) -> Iterator[Figure]:
    if len(study.data) == 0:
        return
    caption = "A few items have many users, most have few: the long tail. Both axes are logarithmic."
    yield Figure("degrees", "Item popularity", caption, plots.degrees(study.data.item_degrees))


def _of_solver(plots: Any, study: Study) -> Iterator[Figure]:
    for name, (model, _) in study.models.items():
        certificates = getattr(getattr(model, "fitted_", None), "certificates", ())
        traces = [certificate.trace for certificate in certificates if certificate.trace]
        if traces:
            longest = max(traces, key=len)
            drawn = plots.convergence(_residuals(longest), tol=float(getattr(model, "tol", 0.0)))
            caption = f"Residuals of the solver of {name} at each step; it stops when all are below the dashed line."
            yield Figure("convergence", "Solver convergence", caption, drawn)
            return


def _residuals(trace: Sequence[Any]) -> dict[str, list[float]]:
    rows = np.atleast_2d(np.asarray(trace, dtype=float).T)
    names = ("primal", "dual") if len(rows) == 2 else ("residual",) + ("",) * (len(rows) - 1)
    return {name: row.tolist() for name, row in zip(names, rows, strict=True) if name}


def _thinned(train: Interactions, users: Any) -> list[str]:
    """Choose evaluated users with a history, evenly thinned out: the picture does not need them all."""
    known = [str(user) for user in users if user in train.users]
    return known[:: max(1, -(-len(known) // MAX_USERS))] or [str(label) for label in train.users.labels[:MAX_USERS]]
