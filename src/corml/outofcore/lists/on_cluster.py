"""Parts that workers of a cluster make: each is a task, which opens the model and the people and writes one file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml.outofcore.lists.make import Maker
from corml.outofcore.lists.manifest import Manifest, Part
from corml.outofcore.tasks import Artefacts, Task, executor_on, key_of, working_in

if TYPE_CHECKING:
    from distributed import Client

    from corml.models.recommender import Recommender

__all__ = ["FILE", "WORK", "keep_model", "model_file", "parts_of_workers"]

WORK = ".work"  # inside the folder of the lists
KERNEL = "corml.outofcore.workers:lists"
FILE, MODEL = "lists.parquet", "model.corml"


@contextmanager
def parts_of_workers(
    manifest: Manifest, maker: Maker, data: Any, cluster: "str | Client", ranked: Callable[[int], None]
) -> Iterator[Iterator[tuple[Part, Path]]]:
    """The missing parts, and where their files are: they may be moved from there."""
    place, instead = manifest.folder / WORK, "choose another folder for the lists"
    with working_in(place, "lists", instead) as artefacts, executor_on(cluster, artefacts) as executor:
        model = keep_model(artefacts, maker.model, manifest.asked["model"]["fingerprint"])
        wanted = manifest.missing()
        request = {"k": maker.k, "piece": maker.piece, "asked": dict(manifest.asked), "now": manifest.now}
        places = {"options": dict(maker.options), "store": None if data is None else str(Path(data.path).resolve())}
        tasks = [Task(KERNEL, {"model": model}, {**request, "first": a, "last": b}, places) for _, a, b in wanted]
        sizes, done = [b - a for _, a, b in wanted], 0

        def report(finished: int, total: int) -> None:
            nonlocal done
            ranked(sum(sizes[done:finished]))
            done = finished

        facts = executor.run(tasks, report)
        yield (
            (Part(file, **fact), artefacts.open(task.key).folder / FILE)
            for (file, _, _), task, fact in zip(wanted, tasks, facts, strict=True)
        )


def keep_model(artefacts: Artefacts, model: "Recommender", fingerprint: str) -> str:
    """Give a model to the workers, as a file; the key to open it by."""
    key = key_of("model", fingerprint)
    if artefacts.find(key) is None:
        artefacts.make(key, lambda out: model.save(out.folder / MODEL), durable=True)
    return key


def model_file(folder: Path) -> Path:
    """Where the file of a kept model is."""
    return folder / MODEL
