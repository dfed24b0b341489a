"""Write lists part by part: what is finished stays, what is missing is made."""

import contextlib
import hashlib
import io
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml.console_progress import shown
from corml.errors import DataError, UsageError, ascii_line
from corml.parts.asked import Whose, options_of, plainly, whose
from corml.parts.manifest import Manifest, Part
from corml.parts.sizes import users_at_a_time, users_of_a_part
from corml.progress import Asked, Progress
from corml.requests import list_length
from corml.storage import atomic

if TYPE_CHECKING:
    from corml.recommender import Recommender

__all__ = ["ListParts", "check_folder", "write_lists"]


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


def write_lists(
    model: "Recommender",
    folder: str | os.PathLike[str],
    users: Any = None,
    *,
    k: int = 10,
    options: Mapping[str, Any],
    progress: Asked = None,
) -> ListParts:
    """Write the lists of users into a folder; what a run that was stopped has finished there is not made again."""
    model.check_fitted()
    width, chosen = list_length(k, model.items), options_of(model, options)
    labels = whose(model, users, chosen)
    model.recommend([], k=k, **chosen)  # whatever is wrong with the options is said before anything is written
    place = check_folder(folder)
    manifest = Manifest(place, plainly(model, labels, k, chosen), users_of_a_part(width))
    if chosen.get("now") == "now":
        manifest.now = datetime.now(UTC).isoformat()
    _make(place)
    with _alone(place), shown(progress) as report:
        manifest.resume()
        if manifest.now is not None:
            chosen["now"] = manifest.now  # all parts are of one moment, whenever they are made
        found = _whole_ones(manifest, report)
        _fill(manifest, _Maker(model, labels, k, chosen, users_at_a_time(width)), report)
    parts = manifest.finished.values()
    counts = {name: sum(getattr(part, name) for part in parts) for name in ("rows", "with_reason")}
    return ListParts(place, lists=len(labels), parts=len(parts), found=found, **counts)


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Check, before any long work, that there is such a folder, or that it can be made."""
    place = Path(folder)
    if not place.is_dir():
        atomic.target(place)
        if os.path.lexists(place):
            raise DataError(f"{ascii_line(place, 200)} is a file, not a folder: choose another name.")
    elif not os.access(place, os.W_OK | os.X_OK):
        raise DataError(f"No permission to write in {ascii_line(place, 200)}: choose another folder.")
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
        if handle is not None and atomic.lock(handle) is False:
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


@dataclass(frozen=True, eq=False)
class _Maker:
    """Makes parts: some users are ranked at a time."""

    model: "Recommender"
    labels: Whose
    k: int
    options: Mapping[str, Any]
    piece: int

    def part(self, first: int, last: int, ranked: "_Counter") -> tuple[bytes, dict[str, int]]:
        """A Parquet file with the lists of users first to last, and what to count of it."""
        import polars

        frames, with_reason = [], 0
        for at in range(first, last, self.piece):
            some = self.labels[at : min(at + self.piece, last)]
            lists = self.model.recommend(list(some), k=self.k, **self.options)
            frames.append(lists.to_frame())
            with_reason += sum(reason is not None for reason in lists.reasons)
            ranked.add(len(some))
        frame, buffer = polars.concat(frames), io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue(), {"users": last - first, "rows": len(frame), "with_reason": with_reason}


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


def _fill(manifest: Manifest, maker: _Maker, report: Progress) -> None:
    """Make the missing parts; each is on the disk before the manifest says so."""
    ranked = _Counter(report, sum(part.users for part in manifest.finished.values()), len(maker.labels))
    for number, file in enumerate(manifest.files):
        if file not in manifest.finished:
            first = number * manifest.users_per_part
            data, counts = maker.part(first, min(first + manifest.users_per_part, len(maker.labels)), ranked)
            atomic.replace(manifest.folder / file, data)
            manifest.add(Part(file, **counts, bytes=len(data), sha256=hashlib.sha256(data).hexdigest()))
