"""Environment variables of the libraries below us, checked before those libraries read them.

With a value they cannot use, Numba raises while it is imported, Polars panics or starts threads without end at its
first query, and LLVM ends the process. Here such a value is an error that names the variable.
"""

import os
import re
from collections.abc import Callable

from corml._runtime.values import whole_number
from corml.errors import UsageError, ascii_line

MOST_THREADS = 4096

_COUNT = (rf"a whole number from 1 to {MOST_THREADS}", lambda text: 1 <= (whole_number(text) or 0) <= MOST_THREADS)
_SWITCH = ("0 or 1", lambda text: text in ("0", "1"))
_FEATURES = ("features with signs, such as +avx2,-avx512f", re.compile(r"[+-][^,\s]+(,[+-][^,\s]+)*").fullmatch)
_RULES: dict[str, tuple[str, Callable[[str], object]]] = {
    "NUMBA_CPU_FEATURES": _FEATURES,
    "NUMBA_DISABLE_JIT": _SWITCH,
    "NUMBA_NUM_THREADS": _COUNT,
    "POLARS_ASYNC_THREAD_COUNT": _COUNT,
    "POLARS_MAX_BLOCKING_THREAD_COUNT": _COUNT,
    "POLARS_MAX_THREADS": _COUNT,
}


def check(library: str = "") -> None:
    """Refuse values that `NUMBA` or `POLARS` would fail on; of both, where none is named. Empty means not set."""
    for name, (allowed, is_allowed) in _RULES.items():
        value = os.environ.get(name, "")
        if value and name.startswith(library) and not is_allowed(value):
            raise UsageError(
                f"The environment variable {name} must be {allowed}; got {ascii_line(value)}. Change it or unset it."
            )
    if "NUMBA".startswith(library) and os.environ.get("NUMBA_DISABLE_JIT") == "1":
        refuse_uncompiled()


def refuse_uncompiled() -> None:
    """Raise, as the kernels are of no use without compilation."""
    raise UsageError(
        "NUMBA_DISABLE_JIT is set, but corml needs compiled kernels: interpreted ones are a thousand times slower and "
        "round differently. Unset it (or disable_jit in .numba_config.yaml)."
    )
