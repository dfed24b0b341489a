"""Seconds by the clock and of all processors, apart from compiling kernels, which happens once on a machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from corml._runtime.compiled import compilation

__all__ = ["Spent", "measured"]


@dataclass
class Spent:
    """What a piece of work took."""

    seconds: float = 0.0
    processor: float = 0.0
    compile_processor: float = 0.0


@contextmanager
def measured() -> Iterator[Spent]:
    """Measure what is done inside; also if it fails."""
    spent, compiled, started = Spent(), [0.0, 0.0], [0.0, 0.0]

    def compiling(done: int, begun: int) -> None:
        nonlocal started
        now = [time.perf_counter(), time.process_time()]
        if done < begun:
            started = now
        else:
            compiled[0] += now[0] - started[0]
            compiled[1] += now[1] - started[1]

    begun, worked = time.perf_counter(), time.process_time()
    try:
        with compilation(compiling):
            yield spent
    finally:
        spent.seconds = time.perf_counter() - begun - compiled[0]
        spent.processor = time.process_time() - worked - compiled[1]
        spent.compile_processor = compiled[1]
