"""The command line: thin layers over library calls, one file per command; the file is the registration."""

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

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
            _exit(INTERRUPTED, at_once=arguments is None)
        except MemoryError:
            print("error[memory]: There is not enough memory to start. Free some, or raise its limit.", file=sys.stderr)
            sys.exit(4)
        except SystemExit as end:
            code = streams.ended(end.code)
            _exit(code, at_once=code == INTERRUPTED and arguments is None)


def _exit(code: Any, *, at_once: bool) -> NoReturn:
    """End the program. One that was interrupted has nothing left to do, and taking down its libraries can take seconds.

    Python itself would end it by SIGINT, whatever the code, where the interruption came inside an `exec` of a library.
    """
    if at_once:
        end_at_once(code)
    sys.exit(code)
