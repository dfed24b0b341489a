"""Progress on a console: bars on a terminal or in a notebook, a line now and then in a log.

Compilation of kernels is a stage like any other on a terminal; a log mentions it once per run.
"""

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from corml._runtime.progress import Asked, Progress, silent
from corml.errors import UsageError, ascii_line

LOG_SECONDS = 10.0  # between lines where standard error is a file
COMPILE_SECONDS = 1.0  # of compiling before a log mentions it
COMPILING = "note: compiling numerical code for this machine, which takes some seconds"
ASKED_SECONDS = 2.0  # between lines for progress=True without a terminal


@contextmanager
def shown(progress: Asked) -> Iterator[Progress]:
    """The callback for the option `progress`: a function of the caller, bars for True, or none."""
    if progress is True:
        with bars(remark, every=ASKED_SECONDS) as show:
            yield show
    elif progress is None or progress is False:
        yield silent
    elif callable(progress):
        yield progress
    else:
        raise UsageError(f"progress is True, or a function of stage, done and total; got {ascii_line(progress)}.")


@contextmanager
def bars(tell: Callable[[str], None], *, every: float = LOG_SECONDS) -> Iterator[Progress]:
    """A callback that shows the stage, its progress and the time left; `tell` prints a line where bars cannot be."""
    from corml._runtime.compiled import compilation  # needs Numba, which is slow to load

    with _drawn(tell, every) as show, compilation(lambda done, begun: show("compile", done, begun)):
        yield show


@contextmanager
def _drawn(tell: Callable[[str], None], every: float) -> Iterator[Progress]:
    if not (_on_terminal() or _notebook_with_widgets()):
        yield _Lines(tell, every)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    shape = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*shape, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as drawing:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            kind = _kind(stage)
            if kind not in tasks:
                tasks[kind] = drawing.add_task(stage, total=total)
            drawing.update(tasks[kind], description=stage, completed=done, total=total)

        yield show


def _on_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # it was closed
        return False


def _notebook_with_widgets() -> bool:
    """Whether bars can be drawn below a cell: rich does that with ipywidgets."""
    return "ipykernel" in sys.modules and importlib.util.find_spec("ipywidgets") is not None


class _Lines:
    """A line now and then, and none for short work; compilation is mentioned once if it takes long."""

    def __init__(self, tell: Callable[[str], None], every: float) -> None:
        self.tell, self.every = tell, every
        self.stage, self.first = "", 0
        self.begun, self.last = time.monotonic(), time.monotonic()
        self.compiling, self.since = 0.0, 0.0  # seconds spent on compiling; when it began, while a kernel is compiled
        self.mentioned = False

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage == "compile":
            self.compiling += now - self.since if self.since else 0.0
            self.since = now if done < total else 0.0
            if self.since and self.compiling >= COMPILE_SECONDS and not self.mentioned:
                self.mentioned = True
                self.tell(COMPILING)
            return
        if _kind(stage) != self.stage:  # the time left is that of the stage, so its clock starts here
            self.stage, self.first, self.begun = _kind(stage), max(done - 1, 0), now
        if now - self.last >= self.every:
            left = (now - self.begun) / max(done - self.first, 1) * (total - done)
            self.tell(f"{stage}: {done} of {total}, about {left:.0f} s left")
            self.last = now


def _kind(stage: str) -> str:
    """The stage without its details: all epochs are one, all trials, and lists at any speed."""
    first = stage.partition(" ")[0]
    return first if first in ("epoch", "trial", "lists") else stage


def remark(text: str) -> None:
    """Print a line on standard error, if that is there and takes it."""
    if sys.stderr is not None:  # closed from the start
        with suppress(OSError, ValueError):  # full, or closed: no reason to stop the work
            print(text, file=sys.stderr, flush=True)
