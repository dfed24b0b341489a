"""One line per event on standard error, as JSON or plain: never a history, a user, a token, or anything else sent."""

import json
import logging
import os
import sys
import time
from typing import Any

__all__ = ["Handler", "Log"]


class Log:
    """Writes lines; each in one piece, so that lines of several processes do not mix."""

    def __init__(self, form: str = "plain", quiet: bool = False) -> None:
        self.form, self.quiet = form, quiet

    def event(self, level: str, event: str, **facts: Any) -> None:
        """Something happened."""
        if not (self.quiet and level == "info"):
            self._write({"ts": _now(), "level": level, "event": event, "pid": os.getpid(), **facts})

    def request(self, **facts: Any) -> None:
        """A request was answered: route, code, milliseconds, sizes, version of the model."""
        if not self.quiet:
            self._write({"ts": _now(), "level": "info", "event": "request", **facts})

    def _write(self, facts: dict[str, Any]) -> None:
        line = json.dumps(facts, default=str) if self.form == "json" else _plain(facts)
        try:
            os.write(sys.stderr.fileno(), line.encode("ascii", "backslashreplace") + b"\n")
        except (OSError, ValueError):  # nobody reads the log any more: not a reason to stop answering
            pass


class Handler(logging.Handler):
    """What the server says itself, as lines of the log: its first line alone, as a trace could show what was sent."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self.log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        self.log.event(record.levelname.lower(), "server", detail=record.getMessage().partition("\n")[0][:200])


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"


def _plain(facts: dict[str, Any]) -> str:
    rest = " ".join(f"{name}={value}" for name, value in facts.items() if name not in ("ts", "level", "event"))
    line = f"{facts['ts']} {facts['level'].upper()} {facts['event']} {rest}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
