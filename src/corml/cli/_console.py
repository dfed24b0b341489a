"""What people see: progress with time left, aligned tables, JSON for scripts."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["Progress", "progress", "say", "show_json", "show_table", "tell"]

Progress = Callable[[str, int, int], None]
QUIET_SECONDS = 10.0  # between lines where standard error is a file, not a terminal


def say(text: str = "") -> None:
    """Print a result on standard output."""
    print(text)


def tell(text: str) -> None:
    """Print a remark on standard error, so that results can be piped on."""
    print(text, file=sys.stderr)


def show_json(value: Any) -> None:
    """Print a value as JSON."""
    say(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "") -> None:
    """Print an aligned table: text to the left, numbers to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for at, column in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[at]) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False).print(table)


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback that shows the stage, how far it is and the time left."""
    if not sys.stderr.isatty():
        yield _plain()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    shape = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*shape, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        known: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in known:
                known[stage] = bars.add_task(stage, total=total)
            bars.update(known[stage], completed=done, total=total)

        yield show


def _plain() -> Progress:
    """For logs: now and then a line, and none for work that is over soon."""
    begun = last = time.monotonic()

    def show(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= QUIET_SECONDS:
            left = (now - begun) / max(done, 1) * (total - done)
            tell(f"{stage}: {done} of {total}, about {left:.0f} s left")
            last = now

    return show


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    """A cell as printable text: data must not be able to move the cursor or forge a line."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:,.4f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
