"""Tables as files, by their ending; ids are written unchanged, quoted where a text format needs it."""

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from corml.errors import UsageError, ascii_line

if TYPE_CHECKING:
    import polars

__all__ = ["ending", "table_bytes"]


def ending(out: str, allowed: Sequence[str]) -> str:
    """The ending of a file's name, checked before any work is done."""
    for suffix in allowed:
        if out.lower().endswith(suffix):
            return suffix
    listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    raise UsageError(f"Cannot tell what to write: {ascii_line(out, 200)} must end in {listed}.")


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
