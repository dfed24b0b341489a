"""A limit on addresses (`ulimit -v`): work is refused in a sentence where libraries would hang, panic or abort.

They reserve far more addresses than they ever fill: a heap of 64 MiB for each thread, buffers for each processor. And
where they get none they do not raise: OpenBLAS tries again without end. So under a limit all threads share one heap,
libraries start no more threads than are used, nothing is begun that they cannot even be loaded for, and all of them
are loaded before anything else, with what each thread takes, so that what is free is known when data ask for it.
"""

import contextlib
import ctypes
import importlib
import os
import sys
from functools import cache

from corml import memory
from corml.errors import ResourceError
from corml.parallel import threads

__all__ = ["needed", "prepare"]

ALONE, A_THREAD = 928 << 20, 112 << 20  # bytes of addresses: all libraries and compiled code; and for each thread
SPARE = 128 << 20  # bytes: threads and compiled code of a process that has its libraries
BUFFERS = 2 * (32 << 20)  # bytes OpenBLAS takes for a thread that multiplies; NumPy and SciPy have one each
M_ARENA_MAX = -8  # the name of a setting in the C library
LIBRARIES = ("numpy", "scipy.linalg", "scipy.sparse", "polars", "numba")  # that take many addresses
POOLS = ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")  # read when a library is loaded


def prepare(what: str) -> None:
    """Before libraries are loaded or start threads: take few addresses where they are limited, and refuse too few."""
    limit = memory.address_limit()
    if limit is None:
        return
    _share_one_heap()
    if "numpy" not in sys.modules:
        for name in POOLS:
            os.environ.setdefault(name, str(threads()))
    buffers = 0 if _take_buffers.cache_info().currsize else BUFFERS * (threads() + 1)
    wanted = max(needed(), memory.addresses() + SPARE + buffers)
    if limit < wanted:
        fewer = ", or set CORML_THREADS=1" if threads() > 1 else ""
        raise ResourceError(
            f"{what} needs {memory.size(wanted)} of addresses with its libraries, and the limit is "
            f"{memory.size(limit)}: raise it (ulimit -v){fewer}."
        )
    for name in LIBRARIES:
        importlib.import_module(name)
    _take_buffers()


def needed() -> int:
    """Bytes of addresses in which a small piece of work can be done, whatever it is."""
    return ALONE + A_THREAD * threads()


@cache
def _take_buffers() -> None:
    """Let OpenBLAS take, once for all, what all threads need that multiply at once: ours, and the one they work for.

    It would take each when it is first needed, and where there are no addresses left it ends the process.
    """
    from threadpoolctl import ThreadpoolController

    for library in ThreadpoolController().select(internal_api="openblas").lib_controllers:
        with contextlib.suppress(AttributeError):  # of a build that hides these two
            take, give_back = library.dynlib.blas_memory_alloc, library.dynlib.blas_memory_free
            take.restype, give_back.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
            for buffer in [take(0) for _ in range(threads() + 1)]:
                give_back(buffer)


def _share_one_heap() -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
