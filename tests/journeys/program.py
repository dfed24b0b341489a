"""The program as people run it: in a folder, by what it prints and returns.

Commands run in this process, which saves their start. With CORML_PROGRAM each is a process of that program, and nothing
of the repository is used: so the journeys are made with a wheel in an empty environment by `make journeys`.
"""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from corml import plugins
from corml.cli import main

PROGRAM = os.environ.get("CORML_PROGRAM")
PROCESS = [PROGRAM] if PROGRAM else [sys.executable, "-m", "corml"]
# What may be on standard error without being asked about: remarks, what was written, and how far a long command is.
USUAL = re.compile(r"(?!warning: |error\[)(note: |next: |wrote |(.* )?[\d,]+ of [\d,]+\b)")


class Ran(NamedTuple):
    """What a command printed."""

    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def notes(self):
        return [line.removeprefix("note: ") for line in self.err.splitlines() if line.startswith("note: ")]


class Shell:
    """A folder to type commands in; `packages` is one more folder of Python packages."""

    def __init__(self, folder, packages=None):
        self.folder, self.packages = Path(folder), [str(packages)] if packages else []

    def __truediv__(self, name):
        return self.folder / name

    def corml(self, *words, code=0, warns=(), error=None):
        """Run a command; its exit code, its warnings and its error are those that are named, and nothing else is said.

        Of warnings and the error a part is enough. Standard error has nothing else than what is USUAL.
        """
        words = [str(word) for word in words]
        ended, ran = (self._in_process if PROGRAM else self._here)(words)
        said = f"corml {' '.join(words)}\nexit code {ended}\n{ran.out[-2000:]}\n{ran.err}"
        assert ended == code, said
        expected = [*warns, *([error] if error else [])]
        odd = [line for line in ran.err.splitlines() if line.strip() and not USUAL.match(line)]
        assert len(odd) == len(expected), said
        for line, part in zip(odd, expected, strict=True):
            assert line.startswith("error[" if part is error else "warning: "), said
            assert part in line, said
        return ran

    def _in_process(self, words):
        env = environment() | ({"PYTHONPATH": self.packages[0]} if self.packages else {})
        ran = subprocess.run([*PROCESS, *words], cwd=self.folder, capture_output=True, text=True, env=env)
        return ran.returncode, Ran(ran.stdout, ran.stderr)

    def _here(self, words):
        out, err = io.StringIO(), io.StringIO()
        plugins.refresh()
        with (
            contextlib.chdir(self.folder),
            mock.patch.dict(os.environ, environment()),
            mock.patch.object(sys, "path", [*sys.path, *self.packages]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main(words)
            except SystemExit as end:
                return end.code, Ran(out.getvalue(), err.getvalue())

    @contextlib.contextmanager
    def serving(self, *words):
        """`corml serve` in the folder, until the block ends; then it has to end well."""
        service = Service(self.folder, [str(word) for word in words])
        try:
            yield service
        except BaseException:
            service.process.kill()
            raise
        finally:
            service.end()
        assert service.process.returncode == 0, service.log.read_text()


class Service:
    """A service at work, with its log."""

    def __init__(self, folder, words):
        self.log = folder / "service.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*PROCESS, "serve", *words, "--port", "0", "--log", "json"],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment() | {"CORML_THREADS": str(os.cpu_count() or 1)},  # as many as workers
            )
        line = self.process.stdout.readline()
        found = re.search(r" at (http://\S+)", line)
        if found is None:
            self.process.kill()
            self.end()
            raise AssertionError(f"{line!r}\n{self.log.read_text()}")
        self.address = found[1]

    def signal(self, name):
        self.process.send_signal(getattr(signal, name))

    def events(self):
        """The lines of the log that are complete."""
        text = self.log.read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def end(self):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            self.process.terminate()
            self.process.wait(30)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def environment():
    """The variables of a person's shell, with one thread for each command: journeys run beside each other."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CORML_", "COV_", "PYTEST_"))}
    return {**kept, "CORML_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def wait_for(true, seconds=60):
    """Ask until it is so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come true")
