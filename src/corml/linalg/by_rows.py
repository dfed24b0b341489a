"""A X on a sparse support, a row of A = Pᵀ Φ P at a time: for items with many users.

Row i of A is added up from the users of i; then (A X)_ij = Σ_k A_ik X_kj for each partner j of i, over the partners k
of j. A step costs Σ d_u² + Σ |partners|², however many users there are to each item, and every row is made by one
thread.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.compiled import njit
from corml.linalg.sides import Sides
from corml.linalg.support import Support, unsigned

__all__ = ["product_rows"]

Values = NDArray[np.float32]


def product_rows(
    sides: Sides,
    p: Values,
    by_user: Values,
    support: Support,
    x: Values,
    out: Values,
    start: int,
    stop: int,
    *,
    shift: int = 0,
) -> None:
    """Rows `start` to `stop` of Pᵀ diag(by_user) P X for P = R diag(p) and symmetric X on a support, by one thread.

    `shift` is the entry of the support that the first place of `out` stands for.
    """
    (ptr, cols, data), (i_ptr, i_users, i_data) = sides
    row = np.zeros(support.items, dtype=np.float32)
    pairs = support.indptr, unsigned(support.indices)
    _rows(ptr, cols, data, i_ptr, i_users, i_data, p, by_user, *pairs, x, out, row, shift, start, stop)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _rows(  # type: ignore[no-untyped-def]
    ptr, cols, data, i_ptr, i_users, i_data, p, by_user, s_ptr, s_cols, x, out, row, shift, start, stop
) -> Any:
    for item in range(start, stop):
        low, high = np.uint64(s_ptr[item]), np.uint64(s_ptr[item + 1])
        if low == high:
            continue
        first, last = np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])
        for at in range(first, last):
            user = i_users[at]
            weight = p[item] * by_user[user]
            if i_data is not None:
                weight *= i_data[at]
            for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + np.uint32(1)])):
                if data is None:
                    row[cols[entry]] += weight * p[cols[entry]]
                else:
                    row[cols[entry]] += weight * p[cols[entry]] * data[entry]
        for pair in range(low, high):
            partner = s_cols[pair]
            total = np.float32(0)
            for entry in range(np.uint64(s_ptr[partner]), np.uint64(s_ptr[partner + np.uint32(1)])):
                total += row[s_cols[entry]] * x[entry]
            out[pair - np.uint64(shift)] = total
        for at in range(first, last):  # most of the row was never touched
            user = i_users[at]
            for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + np.uint32(1)])):
                row[cols[entry]] = 0
