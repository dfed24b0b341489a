"""A limit on addresses (`ulimit -v`): work is refused in a sentence where libraries would hang, panic or abort.

They reserve far more addresses than they ever fill: a heap of 64 MiB for each thread, buffers for each processor. And
where they get none they do not raise: OpenBLAS tries again without end. So under a limit all threads share one heap,
libraries start no more threads than are used, nothing is begun that they cannot even be loaded for, and all of them
are loaded before anything else, so that what is free is known when data ask for it.
"""

import contextlib
import ctypes
import importlib
import os
import sys

from corml._runtime import environment, memory
from corml._runtime.parallel import threads
from corml.errors import ResourceError

ALONE, A_THREAD = 928 << 20, 112 << 20  # bytes of addresses: all libraries and compiled code; and for each thread
SPARE = 128 << 20  # bytes: threads, buffers and compiled code of a process that has its libraries
M_ARENA_MAX = -8  # the name of a setting in the C library
LIBRARIES = ("numpy", "scipy.linalg", "scipy.sparse", "polars", "numba")  # that take many addresses
POOLS = ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")  # read when a library is loaded


def prepare(what: str) -> None:
    """Before libraries are loaded or start threads: take few addresses where they are limited, and refuse too few."""
    limit = memory.address_limit()
    if limit is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)  # one heap for all threads
    if "numpy" not in sys.modules:
        for name in POOLS:
            os.environ.setdefault(name, str(threads()))
    wanted = max(ALONE + A_THREAD * threads(), memory.addresses() + SPARE)
    if limit < wanted:
        fewer = ", or set CORML_THREADS=1" if threads() > 1 else ""
        raise ResourceError(
            f"{what} needs {memory.size(wanted)} of addresses with its libraries, and the limit is "
            f"{memory.size(limit)}: raise it (ulimit -v){fewer}."
        )
    environment.check()
    for name in LIBRARIES:
        importlib.import_module(name)
