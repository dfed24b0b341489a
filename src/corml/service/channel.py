"""Messages between the supervisor and a worker: JSON lines over a socket pair, with open files where there are any."""

import json
import os
import socket
from collections import deque
from typing import Any

__all__ = ["Channel"]

LARGEST = 1 << 16  # bytes read at a time
MOST_FILES = 64


class Channel:
    """One end of the pair."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._bytes = b""
        self._files: deque[int] = deque()

    def send(self, message: dict[str, Any], files: list[int] | None = None) -> bool:
        """Send a message; whether the other side is still there."""
        line = json.dumps({**message, "files": len(files or [])}).encode() + b"\n"
        try:
            sent = socket.send_fds(self.end, [line], files or []) if files else self.end.send(line)
            if sent < len(line):
                self.end.sendall(line[sent:])
        except OSError:
            return False
        return True

    def receive(self) -> list[dict[str, Any]] | None:
        """Messages that have come, each with its open files under "files"; None if the other side is gone."""
        try:
            data, files, _, _ = socket.recv_fds(self.end, LARGEST, MOST_FILES)
        except OSError:
            return None
        self._files.extend(files)
        if not data:
            return None
        *lines, self._bytes = (self._bytes + data).split(b"\n")
        return [self._opened(json.loads(line)) for line in lines]

    def close(self) -> None:
        """Close this end, and files that nobody took."""
        for file in self._files:
            os.close(file)
        self.end.close()

    def _opened(self, message: dict[str, Any]) -> dict[str, Any]:
        return {**message, "files": [self._files.popleft() for _ in range(message["files"])]}
