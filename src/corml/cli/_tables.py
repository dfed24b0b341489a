"""Tables as files, by their ending, or on standard output; ids are written unchanged, quoted where that is needed."""

import io
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from corml.cli._console import STDOUT
from corml.errors import UsageError, ascii_line
from corml.models.saved.keep import put_or_keep

if TYPE_CHECKING:
    import polars

__all__ = ["ending", "put", "table_bytes"]


def ending(out: str, allowed: Sequence[str]) -> str:
    """The ending of a file's name, checked before any work is done; standard output gets .csv."""
    if out == STDOUT:
        return ".csv"
    for suffix in allowed:
        if out.lower().endswith(suffix):
            return suffix
    listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    raise UsageError(f"Cannot tell what to write: {ascii_line(out, 200)} must end in {listed}.")


def put(out: str, data: bytes) -> None:
    """Write a whole file, or to standard output, byte by byte where that takes bytes."""
    if out != STDOUT:
        put_or_keep(out, data)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        sys.stdout.write(data.decode())


def table_bytes(frame: "polars.DataFrame", kind: str) -> bytes:
    """Write a frame as .parquet, .csv or .tsv."""
    writers: dict[str, Callable[[polars.DataFrame], bytes]] = {
        ".parquet": _parquet,
        ".csv": lambda frame: _text(frame, ","),
        ".tsv": lambda frame: _text(frame, "\t"),
    }
    return writers[kind](frame)


def _parquet(frame: "polars.DataFrame") -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _text(frame: "polars.DataFrame", separator: str) -> bytes:
    return frame.write_csv(separator=separator).encode()
