"""Output on the console: progress with time left, aligned tables, JSON for scripts."""

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from corml._runtime.progress import Progress, silent
from corml._runtime.values import json_text
from corml.errors import printable

WORDS: ContextVar[tuple[str, ...]] = ContextVar("words", default=())  # the program was called with
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)  # whether only results and errors are printed
VERBOSE: ContextVar[bool] = ContextVar("verbose", default=False)  # whether details are printed too
HELD: ContextVar[ExitStack] = ContextVar("held")  # locks that the command releases at its end
STDOUT = "-"  # a file of this name is standard output
_OPTION = re.compile(r"\b[a-z]\w*(?:=\S*)? \((--[a-z][^()]*)\)")
UNLIMITED = 100_000  # columns where standard output is not a terminal: a row stays one line


def command_line() -> str:
    """The command as it could be typed again."""
    return shlex.join(["corml", *WORDS.get()])


def say(text: str = "") -> None:
    """Print a result on standard output, line by line: data must not be able to move the cursor."""
    print("\n".join(map(printable, text.split("\n"))))


def tell(text: str) -> None:
    """Print a remark, in one line, on standard error, so that results can be piped on; a quiet program has none."""
    if not QUIET.get():
        print(printable(text), file=sys.stderr)


def wrote(out: str, about: str) -> None:
    """Say what was written and where; of what is on standard output already, only that."""
    if not QUIET.get() and out != STDOUT:
        say(f"wrote {out}: {about}")


def next_step(*words: str) -> None:
    """Name a command to go on with, as it could be typed."""
    tell(f"next: {shlex.join(['corml', *words])}")


def in_flags(text: str) -> str:
    """Name options as the command line does: the library writes `user= (--user)`, here it is `--user`."""
    return _OPTION.sub(r"\1", text)


def show_json(value: Any) -> None:
    """Print a value as JSON."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    say(json_text(value, ascii_only=encoding != "utf8"))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, remark: bool = False) -> None:
    """Print an aligned table: text to the left, numbers to the right; as a remark it goes to standard error."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for at, column in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[at]) for row in rows)
        table.add_column(Text(printable(column)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    file = sys.stderr if remark else sys.stdout
    console = Console(file=file, width=None if file.isatty() else UNLIMITED, highlight=False)
    with console.capture() as captured:
        console.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    if not remark:
        print("\n".join([*lines, ""]))
    elif not QUIET.get():
        print("\n".join(lines), file=sys.stderr)


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback that shows the stage, its progress and the time left; a quiet program shows none."""
    from corml._runtime.console_progress import bars

    if QUIET.get():
        yield silent
        return
    with bars(tell) as show:
        yield show


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
    return printable(value)
