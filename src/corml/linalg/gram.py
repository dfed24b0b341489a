"""Gram matrices of sparse data as dense arrays, without a second dense array on the way."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.linalg.support import unsigned
from corml.parallel import over_rows

__all__ = ["dense_gram"]


def dense_gram(left: csr_array, right: csr_array, dtype: DTypeLike) -> NDArray[Any]:
    """`leftᵀ right` as one dense array; each of its rows is added up in entry, user by user."""
    by_columns = left.T.tocsr()
    gram = np.zeros((left.shape[1], right.shape[1]), dtype=dtype)
    by_item, by_user = (
        (side.indptr, unsigned(side.indices), side.data.astype(dtype, copy=False)) for side in (by_columns, right)
    )
    over_rows(lambda a, b: _add_rows(*by_item, *by_user, gram, a, b), len(gram), smallest=16)
    return gram


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_rows(i_ptr, i_users, i_data, ptr, cols, data, out, start, stop):  # type: ignore[no-untyped-def]
    for item in range(start, stop):
        row = out[item]
        for at in range(np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])):
            user, weight = i_users[at], i_data[at]
            for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
                row[cols[entry]] += weight * data[entry]
