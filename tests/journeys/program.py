"""The installed program, run as people run it: in a folder, as a process of its own, by what it prints and returns.

It is the `corml` beside the Python that runs the tests, or the one that CORML_PROGRAM names; nothing of the repository
is used. So the journeys can be made with a wheel in an empty environment: `make journeys`.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PROGRAM = os.environ.get("CORML_PROGRAM") or str(Path(sys.executable).with_name("corml"))
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
    """A folder to type commands in, with variables of its own."""

    def __init__(self, folder, **variables):
        self.folder, self.variables = Path(folder), variables

    def __truediv__(self, name):
        return self.folder / name

    def corml(self, *words, code=0, warns=(), error=None):
        """Run a command; its exit code, its warnings and its error are those that are named, and nothing else is said.

        Of warnings and the error a part is enough. Standard error has nothing else than what is USUAL.
        """
        words = [str(word) for word in words]
        env = {**environment(), **self.variables}
        ran = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, env=env)
        said = f"corml {' '.join(words)}\nexit code {ran.returncode}\n{ran.stdout[-2000:]}\n{ran.stderr}"
        assert ran.returncode == code, said
        expected = [*warns, *([error] if error else [])]
        odd = [line for line in ran.stderr.splitlines() if line.strip() and not USUAL.match(line)]
        assert len(odd) == len(expected), said
        for line, part in zip(odd, expected, strict=True):
            assert line.startswith("error[" if part is error else "warning: "), said
            assert part in line, said
        return Ran(ran.stdout, ran.stderr)

    @contextlib.contextmanager
    def serving(self, *words):
        """`corml serve` in the folder, until the block ends; then it has to end well."""
        service = Service(self.folder, [str(word) for word in words], self.variables)
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

    def __init__(self, folder, words, variables):
        self.log = folder / "service.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", *words, "--port", "0", "--log", "json"],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**environment(), **variables} | {"CORML_THREADS": str(os.cpu_count() or 1)},  # as many as workers
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
