"""Progress as people see it: bars on a terminal or in a notebook, a line now and then in a log.

Kernels that must be compiled first are a stage like any other on a terminal; a log mentions them once on a machine.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from corml._runtime.progress import Asked, Progress, silent
from corml._runtime.version import VERSION
from corml.errors import UsageError, ascii_line

LOG_SECONDS = 10.0  # between lines where standard error is a file
COMPILE_SECONDS = 1.0  # of compiling before a log mentions it
COMPILING = "note: compiling numerical code for this machine, which takes some seconds, once"
ASKED_SECONDS = 2.0  # between lines where somebody waits for them, without a terminal


@contextmanager
def shown(progress: Asked) -> Iterator[Progress]:
    """The callback that was asked for: one's own, the bars of `True`, or none."""
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
    from corml._runtime.compiled import compilation  # which needs Numba: a room that only shows progress stays light

    with _drawn(tell, every) as show, compilation(lambda done, begun: show("compile", done, begun)):
        yield show


@contextmanager
def _drawn(tell: Callable[[str], None], every: float) -> Iterator[Progress]:
    if not (_on_terminal() or _notebook_with_widgets()):
        yield _lines(tell, every)
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


def _lines(tell: Callable[[str], None], every: float) -> Progress:
    """A line now and then, and none for short work; a long compilation is mentioned once on a machine."""
    stage_now, first, begun, last, compiles = "", 0, time.monotonic(), time.monotonic(), _compiles(tell)

    def show(stage: str, done: int, total: int) -> None:
        nonlocal stage_now, first, begun, last
        if stage == "compile":
            compiles(done, total)
            return
        now = time.monotonic()
        if _kind(stage) != stage_now:  # the time left is that of the stage, so its clock starts here
            stage_now, first, begun = _kind(stage), max(done - 1, 0), now
        if now - last >= every:
            left = (now - begun) / max(done - first, 1) * (total - done)
            tell(f"{stage}: {done} of {total}, about {left:.0f} s left")
            last = now

    return show


def _compiles(tell: Callable[[str], None]) -> Callable[[int, int], None]:
    """What to call before and after each kernel: says once that kernels are compiled, if that really takes time."""
    spent, since, said = 0.0, 0.0, False

    def compiles(done: int, begun: int) -> None:
        nonlocal spent, since, said
        now = time.monotonic()
        spent, since = spent + (now - since if since else 0.0), now if done < begun else 0.0
        if done < begun and spent >= COMPILE_SECONDS and not said:
            said = True
            if _first_on_this_machine():
                tell(COMPILING)

    return compiles


def _first_on_this_machine() -> bool:
    """Whether no earlier run of this version mentioned it: a marker in the user's cache tells."""
    chosen = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    marker = Path(chosen, "corml", f"compiled-{VERSION}")
    try:
        if marker.is_absolute():  # a process of an unknown user has no home
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:  # nothing can be kept there: the next run mentions it too
        pass
    return True


def _kind(stage: str) -> str:
    """The stage without its details: all epochs are one, all trials, and lists at any speed."""
    first = stage.partition(" ")[0]
    return first if first in ("epoch", "trial", "lists") else stage


def remark(text: str) -> None:
    """Print a line on standard error, if that is there and takes it."""
    if sys.stderr is not None:  # closed from the start
        with suppress(OSError, ValueError):  # full, or closed: no reason to stop the work
            print(text, file=sys.stderr, flush=True)
