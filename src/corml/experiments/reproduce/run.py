"""Run an experiment by its name: the paper's table and figures, the ablation, and the leaderboards."""

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from corml._runtime.progress import Progress
from corml._runtime.values import no_such
from corml.errors import UsageError
from corml.experiments.reproduce import ablation, board, figure, speed, table
from corml.experiments.reproduce.bench import Bench
from corml.experiments.reproduce.outcome import Outcome
from corml.experiments.reproduce.published import Published, read_published
from corml.experiments.reproduce.request import Request
from corml.persistence.locks import held

__all__ = ["EXPERIMENTS", "reproduce"]

EXPERIMENTS: dict[str, Callable[[Request], Outcome]] = {
    "table": table.run,
    "novelty": partial(figure.run, name="novelty"),
    "mix": partial(figure.run, name="mix"),
    "weights": partial(figure.run, name="weights"),
    "speed": speed.run,
    "ablation": ablation.run,
    "leaderboard": board.leaderboard,
    "strong": board.strong,
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
    notify: Callable[[str], None] | None = None,
) -> Outcome:
    """Run one experiment of the file published.toml, and compare with what is published.

    `name` is table, novelty, mix, weights, speed, ablation, leaderboard or strong. `data` and `models` narrow it; data
    that are not at hand are named in the outcome. With `folder` every finished fit is kept there, and the same call
    goes on from them. `quick` takes the bundled sample. `published` is another file of the same form.
    """
    if name not in EXPERIMENTS:
        raise no_such("experiment", name, EXPERIMENTS)
    if quick and data is not None:
        raise UsageError("quick takes the bundled sample: leave out the data (--data).")
    known = read_published(None if published is None else Path(published))
    bench = Bench(
        folder=None if folder is None else Path(folder),
        command=command,
        progress=progress,
        notify=notify or (lambda text: None),
    )
    request = Request(
        published=known, section=_section(known, name), bench=bench, data=data, models=models, quick=quick
    )
    with nullcontext() if folder is None else held(folder, folder=True):
        return EXPERIMENTS[name](request)


def _section(published: Published, name: str) -> "dict[str, object]":
    figures = published["figures"]
    return dict(figures[name] if name in figures else published[name])
