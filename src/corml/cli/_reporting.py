"""Steps of `corml report` and `corml demo`: evaluate models, take the time, and make the page of it."""

import time
from collections.abc import Mapping
from datetime import date
from typing import Any

import corml
from corml import datasets
from corml.cli._console import Progress, command_line
from corml.errors import UsageError
from corml.evaluation import Frontier, Result, frontier
from corml.interactions import Interactions
from corml.recommender import Recommender
from corml.report import METRICS, Cost, Subject, sample_users, samples
from corml.splits import Split
from corml.storage.model_file import environment

__all__ = ["Evaluated", "curve_of", "evaluated", "list_seconds", "subject", "today"]

Evaluated = dict[str, tuple[Recommender, Result]]
TIMED_USERS = 2000


def evaluated(models: Mapping[str, Recommender], split: Split, part: str, show: Progress) -> Evaluated:
    """Every model on the same part of the same split, by the metrics a page is made of."""
    return {
        name: (model, corml.evaluate(model, split, METRICS, part=part, progress=show)) for name, model in models.items()
    }


def curve_of(model: Recommender, split: Split, part: str, show: Progress, *, fit: bool = False) -> Frontier | None:
    """The dial as a curve: of a model that is one or, where `fit` asks for it, of one fitted with the same settings."""
    if hasattr(model, "at"):
        return frontier(model, split, METRICS, part=part, progress=show)
    if not fit:
        return None
    if not isinstance(model, corml.CoRML):
        raise UsageError(f"--dial fits CoRML at several positions; {model.NAME} is another model: leave it out.")
    shared = {name: value for name, value in model.fitted_.settings.items() if name != "item_norm"}
    return frontier(corml.CoRML.dial(split.train, **shared), split, METRICS, part=part, progress=show)


def list_seconds(model: Recommender) -> float | None:
    """Seconds for a thousand lists of users the model knows; None if it knows none."""
    users = model.users_.labels[:TIMED_USERS].tolist()
    if not users:
        return None
    model.recommend(users[:10], k=10)  # makes what is made once
    begun = time.perf_counter()
    model.recommend(users, k=10)
    return 1000 * (time.perf_counter() - begun) / len(users)


def subject(
    name: str,
    data: Interactions,
    split: Split,
    models: Evaluated,
    *,
    part: str = "test",
    dial: Frontier | None = None,
    costs: Mapping[str, Cost],
) -> Subject:
    """Everything the page of some models is made from; the first is the one whose lists are shown."""
    first = next(iter(models.values()))[0]
    return Subject(
        name=name,
        data=data,
        models=models,
        split=split,
        doctor=datasets.examine(data),
        dial=dial,
        samples=_samples(first, split, part),
        costs=costs,
        versions=environment(),
        command=command_line(),
        when=today(),
    )


def today() -> str:
    """The date in words."""
    day = date.today()
    return f"{day.day} {day:%B %Y}"


def _samples(model: Recommender, split: Split, part: str) -> Any:
    """Cards of users the model knows; else of histories, which it then has to answer by."""
    history, _, targets = split.part(part)
    users = [user for user in sample_users(history, targets) if user in model.users_]
    return samples(model, users, train=history, held_out=targets) if users else ()
