"""One line per event on standard error, as JSON or plain: never a history, a user, a token, or anything else sent."""

import contextlib
import json
import logging
import os
import sys
import time

MOST_LINES = 16  # written at a time: a pipe takes as much in one piece
_json = json.JSONEncoder(default=str).encode


class Log:
    """Writes lines, whole ones, so that those of several processes do not mix.

    Lines about requests may be kept for a moment: `later` says who calls `flush` soon. Events are written at once.
    """

    def __init__(self, form: str = "plain", quiet: bool = False) -> None:
        self.form, self.quiet = form, quiet
        self.later = False
        self._lines: list[bytes] = []
        self._second = (0, "")

    def event(self, level: str, event: str, **facts: object) -> None:
        """Something happened."""
        if not (self.quiet and level == "info"):
            self._add({"ts": self._now(), "level": level, "event": event, "pid": os.getpid(), **facts})
            self.flush()

    def request(self, **facts: object) -> None:
        """A request was answered: route, code, milliseconds, sizes, version of the model."""
        if not self.quiet:
            self._add({"ts": self._now(), "level": "info", "event": "request", **facts})
            if not self.later or len(self._lines) >= MOST_LINES:
                self.flush()

    def flush(self) -> None:
        """Write what was kept."""
        lines, self._lines = self._lines, []
        for at in range(0, len(lines), MOST_LINES):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # nobody reads the log: answer all the same
                os.write(sys.stderr.fileno(), b"".join(lines[at : at + MOST_LINES]))

    def _add(self, facts: dict[str, object]) -> None:
        line = _json(facts) if self.form == "json" else _plain(facts)
        self._lines.append(line.encode("ascii", "backslashreplace") + b"\n")

    def _now(self) -> str:
        now = time.time()
        second = int(now)
        if self._second[0] != second:
            self._second = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._second[1]}.{int(1000 * (now - second)):03d}Z"


class Handler(logging.Handler):
    """What the server says itself, as lines of the log: its first line alone, as a trace could show what was sent."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self.log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        self.log.event(record.levelname.lower(), "server", detail=record.getMessage().partition("\n")[0][:200])


def _plain(facts: dict[str, object]) -> str:
    rest = " ".join(f"{name}={value}" for name, value in facts.items() if name not in ("ts", "level", "event"))
    line = f"{facts['ts']} {str(facts['level']).upper()} {facts['event']} {rest}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
