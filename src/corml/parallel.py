"""One setting for threads: kernels, BLAS and block loops all follow `threads()`."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

__all__ = ["blas", "each", "over_rows", "threads"]

SMALL = 1000  # rows and columns

T = TypeVar("T")


def threads() -> int:
    """Threads to use: the environment's CORML_THREADS, else every core this process may run on."""
    chosen = os.environ.get("CORML_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


# --- BLAS ------------------------------------------------------------------------------------------------------------


@contextmanager
def blas(count: int | None = None, *, size: int | None = None) -> Iterator[None]:
    """Hold BLAS at a number of threads: all of ours for GEMM, one for thin products, whose threads wait for each other.

    `size` is the side of the matrices: small ones are multiplied by one thread, because waking a second costs more
    than it does. The number is one for the whole process, so while several hold it the lowest counts.
    """
    limit = 1 if size is not None and size < SMALL else count or threads()
    held = _held()
    held.take(limit)
    try:
        yield
    finally:
        held.release(limit)


class _Held:
    """Limits on BLAS threads that are held now; the last to be released restores what there was."""

    def __init__(self) -> None:
        import scipy.linalg  # noqa: F401 (SciPy has a BLAS of its own, which must be loaded to be found)
        from threadpoolctl import ThreadpoolController

        self.libraries = ThreadpoolController().select(user_api="blas")
        self.lock = threading.Lock()
        self.limits: list[int] = []
        self.before: Any = None

    def take(self, limit: int) -> None:
        with self.lock:
            if not self.limits:
                self.before = self.libraries.limit(limits=None)
            self.limits.append(limit)
            self.libraries.limit(limits=min(self.limits))

    def release(self, limit: int) -> None:
        with self.lock:
            self.limits.remove(limit)
            if self.limits:
                self.libraries.limit(limits=min(self.limits))
            else:
                self.before.restore_original_limits()


@cache
def _held() -> _Held:
    """The one for this process: finding the libraries takes longer than a small product."""
    return _Held()


# --- threads of our own ----------------------------------------------------------------------------------------------

_this_thread = threading.local()


def each(work: Callable[[int], T], count: int, *, max_threads: int | None = None) -> Iterator[T]:
    """Give `work(0)`, `work(1)`, … in this order, made in at most `max_threads` threads, each with one thread of BLAS.

    A thread of ours starts no others: what it calls works alone.
    """
    workers = min(threads(), count, max_threads or count)
    if workers <= 1 or getattr(_this_thread, "is_ours", False):
        yield from map(work, range(count))
        return
    with blas(1), ThreadPoolExecutor(workers, initializer=_mark_as_ours) as pool:
        yield from pool.map(work, range(count))


def _mark_as_ours() -> None:
    _this_thread.is_ours = True


def over_rows(work: Callable[[int, int], object], rows: int, *, smallest: int = 64) -> None:
    """Call `work(start, stop)` on consecutive row ranges, in threads where that pays.

    The kernels release the interpreter lock. Ranges only divide independent rows, so results do not depend on
    the number of threads.
    """
    parts = max(1, min(4 * threads(), rows // smallest)) if threads() > 1 else 1
    edges = [rows * part // parts for part in range(parts + 1)]
    for _ in each(lambda part: work(edges[part], edges[part + 1]), parts):
        pass
