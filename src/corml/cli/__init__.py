"""The command line: thin layers over library calls, one file per command; the file is the registration."""

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from corml.cli._stopping import STOPPED, end_at_once, stoppable
from corml.cli._streams import dependable_streams
from corml.errors import INTERRUPTED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the program `corml`."""
    alone = arguments is None  # nothing else is done in this process
    with dependable_streams() as streams:
        try:
            with stoppable(for_good=alone):
                code = streams.ended(_code(arguments))
        except KeyboardInterrupt:  # outside `_run`, which says so itself: while the program is imported, or at its end
            print(f"error[interrupted]: {STOPPED}", file=sys.stderr)
            code = INTERRUPTED
        if code == INTERRUPTED and alone:
            # Taking down the libraries can take seconds. And Python itself would end the process by SIGINT, whatever
            # the code, where the interruption came inside an `exec` of a library.
            end_at_once(code)
        sys.exit(code)


def _code(arguments: Sequence[str] | None) -> Any:
    """Run the program, imported here so that a signal is heard from the start; its exit code."""
    try:
        from corml.cli._main import main as run

        run(arguments)
    except MemoryError:
        print("error[memory]: There is not enough memory to start. Free some, or raise its limit.", file=sys.stderr)
        return 4
    except SystemExit as end:
        return end.code
