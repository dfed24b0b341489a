"""Write lists shard by shard: what is finished stays, what is missing is made."""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

from corml._runtime.console_progress import shown
from corml._runtime.lazy_polars import refuse_after_fork
from corml._runtime.progress import Asked, Progress
from corml.data.store import Store
from corml.errors import DataError, UsageError, ascii_line
from corml.outofcore.lists.manifest import Manifest, Part
from corml.outofcore.lists.on_cluster import WORK, Maker, shards_of_workers
from corml.outofcore.lists.request import as_facts, options_of, users_of
from corml.outofcore.lists.sizes import users_at_a_time, users_of_a_part
from corml.persistence import atomic, locks
from corml.persistence.atomic import writable_folder
from corml.recommend.options import ListOptions, list_length, with_options

if TYPE_CHECKING:
    from distributed import Client

    from corml.models.recommender import Recommender


@dataclass(frozen=True)
class ListParts:
    """A finished folder of lists: how many, in how many rows and shards, and how many shards an earlier run had made.

    `with_reason` counts the lists that are short or not personal; the column `reason` says why.
    """

    folder: Path
    lists: int
    rows: int
    parts: int
    found: int
    with_reason: int


@with_options()
def recommend_to(
    model: "Recommender",
    folder: str | os.PathLike[str],
    users: Sequence[Hashable] | str | None = None,
    *,
    data: Store | None = None,
    cluster: "str | Client | None" = None,
    progress: Asked = None,
    **options: Unpack[ListOptions],
) -> ListParts:
    """Write the lists of users, by default of all, into a folder: Parquet files (shards) of some users each.

    `data` is a `Store`: then the lists are for all users in it, with their histories there, whether the model knows
    them or not. Items that the store or the model knows for a user stay out of the list.

    Memory does not grow with the number of users. A call that was stopped at any moment resumes when it is made again:
    finished shards are kept, and the files are the same in the end. Another model, or other options, are refused in the
    same folder. Options are those of `recommend`, except a list of items for each user, and `max_share`, which concerns
    all lists together.

    `cluster` is a Dask client or the address of a scheduler, whose workers make the shards and must reach the folder
    and the store under the same path: the result is byte-identical.
    """
    refuse_after_fork()
    model._check_fitted()
    given = dict(options)
    k = given.pop("k", 10)
    width, chosen = list_length(k, model.items_), options_of(given)
    if cluster is not None and users is not None:
        raise UsageError("Lists on a cluster are for all users of the model, or all in a store.")
    whose = users_of(model, users, data, {**chosen, "unknown": given.get("unknown")})
    model.recommend(**{**whose.whom(0, 0), "k": k, **chosen})  # mistakes are told before anything is written
    place = check_folder(folder)
    manifest = Manifest(place, as_facts(model, whose, int(cast(int, k)), chosen), users_of_a_part(width))
    if chosen.get("now") == "now":
        manifest.now = datetime.now(UTC).isoformat()
    try:
        place.mkdir(exist_ok=True)
    except OSError as fault:
        raise DataError(f"Could not make the folder {ascii_line(place, 200)}: {fault.strerror or fault}.") from fault
    with _alone(place), shown(progress) as report:
        manifest.resume()
        if manifest.now is not None:
            chosen["now"] = manifest.now  # all shards are of one moment, whenever they are made
        earlier = _whole_ones(manifest, report)
        maker = Maker(model, whose, int(cast(int, k)), chosen, users_at_a_time(width))
        ranked = _Counter(report, sum(part.users for part in manifest.finished.values()), len(whose))
        if cluster is None:
            for file, first, last in manifest.missing():  # each is on the disk before the manifest lists it
                contents, counts = maker.shard(first, last, ranked.add)
                atomic.replace(place / file, contents)
                manifest.add(Part(file, **counts, bytes=len(contents), sha256=hashlib.sha256(contents).hexdigest()))
        elif manifest.missing():
            with shards_of_workers(manifest, maker, data, cluster, ranked.add) as made:
                for part, path in made:
                    os.replace(path, place / part.file)
                    manifest.add(part)
        shutil.rmtree(place / WORK, ignore_errors=True)  # of workers that were stopped
    parts = manifest.finished.values()
    counts = {name: sum(getattr(part, name) for part in parts) for name in ("rows", "with_reason")}
    return ListParts(place, lists=len(whose), parts=len(parts), found=earlier, **counts)


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Check, before any long work, that there is such a folder, or that it can be made."""
    place = Path(folder)
    if not os.path.isdir(place):  # where a name is too long, that of Path fails
        atomic.writable(place)
        if os.path.lexists(place):
            raise DataError(f"{ascii_line(place, 200)} is a file, not a folder: choose another name.")
    else:
        writable_folder(place)
    return place


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second run out of the folder, where folders can be locked; the lock ends with the process."""
    handle = os.open(folder, os.O_RDONLY) if os.name == "posix" else None
    try:
        if handle is not None and locks.take(handle) is False:
            raise UsageError(f"Another process writes lists into {ascii_line(folder, 200)}: wait for it to end.")
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _whole_ones(manifest: Manifest, report: Progress) -> int:
    """Check every finished shard, byte by byte, forget those that have changed, and count the others."""
    listed = list(manifest.finished.values())
    for done, part in enumerate(listed, start=1):
        if not part.is_whole(manifest.folder):
            del manifest.finished[part.file]
        report("check parts", done, len(listed))
    return len(manifest.finished)


class _Counter:
    """Tells how many users are done, and how many are made each second by this run."""

    def __init__(self, report: Progress, done: int, total: int) -> None:
        self.report, self.first, self.done, self.total = report, done, done, total
        self.begun = time.monotonic()
        report("lists", done, total)

    def add(self, users: int) -> None:
        self.done += users
        rate = (self.done - self.first) / max(time.monotonic() - self.begun, 1e-9)
        self.report(f"lists at {rate:,.0f} users/s", self.done, self.total)
