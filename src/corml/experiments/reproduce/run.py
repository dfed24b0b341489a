"""Run an experiment by its name: the paper's table and figures, the ablation, and the leaderboards."""

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from corml._runtime.progress import Progress
from corml._runtime.values import no_such
from corml.errors import UsageError
from corml.experiments.reproduce import ablation, board, data, figure, table
from corml.experiments.reproduce.outcome import Outcome
from corml.experiments.reproduce.published import Published, read_published
from corml.experiments.reproduce.request import Request
from corml.experiments.run import Notify
from corml.models.saved.model_file import environment
from corml.persistence.locks import held
from corml.splits import Split

Source: TypeAlias = Callable[[Published, str], Split]


@dataclass(frozen=True)
class Experiment:
    """What to do with each data set, where its split comes from, and what to note at the end."""

    add: Callable[[Outcome, Request, str, Split], None]
    split: Source = data.paper_split
    missing: Callable[[Published, str], str] = data.missing
    shown: str = "{}"  # the name of a split in the outcome
    notes: Callable[[Request, Outcome], Sequence[str]] = lambda request, outcome: outcome.notes


EXPERIMENTS: dict[str, Experiment] = {
    "table": Experiment(table.add, notes=table.notes),
    **dict.fromkeys(("novelty", "mix", "weights"), Experiment(figure.add)),
    "speed": Experiment(table.add_speed, notes=table.speed_notes),
    "ablation": Experiment(ablation.add, split=data.valid_split, shown="{}, valid", notes=ablation.notes),
    "leaderboard": Experiment(board.add, data.board_split, data.missing_board, "lightgcn-{}", board.notes),
    "strong": Experiment(board.add, data.strong_split, data.missing_strong, "strong-{}", board.notes),
}


def reproduce(
    name: str,
    *,
    data: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    quick: bool = False,
    published: str | os.PathLike[str] | None = None,
    command: str = "",
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Outcome:
    """Run one experiment of the file published.toml, and compare with what is published.

    `name` is table, novelty, mix, weights, speed, ablation, leaderboard or strong. `data` and `models` narrow it; data
    that are not available are named in the outcome. With `folder` every finished fit is kept there, and the same call
    resumes from them. `quick` takes the bundled sample. `published` is another file of the same form.
    """
    if name not in EXPERIMENTS:
        raise no_such("experiment", name, EXPERIMENTS)
    if quick and data is not None:
        raise UsageError("quick takes the bundled sample: leave out the data (--data).")
    file = read_published(None if published is None else Path(published))
    request = Request(
        published=file,
        section=file.section(name),
        data=data,
        models=models,
        quick=quick,
        folder=None if folder is None else Path(folder),
        command=command,
        progress=progress,
        notify=notify,
    )
    with nullcontext() if folder is None else held(folder, folder=True):
        return _run(name, EXPERIMENTS[name], request)


def _run(name: str, experiment: Experiment, request: Request) -> Outcome:
    names, missing = request.names(experiment.missing)
    source = request.section.get("source")
    outcome = Outcome(
        name=name,
        title=request.section["title"] + (", a quick run on the bundled sample" if request.quick else ""),
        missing=missing,
        failed=request.failed,
        provenance={
            "command": request.command,
            "source": request.published["sources"][source] if source else None,
            "environment": environment(),
        },
    )
    for one in names:
        split = experiment.split(request.published, one)
        prints = {"train": split.train.fingerprint, "split": split.fingerprint}
        outcome.data[experiment.shown.format(one)] = prints
        experiment.add(outcome, request, one, split)
    outcome.notes = list(experiment.notes(request, outcome))
    if request.skipped:
        skipped = ", ".join(sorted(request.skipped))
        outcome.notes.append(f"Not run without PyTorch (pip install 'corml[neural]'): {skipped}.")
    return outcome
