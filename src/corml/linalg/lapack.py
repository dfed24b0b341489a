"""Two routines of LAPACK, called without holding the interpreter: other threads, and signals, are heard meanwhile.

SciPy's own wrappers hold it, for minutes where a matrix is large. The routines are those of SciPy, found by address.
"""

from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_int, c_void_p
from functools import cache
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

__all__ = ["factor_upper", "invert_factored"]

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_ROUTINE = CFUNCTYPE(None, POINTER(c_char), POINTER(c_int), c_void_p, POINTER(c_int), POINTER(c_int))


def factor_upper(M: NDArray[Any]) -> int:
    """Overwrite the upper triangle of a matrix stored by rows by a triangle R with RᵀR = M; not 0 if there is none."""
    return _call("potrf", M)


def invert_factored(M: NDArray[Any]) -> int:
    """Overwrite such a factor by the upper triangle of the inverse of the matrix that it came from."""
    return _call("potri", M)


def _call(name: str, M: NDArray[Any]) -> int:
    assert M.flags.c_contiguous  # of any other LAPACK would overwrite something else
    assert M.flags.writeable
    assert M.shape[0] == M.shape[1]
    size, info = c_int(len(M)), c_int(0)
    # LAPACK has columns together: what is the upper triangle by rows is the lower one to it.
    _routine(_PREFIX[M.dtype] + name)(byref(c_char(b"L")), byref(size), M.ctypes.data, byref(size), byref(info))
    assert info.value >= 0, f"argument {-info.value} of {name}"
    return info.value


@cache
def _routine(name: str) -> Callable[..., None]:
    found: Callable[..., None] = _ROUTINE(get_cython_function_address("scipy.linalg.cython_lapack", name))
    return found
