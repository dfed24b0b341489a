"""A file with one id on each line, for ids that are too many for a command line or hold commas."""

from pathlib import Path

from corml._runtime import memory
from corml.data.formats._bytes import as_text, unix_lines
from corml.data.formats._packed import content

__all__ = ["ids_in"]

PER_ID = 100  # bytes of a text of Python and of the place where it is named, beside its own


def ids_in(path: str) -> list[str]:
    """The ids in a file, through the same guards as a table: a device has no end, and a pipe may never begin."""
    read = content(Path(path))
    data = unix_lines(as_text(read.data, read.where))
    needed = 2 * len(data) + PER_ID * (data.count(b"\n") + 1)
    memory.require(needed, what=f"Reading the ids in {read.where}", instead="give fewer at a time, or add memory.")
    return [line for line in data.decode().split("\n") if line.strip()]
