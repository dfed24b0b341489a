"""Facts of older model files as those of the present have them; format 3 only adds arrays, of what users saw and when.

In format 1 a given `ridge` switched four other settings of CoRML to the paper's values while the file still said none;
what was chosen and how training went stood in notes without types. What was used is written out here. Gradient models
called the standard deviation of their first vectors `start`.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["upgraded"]

SWITCHED = {  # setting: where the ridge was left to the data, and where it was given
    "user_balance": (0.25, 0.0),
    "graph_user_norm": (0.4, 0.5),
    "graph_item_norm": (0.4, 0.5),
    "filter_norm": (0.4, 0.5),
}
EMBEDDING_MODELS = ("bpr-mf", "cml", "dpcml", "l-cml", "lightgcn", "simgcl", "ultragcn")
COUNTS_PAIRS = ("corml", "ease", "slim", "admm-slim", "item-knn", "ultragcn")
PLAN_NAMES = {"predicted pairs": "pairs", "strongest per item": "candidates"}
TRAINING_NAMES = {"cpu seconds": "cpu_seconds", "best epoch": "best_epoch", "valid": "metric"}


def upgraded(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a file, in the present format."""
    meta = {**meta, "settings": _with_whole_histories(meta)}
    if meta.get("format") != 1:
        return meta
    settings, notes = dict(meta["settings"]), meta["notes"]
    if meta["model"] == "corml":
        settings = _with_used(settings)
    if meta["model"] == "corml-dial" and isinstance(settings.get("of"), Mapping):
        settings["of"] = _with_used(dict(settings["of"]))
    if meta["model"] in EMBEDDING_MODELS and "start" in settings:
        settings["init_std"] = settings.pop("start")
    return {**meta, "settings": settings, "notes": _notes(notes)}


def _with_whole_histories(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Models that count pairs learned from all of every history before they had a setting for it."""
    settings, whole = dict(meta["settings"]), {"longest_history": None}
    if meta["model"] in COUNTS_PAIRS:
        return whole | settings
    if meta["model"] == "corml-dial":
        of = settings.get("of")
        settings["of"] = whole | dict(of) if isinstance(of, Mapping) else whole if of is None else of
    return settings


def _with_used(settings: dict[str, Any]) -> dict[str, Any]:
    given = settings.get("ridge") is not None
    used = {name: values[given] for name, values in SWITCHED.items() if settings.get(name) is None}
    return {**settings, **used}


def _notes(notes: Mapping[str, Any]) -> dict[str, Any]:
    training, plan = notes.get("training"), notes.get("plan")
    upgraded: dict[str, Any] = {}
    if isinstance(training, Mapping):
        upgraded["training"] = {TRAINING_NAMES.get(name, name): value for name, value in training.items()}
    if isinstance(plan, Mapping) and "ridge" in plan:
        upgraded["plan"] = _plan(plan)
    elif "route" in notes or "l2" in notes:  # linear baselines kept it without a name of its own
        known = ("route", "l2", "rank", "predicted bytes")
        upgraded["plan"] = {name.replace(" ", "_"): notes[name] for name in known if name in notes}
    return upgraded


def _plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {PLAN_NAMES.get(name, name.replace(" ", "_")): value for name, value in plan.items()}
    if renamed.get("candidates") == "all":
        del renamed["candidates"]
    if isinstance(renamed.get("pairs"), int):  # were counted one way
        renamed["pairs"] *= 2
    return renamed
