"""The logger `corml`: what the library does, for whoever listens; silent otherwise.

    logging.basicConfig(level=logging.INFO)

shows what was loaded, fitted, evaluated and written, and how long it took.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("corml")
log.addHandler(logging.NullHandler())  # a library leaves it to the program where lines go


@contextmanager
def timed(what: str, *values: object) -> Iterator[None]:
    """Log what begins and, if it ends well, its seconds."""
    log.debug(f"{what} begins", *values)
    begun = time.perf_counter()
    yield
    log.info(f"{what}: %.2f s", *values, time.perf_counter() - begun)
