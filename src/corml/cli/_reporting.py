"""Steps of `corml report` and `corml demo`: evaluate models, take the time, and make the page of it."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import corml
from corml import data as datasets
from corml._runtime.progress import Progress
from corml.cli._console import command_line, tell
from corml.cli._options import Given
from corml.cli._work import split_again
from corml.data.interactions import Interactions
from corml.errors import DataError, UsageError
from corml.evaluation import Frontier, Result, frontier
from corml.experiments import Study, read_study
from corml.models.recommender import Recommender
from corml.models.saved.model_file import environment
from corml.report import METRICS, Card, Cost, Subject, build_page, of_study, sample_users, samples, write_report
from corml.splits import Split

Evaluated = dict[str, tuple[Recommender, Result]]
TIMED_USERS = 2000


def evaluated(models: Mapping[str, Recommender], split: Split, part: str, show: Progress) -> Evaluated:
    """Every model on the same part of the same split, by the metrics a page is made of."""
    return {
        name: (model, corml.evaluate(model, split, METRICS, part=part, progress=show)) for name, model in models.items()
    }


def curve_of(model: Recommender, split: Split, part: str, show: Progress, *, fit: bool = False) -> Frontier | None:
    """The trade-off as a curve: of a dial or, with `fit`, of one fitted with the same settings."""
    if hasattr(model, "at"):
        return frontier(model, split, METRICS, part=part, progress=show)
    if not fit:
        return None
    if not isinstance(model, corml.CoRML):
        raise UsageError(f"--dial fits CoRML at several operating points; {model.NAME} is another model: leave it out.")
    shared = {name: value for name, value in model.fitted_.settings.items() if name != "item_norm"}
    return frontier(corml.CoRML.dial(split.train, **shared), split, METRICS, part=part, progress=show)


def list_seconds(model: Recommender) -> float | None:
    """Seconds for a thousand lists of the model's own users; None if it has none."""
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
        quality=datasets.examine(data),
        dial=dial,
        samples=_samples(first, split, part),
        costs=costs,
        versions=environment(),
        command=command_line(),
        when=today(),
    )


def study_subject(folder: str, source: str | None, name: str | None, loading: Given) -> Subject:
    """What the page of a study is made from; the data are shown too if they are available and split as they were."""
    study = read_study(folder)
    data, split = _data_of_study(study, folder, source, loading)
    return subject_of_study(study, name or _name_of(study, folder), data, split)


def subject_of_study(study: Study, name: str, data: Interactions | None, split: Split | None) -> Subject:
    """What the page of a study is made from, with checks of the data, the date and the command."""
    page = of_study(study, name, data=data, split=split, when=today())
    quality = None if data is None else datasets.examine(data)
    return replace(page, command=page.command or command_line(), quality=quality)


def write_study_page(path: Path, study: Study, splits: Sequence[Split]) -> None:
    """The page of a study next to its tables; with several splits no user has a single history."""
    one = splits[0] if len(splits) == 1 else None
    data = None if one is None else one.whole()
    write_report(path, build_page(subject_of_study(study, _name_of(study, str(path.parent)), data, one)))


def _name_of(study: Study, folder: str) -> str:
    return os.path.basename(str(study.provenance.data.get("from") or os.path.abspath(folder)))


def _data_of_study(
    study: Study, folder: str, source: str | None, loading: Given
) -> tuple[Interactions | None, Split | None]:
    if len(study.splits) != 1:  # users are averaged over splits: no history is theirs alone
        return None, None
    (recorded,) = study.splits
    try:
        origin = study.provenance.data
        data, split = split_again(origin, recorded.procedure, folder, source, loading, {})
    except (DataError, UsageError) as fault:
        if source:
            raise
        tell(f"note: the page has no section about the data and groups of users: {fault}")
        return None, None
    if split.fingerprint == recorded.fingerprint:
        return data, split
    tell("note: the data are not those of the study any more: the page has no section about them")
    return None, None


def today() -> str:
    """The date in words."""
    day = date.today()
    return f"{day.day} {day:%B %Y}"


def _samples(model: Recommender, split: Split, part: str) -> tuple[Card, ...]:
    """Cards of a few evaluated users, with their targets marked."""
    history, _, held_out = split.part(part)
    targets = split.judged(held_out)
    return samples(model, sample_users(history, targets), train=history, held_out=targets)
