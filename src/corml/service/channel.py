"""The conversation between the supervisor and a worker: JSON lines over a socket pair, with open files as attachments.

Either side sends notices, which need no answer, and asks questions, which get one.
"""

import asyncio
import itertools
import json
import os
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

LARGEST = 1 << 16  # bytes read at a time
MOST_FILES = 64

Message = dict[str, Any]


class Channel:
    """One end of the pair. Files that come with a message are in it under "files"."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._bytes = b""
        self._files: deque[int] = deque()
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[Message]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def listen(self, answer: Callable[[Message], Awaitable[Message | None]], gone: Callable[[], None]) -> None:
        """Answer messages from now on, in the running event loop, and call `gone` when the other side has ended."""
        self._answer, self._gone = answer, gone
        asyncio.get_running_loop().add_reader(self.end, self.read)

    async def ask(self, message: Message, files: Sequence[int] = ()) -> Message:
        """Send a question and wait for its answer; it is empty if the other side ends first."""
        number = next(self._numbers)
        self._asked[number] = future = asyncio.get_running_loop().create_future()
        if not self.send({**message, "question": number}, files):
            return {}
        answer: Message = await future
        return answer

    def send(self, message: Message, files: Sequence[int] = ()) -> bool:
        """Send a message; whether the other side is still there."""
        line = json.dumps({**message, "files": len(files)}).encode() + b"\n"
        try:
            sent = socket.send_fds(self.end, [line], files) if files else self.end.send(line)
            if sent < len(line):
                self.end.sendall(line[sent:])
        except OSError:
            return False
        return True

    def receive(self) -> list[Message] | None:
        """Messages that have come; None if the other side has ended."""
        try:
            data, files, _, _ = socket.recv_fds(self.end, LARGEST, MOST_FILES)
        except OSError:
            return None
        self._files.extend(files)
        if not data:
            return None
        *lines, self._bytes = (self._bytes + data).split(b"\n")
        messages: list[Message] = [json.loads(line) for line in lines]
        for message in messages:
            message["files"] = [self._files.popleft() for _ in range(message["files"])]
        return messages

    def read(self) -> bool:
        """Take what has come: answers go to those who asked, the rest is answered; whether there may be more."""
        messages = self.receive()
        if messages is None:
            asyncio.get_running_loop().remove_reader(self.end)
            for future in self._asked.values():
                if not future.done():
                    future.set_result({})
            self._gone()
            return False
        for message in messages:
            if "answers" not in message:
                task = asyncio.create_task(self._respond(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif not (future := self._asked.pop(message["answers"])).done():  # otherwise whoever asked has gone
                future.set_result(message)
        return True

    def close(self) -> None:
        """Close this end, and files that nobody took."""
        for file in self._files:
            os.close(file)
        self.end.close()

    async def _respond(self, message: Message) -> None:
        answer = await self._answer(message)
        if answer is not None and "question" in message:
            self.send({**answer, "answers": message["question"]})
