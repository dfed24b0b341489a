"""Write lists part by part: what is finished stays, what is missing is made."""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml._runtime.console_progress import shown
from corml._runtime.lazy_polars import refuse_after_fork
from corml._runtime.progress import Asked, Progress
from corml.data.store import Store
from corml.errors import DataError, UsageError, ascii_line
from corml.outofcore.lists.asked import options_of, plainly
from corml.outofcore.lists.make import Maker
from corml.outofcore.lists.manifest import Manifest, Part
from corml.outofcore.lists.on_cluster import WORK, parts_of_workers
from corml.outofcore.lists.people import whose
from corml.outofcore.lists.sizes import users_at_a_time, users_of_a_part
from corml.persistence import atomic, locks
from corml.persistence.folders import writable_folder
from corml.recommend.options import list_length

if TYPE_CHECKING:
    from distributed import Client

    from corml.models.recommender import Recommender

__all__ = ["ListParts", "check_folder", "recommend_to"]


@dataclass(frozen=True)
class ListParts:
    """A finished folder of lists: how many, in how many rows and parts, and how many parts an earlier run had made.

    `with_reason` counts the lists that are short or not personal; the column `reason` says why.
    """

    folder: Path
    lists: int
    rows: int
    parts: int
    found: int
    with_reason: int


def recommend_to(
    model: "Recommender",
    folder: str | os.PathLike[str],
    users: Sequence[Hashable] | str | None = None,
    *,
    data: Store | None = None,
    k: int = 10,
    cluster: "str | Client | None" = None,
    progress: Asked = None,
    **options: Any,
) -> ListParts:
    """Write the lists of users, by default of all, into a folder: Parquet files (shards) of some users each.

    `data` is a `Store`: then the lists are for all users in it, with their histories there, whether the model knows
    them or not. Items that the store or the model knows for a user stay out of the list.

    Memory does not grow with the number of users. A call that was stopped at any moment resumes when it is made again:
    finished shards are kept, and the files are the same in the end. Another model, or other options, are refused in the
    same folder. `options` are those of `recommend`, except `history`, a list of items for each user, and `max_share`,
    which concerns all lists together.

    `cluster` is a Dask client or the address of a scheduler, whose workers make the shards and must reach the folder
    and the store under the same path: the result is byte-identical.
    """
    refuse_after_fork()
    model._check_fitted()
    width, chosen = list_length(k, model.items_), options_of(model, options)
    if cluster is not None and users is not None:
        raise UsageError("Lists on a cluster are for everybody: all users of the model, or all in a store.")
    people = whose(model, users, data, {**chosen, "unknown": options.get("unknown")})
    model.recommend(**people.asked(0, 0), k=k, **chosen)  # whatever is wrong is said before anything is written
    place = check_folder(folder)
    manifest = Manifest(place, plainly(model, people, k, chosen), users_of_a_part(width))
    if chosen.get("now") == "now":
        manifest.now = datetime.now(UTC).isoformat()
    _make(place)
    with _alone(place), shown(progress) as report:
        manifest.resume()
        if manifest.now is not None:
            chosen["now"] = manifest.now  # all parts are of one moment, whenever they are made
        found = _whole_ones(manifest, report)
        maker = Maker(model, people, k, chosen, users_at_a_time(width))
        if cluster is None:
            _fill(manifest, maker, report)
        elif manifest.missing():
            _fill_by_workers(manifest, maker, data, cluster, report)
        shutil.rmtree(place / WORK, ignore_errors=True)  # of workers that were stopped
    parts = manifest.finished.values()
    counts = {name: sum(getattr(part, name) for part in parts) for name in ("rows", "with_reason")}
    return ListParts(place, lists=len(people), parts=len(parts), found=found, **counts)


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


def _make(place: Path) -> None:
    try:
        place.mkdir(exist_ok=True)
    except OSError as fault:
        raise DataError(f"Could not make the folder {ascii_line(place, 200)}: {fault.strerror or fault}.") from fault


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
    """Check every finished part, byte by byte, forget those that are not as they were, and count the others."""
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


def _fill(manifest: Manifest, maker: Maker, report: Progress) -> None:
    """Make the missing parts; each is on the disk before the manifest says so."""
    ranked = _counter(manifest, maker, report)
    for file, first, last in manifest.missing():
        data, counts = maker.part(first, last, ranked.add)
        atomic.replace(manifest.folder / file, data)
        manifest.add(Part(file, **counts, bytes=len(data), sha256=hashlib.sha256(data).hexdigest()))


def _fill_by_workers(manifest: Manifest, maker: Maker, data: Any, cluster: "str | Client", report: Progress) -> None:
    """Let the missing parts be made by workers, whose files are given their names as they are needed no more."""
    ranked = _counter(manifest, maker, report)
    with parts_of_workers(manifest, maker, data, cluster, ranked.add) as made:
        for part, path in made:
            os.replace(path, manifest.folder / part.file)
            manifest.add(part)


def _counter(manifest: Manifest, maker: Maker, report: Progress) -> _Counter:
    return _Counter(report, sum(part.users for part in manifest.finished.values()), len(maker.people))
