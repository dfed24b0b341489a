"""Output on the console: progress with time left, aligned tables, JSON for scripts."""

import json
import math
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = [
    "WORDS",
    "Progress",
    "as_json_text",
    "clean",
    "command_line",
    "in_flags",
    "progress",
    "say",
    "show_json",
    "show_table",
    "tell",
]

Progress = Callable[[str, int, int], None]
WORDS: ContextVar[tuple[str, ...]] = ContextVar("words", default=())  # the program was called with
QUIET_SECONDS = 10.0  # between lines where standard error is a file, not a terminal
_OPTION = re.compile(r"\b[a-z]\w*(?:=\S*)? \((--[a-z][^()]*)\)")
UNLIMITED = 100_000  # columns where standard output is not a terminal: a row stays one line


def command_line() -> str:
    """The command as it could be typed again."""
    return shlex.join(["corml", *WORDS.get()])


def say(text: str = "") -> None:
    """Print a result on standard output."""
    print(text)


def tell(text: str) -> None:
    """Print a remark, in one line, on standard error, so that results can be piped on."""
    print(clean(text), file=sys.stderr)


def in_flags(text: str) -> str:
    """Name options as the command line does: the library writes `user= (--user)`, here it is `--user`."""
    return _OPTION.sub(r"\1", text)


def clean(text: object) -> str:
    """Escape what does not print: data must not be able to move the cursor or forge a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def show_json(value: Any) -> None:
    """Print a value as JSON."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    say(as_json_text(value, ascii_only=encoding != "utf8"))


def as_json_text(value: Any, *, ascii_only: bool = False) -> str:
    """Write a value as JSON that every reader takes: what is not a finite number is null."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=ascii_only, allow_nan=False, default=str)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print an aligned table: text to the left, numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for at, column in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[at]) for row in rows)
        table.add_column(Text(clean(column)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console = Console(width=None if sys.stdout.isatty() else UNLIMITED, highlight=False)
    with console.capture() as captured:
        console.print(table)
    say("\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n")


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback that shows the stage, its progress and the time left; kernels that must be compiled are a stage."""
    from corml.compiled import compilation

    with _shown() as show, compilation(lambda done, begun: show("compile", done, begun)):
        yield show


@contextmanager
def _shown() -> Iterator[Progress]:
    if not sys.stderr.isatty():
        yield _plain()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    shape = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*shape, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            kind = _kind(stage)
            if kind not in tasks:
                tasks[kind] = bars.add_task(stage, total=total)
            bars.update(tasks[kind], description=stage, completed=done, total=total)

        yield show


def _plain() -> Progress:
    """For logs: a line now and then, and none for short work; but what only the first run must do is said."""
    stage_now, first, begun, last, compiles = "", 0, time.monotonic(), time.monotonic(), False

    def show(stage: str, done: int, total: int) -> None:
        nonlocal stage_now, first, begun, last, compiles
        if stage == "compile":
            if not compiles:
                tell("compile: kernels are compiled for this machine, which takes some seconds, once")
            compiles = True
            return
        now = time.monotonic()
        if _kind(stage) != stage_now:  # the time left is that of the stage, so its clock starts here
            stage_now, first, begun = _kind(stage), max(done - 1, 0), now
        if now - last >= QUIET_SECONDS:
            left = (now - begun) / max(done - first, 1) * (total - done)
            tell(f"{stage}: {done} of {total}, about {left:.0f} s left")
            last = now

    return show


def _kind(stage: str) -> str:
    """The stage without its details: all epochs are one, and all trials."""
    first = stage.partition(" ")[0]
    return first if first in ("epoch", "trial") else stage


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        small = 0 < abs(value) < 1e-3
        return f"{value:.4g}" if small or abs(value) >= 1e6 else f"{value:,.4f}"
    if isinstance(value, int):
        return f"{value:,}"
    return clean(value)
