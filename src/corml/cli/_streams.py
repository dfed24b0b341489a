"""Standard output and error that never end the work: what cannot be written is lost, and said at the end.

Where one is closed, its number would be given to the next file that is opened, and a library that complains would write
into that file. So closed ones are opened first.
"""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

LOST = 3  # exit code: a file, here standard output, cannot be written
WRONG_WAY = (os.O_WRONLY, os.O_RDONLY, os.O_RDONLY)  # how closed ones are opened: using them stays an error


class Forgiving(io.FileIO):
    """A file whose writes do not fail: the first reason is kept, and from there on all is dropped."""

    fault: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write, or drop."""
        if self.fault is None:
            try:
                return super().write(data) or 0
            except OSError as fault:
                self.fault = fault
        return memoryview(data).nbytes


class Streams:
    """Whether what was printed has arrived."""

    output: Forgiving | None = None

    def ended(self, code: Any) -> Any:
        """The exit code, where standard output may have lost something; a reader that has read enough is no error."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
        fault = self.output.fault if self.output else None
        if code or fault is None or fault.errno == errno.EPIPE:
            return code
        lost = "what was to be printed is lost, files that were to be written are complete."
        print(f"error[system]: {fault.strerror} (standard output): {lost}", file=sys.stderr)
        return LOST


@contextmanager
def dependable_streams() -> Iterator[Streams]:
    """Put them in the place of those of the process; where another program has put its own, these stay."""
    _open_closed_ones()
    streams, before = Streams(), (sys.stdout, sys.stderr)
    try:
        if sys.stdout is sys.__stdout__:
            sys.stdout, streams.output = _forgiving(1, sys.stdout)
        if sys.stderr is sys.__stderr__:
            sys.stderr, _ = _forgiving(2, sys.stderr)
        yield streams
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        sys.stdout, sys.stderr = before


def _open_closed_ones() -> None:
    for number, way in enumerate(WRONG_WAY):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, way)  # gets the lowest free number, which is this one


def _forgiving(number: int, old: TextIO | None) -> tuple[TextIO, Forgiving]:
    """The same stream, encoded as it was; of a closed one, in UTF-8."""
    raw = Forgiving(number, "wb", closefd=False)
    how: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
    if isinstance(old, io.TextIOWrapper):
        with contextlib.suppress(OSError):
            old.flush()
        how = {"encoding": old.encoding, "errors": old.errors, "line_buffering": old.line_buffering}
        how["write_through"] = old.write_through
    return io.TextIOWrapper(io.BufferedWriter(raw), **how), raw
