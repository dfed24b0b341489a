"""Make shards: here, or as tasks of a cluster whose workers open the model and the users and write one file each."""

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml.outofcore.lists.manifest import Manifest, Part
from corml.outofcore.lists.request import Users
from corml.outofcore.tasks import Artefacts, Task, executor_on, key_of, working_in

if TYPE_CHECKING:
    from distributed import Client

    from corml.models.recommender import Recommender

WORK = ".work"  # inside the folder of the lists
KERNEL = "corml.outofcore.workers:lists"
FILE, MODEL = "lists.parquet", "model.corml"


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes shards; `piece` users are ranked at a time."""

    model: "Recommender"
    users: Users
    k: int
    options: Mapping[str, Any]
    piece: int

    def shard(self, first: int, last: int, ranked: Callable[[int], None]) -> tuple[bytes, dict[str, int]]:
        """A Parquet file with the lists of users first to last, and what the manifest counts of it."""
        from corml._runtime.lazy_polars import polars

        frames, with_reason = [], 0
        for at in range(first, last, self.piece):
            whom = self.users.whom(at, min(at + self.piece, last))
            lists = self.model.recommend(**{**whom, "k": self.k, "unknown": "fallback", **self.options})
            frames.append(lists.to_frame())
            with_reason += sum(reason is not None for reason in lists.reasons)
            ranked(len(lists))
        frame, buffer = polars.concat(frames), io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue(), {"users": last - first, "rows": len(frame), "with_reason": with_reason}


@contextmanager
def shards_of_workers(
    manifest: Manifest, maker: Maker, data: Any, cluster: "str | Client", ranked: Callable[[int], None]
) -> Iterator[Iterator[tuple[Part, Path]]]:
    """The missing shards, and where their files are: they may be moved from there."""
    place, instead = manifest.folder / WORK, "choose another folder for the lists"
    with working_in(place, "lists", instead) as artefacts, executor_on(cluster, artefacts) as executor:
        model = keep_model(artefacts, maker.model, manifest.request["model"]["fingerprint"])
        wanted = manifest.missing()
        how = {"k": maker.k, "piece": maker.piece, "request": dict(manifest.request), "now": manifest.now}
        places = {"options": dict(maker.options), "store": None if data is None else str(Path(data.path).resolve())}
        tasks = [Task(KERNEL, {"model": model}, {**how, "first": a, "last": b}, places) for _, a, b in wanted]
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
