"""Turns at the event loop: lists are made in it, a few at a time, so that new calls are heard between them."""

import asyncio
from collections import deque

__all__ = ["Turns"]

AT_ONCE = 32  # lists made in one round of the loop


class Turns:
    """First come, first served; a round has so many turns, and what is left waits for the next one."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self.at_once = self._free = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._scheduled = False

    async def take(self) -> None:
        """Wait for a turn; while there are few calls, there is nothing to wait for."""
        loop = asyncio.get_running_loop()
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._next_round)
        if self._free and not self._waiting:
            self._free -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_round(self) -> None:
        self._free = self.at_once
        while self._waiting and self._free:
            turn = self._waiting.popleft()
            if not turn.done():  # or whoever waited has gone
                turn.set_result(None)
                self._free -= 1
        self._scheduled = bool(self._waiting)
        if self._scheduled:
            asyncio.get_running_loop().call_soon(self._next_round)
