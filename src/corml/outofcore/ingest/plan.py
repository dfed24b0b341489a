"""How the work is cut, from the data and the budget alone: whoever makes the store again gets the same bytes.

Rows go into buckets by the hash of their user. A bucket is merged in memory, so it has as many rows as the budget
allows, in the mean; one user is never divided. Batches of rows and blocks of text are cut by the budget likewise.
Small files are read together, or each would cost a piece of its own, flushed to the disk.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corml._runtime.memory import require
from corml.data import Cut, Reader
from corml.errors import UsageError

VERSION = 3  # of the way things are cut and written: pieces of another version are not used
LEAST = 1 << 20  # bytes
BATCH_ROW = 512  # bytes that a row of a batch takes at the peak, ids of usual length
TEXT_BYTE = 24  # bytes that a byte of text takes
BUCKET_ROW = 256  # bytes that a row takes while its bucket is merged
MOST_ROWS, MOST_TEXT = 1 << 20, 1 << 25  # of a batch: larger ones are not faster
MOST_BUCKETS = 1 << 16


@dataclass(frozen=True)
class Plan:
    """The files with their sizes and dates, the options, and the number of buckets."""

    files: tuple[tuple[str, int, int], ...]
    options: dict[str, Any]
    memory: int
    buckets: int
    version: int = VERSION

    @classmethod
    def of(cls, reader: Reader, memory: int) -> "Plan":
        """The plan for some files within a budget of bytes."""
        abouts = [(os.fspath(path), path.stat()) for path in reader.files]
        files = tuple((name, about.st_size, about.st_mtime_ns) for name, about in abouts)
        buckets = -(-sum(reader.about_rows) * BUCKET_ROW // memory)
        if buckets > MOST_BUCKETS:
            raise UsageError(f"{MOST_BUCKETS:,} buckets are not enough within this budget: give more with --memory.")
        options = json.loads(json.dumps(reader.options.given(), default=str))
        return cls(files, options, memory, max(buckets, 1))

    @property
    def bucket_rows(self) -> int:
        """How many rows of a bucket the budget allows."""
        return self.memory // BUCKET_ROW

    def require_memory(self, rows: int) -> None:
        """Refuse a budget that the data would fill and that is not free."""
        needed = min(self.memory, rows * BUCKET_ROW)
        require(needed, what="Making the store", instead="let it take less at a time with memory= (--memory).")

    def facts(self) -> dict[str, Any]:
        """The plan as JSON knows it."""
        known: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return known

    def unchanged(self, file: int) -> bool:
        """Whether a file is still the one that was planned with."""
        name, size, moment = self.files[file]
        about = Path(name).stat()
        return (about.st_size, about.st_mtime_ns) == (size, moment)


def cut_for(memory: int) -> Cut:
    """The size of batches within a budget of bytes."""
    if memory < LEAST:
        raise UsageError(f"A store needs a budget of at least {LEAST >> 20} MiB; got {memory:,} bytes.")
    return Cut(min(memory // BATCH_ROW, MOST_ROWS), min(memory // TEXT_BYTE, MOST_TEXT))


def runs(rows: Sequence[int], most: int) -> list[range]:
    """Consecutive files of about so many rows: as many together as have no more than `most`, and at least one."""
    starts, held = [0], 0
    for file, count in enumerate(rows):
        if held and held + count > most:
            starts.append(file)
            held = 0
        held += count
    return [range(start, end) for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]
