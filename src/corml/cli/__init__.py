"""The command line: thin layers over library calls, one file per command; the file is the registration."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from corml.cli._stopping import end_at_once, stoppable
from corml.cli._streams import dependable_streams
from corml.errors import INTERRUPTED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the program `corml`; the rest is imported here, so that a signal is heard from the start."""
    with dependable_streams() as streams, stoppable(for_good=arguments is None):
        try:
            from corml.cli._main import main as run

            run(arguments)
        except KeyboardInterrupt:
            print("error[interrupted]: Stopped before anything was done. Run it again.", file=sys.stderr)
            sys.exit(INTERRUPTED)
        except MemoryError:
            print("error[memory]: There is not enough memory to start. Free some, or raise its limit.", file=sys.stderr)
            sys.exit(4)
        except SystemExit as end:
            code = streams.ended(end.code)
            if code == INTERRUPTED and arguments is None:
                end_at_once(code)  # taking down threads and libraries can take seconds, and nothing is left to do
            sys.exit(code)
