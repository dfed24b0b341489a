"""One setting for threads: kernels, BLAS and block loops all follow `threads()`.

More threads than processors wait for each other: two on one core can be ten times slower than one. So the count follows
what this process may use, not what the machine has: the cores it is bound to, and the quota of its container.
"""

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from corml._runtime.values import whole_number

SMALL = 1000  # rows and columns

T = TypeVar("T")


def threads() -> int:
    """Threads to use: the environment's CORML_THREADS, else what this process may use of the processors."""
    chosen = whole_number(os.environ.get("CORML_THREADS", ""))
    if chosen:
        return chosen
    try:
        cores = len(os.sched_getaffinity(0))  # changes while a process runs, so it is asked every time
    except AttributeError:
        cores = os.cpu_count() or 1
    quota = _quota()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


# --- the quota of a container ----------------------------------------------------------------------------------------

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


@cache
def _quota() -> float | None:
    """Processors that the control groups of this process may use on average; None where there is no limit."""
    limits = [_limit(group) for group in _groups()]
    return min((limit for limit in limits if limit is not None), default=None)


def _groups() -> Iterator[Path]:
    """Folders of this process's groups and of those they are in: the narrowest limit counts, wherever it is set."""
    yield from (CGROUPS, CGROUPS / "cpu")  # inside a container these are its own
    try:
        memberships = MEMBERSHIP.read_text().splitlines()
    except OSError:
        return
    for line in memberships:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "" or "cpu" in controllers.split(","):
            root = CGROUPS / controllers  # version 2 names no controllers, version 1 has a folder for each set
            inner = root / path.strip("/")
            yield from (inner, *(above for above in inner.parents if above.is_relative_to(root)))


def _limit(group: Path) -> float | None:
    """Processors a group may use: `cpu.max` of version 2, or the two files of version 1."""
    try:
        try:
            quota, period = (group / "cpu.max").read_text().split()
        except FileNotFoundError:
            quota, period = ((group / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):  # no such group, or «max»
        return None


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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_held.cache_clear)  # its lock may be held by a thread that is not in the fork


# --- threads of our own ----------------------------------------------------------------------------------------------

_this_thread = threading.local()


def each(
    work: Callable[[int], T], count: int, *, max_threads: int | None = None, ahead: int | None = None
) -> Iterator[T]:
    """Give `work(0)`, `work(1)`, … in this order, made in at most `max_threads` threads, each with one thread of BLAS.

    With `ahead`, a result is begun when the one so many before it was taken and is done with: no more are ever alive.
    A thread of ours starts no others: what it calls works alone.
    """
    workers = min(threads(), count, max_threads or count, ahead or count)
    if workers <= 1 or getattr(_this_thread, "is_ours", False):
        yield from map(work, range(count))
        return
    with blas(1), ThreadPoolExecutor(workers, initializer=_mark_as_ours) as pool:
        if ahead is None:
            yield from pool.map(work, range(count))
            return
        begun = deque(pool.submit(work, number) for number in range(min(ahead, count)))
        for number in range(len(begun), count + len(begun)):
            yield begun.popleft().result()
            if number < count:
                begun.append(pool.submit(work, number))


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
