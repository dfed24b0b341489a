"""One knob for threads: kernels, BLAS and block loops all follow `threads()`."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

SMALL = 1000  # rows and columns

__all__ = ["blas", "over_rows", "threads"]


def threads() -> int:
    """Threads to use: the environment's CORML_THREADS, else every core this process may run on."""
    wish = os.environ.get("CORML_THREADS", "")
    if wish.isdigit() and int(wish) > 0:
        return int(wish)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@contextmanager
def blas(count: int | None = None, *, size: int | None = None) -> Iterator[None]:
    """Hold BLAS at a number of threads: all of ours for GEMM, one for PROPACK, which otherwise fights itself.

    `size` is the side of the matrices: small ones are multiplied by one thread, because waking a second costs more
    than it does.
    """
    from threadpoolctl import threadpool_limits

    wanted = 1 if size is not None and size < SMALL else count or threads()
    with threadpool_limits(limits=wanted, user_api="blas"):
        yield


def over_rows(work: Callable[[int, int], object], rows: int, *, smallest: int = 64) -> None:
    """Call `work(start, stop)` on consecutive row ranges, in threads where that pays.

    The kernels release the interpreter lock. Ranges only divide independent rows, so results do not depend on
    the number of threads.
    """
    parts = max(1, min(4 * threads(), rows // smallest))
    if parts == 1 or threads() == 1:
        work(0, rows)
        return
    edges = [rows * part // parts for part in range(parts + 1)]
    with ThreadPoolExecutor(threads()) as pool:
        for done in [pool.submit(work, a, b) for a, b in pairwise(edges)]:
            done.result()
