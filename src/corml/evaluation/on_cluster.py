"""Evaluate on a split of a store by the workers of a cluster: each task measures the lists of some users."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml._runtime.progress import Progress
from corml.errors import UsageError, ascii_line
from corml.evaluation.figures import Figures
from corml.evaluation.in_pieces import Known, Pieces
from corml.evaluation.metrics import parse_all
from corml.models.saved.model_file import fingerprint
from corml.outofcore.lists.asked import plain
from corml.outofcore.lists.on_cluster import keep_model
from corml.outofcore.tasks import Artefact, Draft, Task, executor_on, working_in
from corml.outofcore.workers import opened
from corml.recommend.rules import ListRules
from corml.splits import StoreSplit, read_split

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["gathered", "some_figures"]

FOLDER = "evaluation"  # inside the folder of the split, unless another is given
A_TASK = 1 << 16  # users


def gathered(
    pieces: Pieces, progress: Progress, *, cluster: "str | Client", work: str | os.PathLike[str] | None
) -> Figures:
    """What metrics say of everybody, from workers that measure some each."""
    split, known = pieces.split, pieces.known
    place = split.path / FOLDER if work is None else Path(work)
    with working_in(place, "an evaluation") as artefacts, executor_on(cluster, artefacts) as executor:
        inputs = {
            "model": keep_model(artefacts, pieces.model, fingerprint(pieces.model)),
            "known": artefacts.keep(degrees=known.degrees, starts=known.starts),
        }
        params = {
            "of": split.fingerprint,
            "part": pieces.part,
            "metrics": [metric.label for metric in pieces.metrics],
            "k": pieces.k,
            "blocks": [*pieces.shape, pieces.step],
            "rules": None if pieces.rules is None else plain(vars(pieces.rules)),
            "counts": {"users": known.users, "entries": known.entries, "learners": known.learners},
        }
        size = -(-A_TASK // pieces.step) * pieces.step
        ranges = [(first, min(first + size, known.users)) for first in range(0, known.users, size)]
        places = {"split": str(split.path.resolve())}
        tasks = [
            Task("corml.evaluation.on_cluster:some_figures", inputs, {**params, "first": a, "last": b}, places)
            for a, b in ranges
        ]
        executor.run(tasks, lambda done, total: progress("evaluate", done, total))
        figures = Figures(pieces.metrics)
        for task in tasks:
            figures.join(artefacts.open(task.key).get)
        return figures


def some_figures(
    inputs: Mapping[str, Artefact],
    out: Draft,
    *,
    first: int,
    last: int,
    part: str,
    metrics: list[str],
    k: int,
    blocks: list[int],
    rules: Mapping[str, Any] | None,
    counts: Mapping[str, int],
    of: str,
    split: str,
) -> None:
    """Write what metrics say of the evaluated users from the first to before the last."""
    numbers: dict[str, Any] = {**counts, "degrees": inputs["known"]["degrees"], "starts": inputs["known"]["starts"]}
    data = read_split(split)
    if not isinstance(data, StoreSplit) or data.fingerprint != of:
        raise UsageError(f"{ascii_line(split, 200)} is another split on a worker: all need the same under this path.")
    height, width, step = blocks
    chosen = None if rules is None else ListRules(**rules)
    pieces = Pieces(
        opened(inputs["model"]), data, part, parse_all(metrics), k, chosen, Known(**numbers), (height, width), step
    )
    for name, array in pieces.figures(first, last).arrays().items():
        out.put(name, array)
