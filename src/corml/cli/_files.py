"""Files that a command writes: checked before long work, held against other commands, written whole or not at all."""

import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from corml import data as datasets
from corml.cli._console import HELD, STDOUT
from corml.errors import UsageError, ascii_line
from corml.models.neural.training.checkpoint import UNFINISHED
from corml.models.saved.keep import put_or_keep
from corml.persistence import atomic, container
from corml.persistence.locks import held

if TYPE_CHECKING:
    import polars


def hold(path: str | os.PathLike[str], *, folder: bool = False) -> None:
    """Refuse other commands that would write this file, or folder, until this command ends."""
    HELD.get().enter_context(held(path, folder=folder))


def target(out: str, *inputs: object) -> None:
    """Check, before any long work, that a file can be written, and keep other commands from writing it meanwhile."""
    shared_target(out, *inputs)
    hold(out)


def shared_target(out: str, *inputs: object) -> None:
    """The same for a file that several commands may change at once: it can be written, and is not one of the inputs."""
    if out == STDOUT:
        raise UsageError("What this command writes is a file, not text for standard output: give it a name.")
    atomic.writable(out)
    for path in (one for given in inputs for one in (datasets.files_by_kind(given) or {"": given}).values()):
        if isinstance(path, str) and os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out):
            raise UsageError(f"{ascii_line(out, 200)} is the file to read: choose another name for what is written.")


def text_target(out: str, *inputs: object) -> None:
    """`target` for text, which standard output takes as well."""
    if out != STDOUT:
        target(out, *inputs)


def refuse_to_replace(out: str, *, force: bool) -> None:
    """Refuse to write a model over what is none, such as the data it learns from; over nothing it may be written."""
    if force or not os.path.exists(out) or not os.path.getsize(out):
        return
    model = (container.peek(out) or {}).get("model", UNFINISHED)
    if str(model).endswith(UNFINISHED):
        raise UsageError(
            f"{ascii_line(out, 200)} exists and is not a model file: choose another name, or replace it with --force."
        )


def ending(out: str, allowed: Sequence[str]) -> str:
    """The suffix of a file's name, checked before any work is done; standard output gets .csv."""
    if out == STDOUT:
        return ".csv"
    for suffix in allowed:
        if out.lower().endswith(suffix):
            return suffix
    listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    raise UsageError(f"Cannot tell what to write: {ascii_line(out, 200)} must end in {listed}.")


def put(out: str, data: bytes) -> None:
    """Write a whole file, or to standard output, as bytes where that takes bytes."""
    if out != STDOUT:
        put_or_keep(out, data)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        sys.stdout.write(data.decode())


def table_bytes(frame: "polars.DataFrame", suffix: str) -> bytes:
    """A frame as .parquet, .csv or .tsv; ids are written unchanged, quoted where needed."""
    if suffix == ".parquet":
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
    return frame.write_csv(separator="\t" if suffix == ".tsv" else ",").encode()
