"""`corml serve` as a process of its own, for tests."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

import corml
from corml.client import Client, ServiceError

TOKEN = "token-canary-5f0c2f2f8e1f4e6b9d77"
ADMIN = "admin-canary-5f0c2f2f8e1f4e6b9d77"
SOURCE = Path(corml.__file__).parents[1]


class Program:
    """`corml serve` as a process; its log is a file."""

    def __init__(self, log, *words, **environment):
        self.log_path = log
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CORML_", "COV_"))}
        path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "corml", "serve", *map(str, words), "--port", "0", "--log", "json"]
        with open(log, "wb") as stderr:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**kept, "PYTHONPATH": path, **environment},
                text=True,
            )
        line = self.process.stdout.readline()
        found = re.search(r" at (http://\S+)", line)
        if not found:
            self.stop()
        assert found, f"{line!r}\n{self.log_text()}"
        self.address = found[1]
        self.port = int(self.address.rpartition(":")[2])

    def client(self, **how):
        return Client(self.address, **{"retries": 0, **how})

    def log_text(self):
        """What was logged, up to the last end of a line: a page of a line may be in the file before its next page."""
        text = Path(self.log_path).read_text()
        return text[: text.rfind("\n") + 1]

    def events(self, name):
        return [line for line in map(json.loads, self.log_text().splitlines()) if line["event"] == name]

    def workers(self):
        return [line["worker"] for line in self.events("worker ready")]

    def memory(self, pid):
        """Bytes in memory of a process, without files it has mapped."""
        text = Path(f"/proc/{pid}/status").read_text()
        return 1024 * int(re.search(r"RssAnon:\s+(\d+)", text)[1])

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def wait_for(true, seconds=20):
    """Ask until it is so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(httpx.HTTPError, OSError, ServiceError):
            if true():
                return True
        time.sleep(0.05)
    return False
