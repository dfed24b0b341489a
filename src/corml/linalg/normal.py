"""A X on a sparse support, for A = Pᵀ Φ P and P = R diag(p): the one costly step of the sparse solver, in four ways.

Through the users (`Normal`): for each of them the row w = p_u X is computed once and then read where the support needs
it, so a step costs 2 Σ_i d_i |support of i| instead of a product with the n × n matrix A.

By rows of A (`product_rows`), for items with many users, out of core: row i is added up from the users of i; then
(A X)_ij = Σ_k A_ik X_kj for each partner j of i, over the partners k of j. A step costs Σ d_u² + Σ |partners|².

`DenseRows`, for a small catalogue of which a good part co-occurs: with X spread over an n × n array, each interaction
adds a whole row of n adjacent numbers, which takes less time than a third as many scattered ones.

`ThroughGram` keeps A whole, for few items that nearly all co-occur. Each row of the support is a small system of its
own: Σ_l A_il X_lj is needed at i and l among the partners of j, so a step costs Σ_j |partners of j|² reads, however
many users there are. Rows with very many partners go through matrix products instead.
"""

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.compiled import njit
from corml._runtime.parallel import blas, each, over_rows, threads
from corml.linalg.pairs import Support
from corml.linalg.products import add_dense_product, entry_of
from corml.linalg.sparse import Array, Rows, Sides, Values, Vector, narrow, scaled, unsigned

RANGES = 8  # of users: the same for any number of threads, and the most threads that can work
AT_ONCE = np.uint64(8)  # adjacent numbers that are cleared in the time of a scattered one
WORTH = 4  # numbers for each pair that the dense rows may take: no more memory than `Normal` with two threads
LONG = 10  # rows with more than a tenth of all items are faster as matrix products
BAND = 256  # such rows at a time

Weights = tuple[Values, Values]  # p of the items, and Φ of the users


class Normal:
    """X ↦ Pᵀ Φ P X on a support, through the users.

    Users are divided into ranges once, by their work. The sums of the ranges are added in order, so results are equal
    from run to run and for any number of threads, to the last bit; each thread has one array to work in.
    """

    def __init__(self, R: csr_array, p: Array, user_weights: Array, support: Support) -> None:
        self.users, self.support = Rows.of(R), support
        self.weights = p.astype(np.float32), user_weights.astype(np.float32)
        work = np.concatenate([[0.0], np.cumsum(np.diff(support.indptr)[R.indices].astype(np.float64) + 1)])[R.indptr]
        self.edges = [int(np.searchsorted(work, work[-1] * part / RANGES)) for part in range(RANGES)] + [R.shape[0]]
        self.total = np.empty(len(support), dtype=np.float32)
        self.sums = np.empty((min(threads(), RANGES), len(support)), dtype=np.float32)

    def one_way(self, x: Values) -> Values:
        """Pᵀ Φ P X; overwritten by the next call."""
        self.total[:] = 0
        for sums in each(lambda number: self._sum(x, number), RANGES, ahead=len(self.sums)):
            self.total += sums
        return self.total

    def diagonal(self) -> Vector:
        """diag(Pᵀ Φ P)."""
        p, by_user = self.weights
        weights = np.repeat(by_user.astype(np.float64), self.users.degrees)
        if self.users.values is not None:
            weights *= self.users.values.astype(np.float64) ** 2
        sums = np.bincount(self.users.indices, weights=weights, minlength=len(p))
        return np.asarray(sums * p.astype(np.float64) ** 2)

    def _sum(self, x: Values, number: int) -> Values:
        """What one range of users adds, in an array whose last content is in the total already."""
        out: Values = self.sums[number % len(self.sums)]
        out[:] = 0
        through_users(self.users, self.weights, self.support, x, out, (self.edges[number], self.edges[number + 1]))
        return out


def through_users(
    users: Rows, weights: Weights, support: Support, x: Values, out: Values, span: tuple[int, int]
) -> None:
    """Add to `out` what the users from start to stop have of A X, by one thread."""
    row = np.zeros(support.items, dtype=np.float32)
    _through_users(users, weights, support.arrays, x, out, row, *span)


def product_rows(
    sides: Sides, weights: Weights, support: Support, x: Values, out: Values, span: tuple[int, int]
) -> None:
    """Write the rows from start to stop of A X for a symmetric X, by one thread."""
    row = np.zeros(support.items, dtype=np.float32)
    _by_rows(sides, weights, support.arrays, x, out, row, *span)


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _through_users(users, weights, pairs, x, out, row, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols, values), (p, by_user), (s_ptr, s_cols) = users, weights, pairs
    for user in range(start, stop):
        first, last = np.uint64(ptr[user]), np.uint64(ptr[user + 1])
        if first == last:
            continue
        touched = np.uint64(0)
        for at in range(first, last):
            item = cols[at]
            weight = p[item] * entry_of(values, at)
            touched += np.uint64(s_ptr[item + 1]) - np.uint64(s_ptr[item])
            for entry in range(np.uint64(s_ptr[item]), np.uint64(s_ptr[item + 1])):
                row[s_cols[entry]] += weight * x[entry]
        for at in range(first, last):
            item = cols[at]
            weight = p[item] * by_user[user] * entry_of(values, at)
            for entry in range(np.uint64(s_ptr[item]), np.uint64(s_ptr[item + 1])):
                out[entry] += weight * row[s_cols[entry]]
        if touched * AT_ONCE >= len(row):
            row[:] = 0
            continue
        for at in range(first, last):  # a short history in a large catalogue leaves most of the row as it was
            item = cols[at]
            for entry in range(np.uint64(s_ptr[item]), np.uint64(s_ptr[item + 1])):
                row[s_cols[entry]] = 0


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _by_rows(sides, weights, pairs, x, out, row, start, stop):  # type: ignore[no-untyped-def]
    ((ptr, cols, data), (i_ptr, i_users, i_data)), (p, of_users), (s_ptr, s_cols) = sides, weights, pairs
    begin = np.uint64(s_ptr[start])
    for item in range(start, stop):
        low, high = np.uint64(s_ptr[item]), np.uint64(s_ptr[item + 1])
        if low == high:
            continue
        first, last = np.uint64(i_ptr[item]), np.uint64(i_ptr[item + 1])
        for at in range(first, last):
            user = i_users[at]
            weight = p[item] * of_users[user] * entry_of(i_data, at)
            for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + np.uint32(1)])):
                row[cols[entry]] += weight * p[cols[entry]] * entry_of(data, entry)
        for pair in range(low, high):
            partner = s_cols[pair]
            total = np.float32(0)
            for entry in range(np.uint64(s_ptr[partner]), np.uint64(s_ptr[partner + np.uint32(1)])):
                total += row[s_cols[entry]] * x[entry]
            out[pair - begin] = total
        for at in range(first, last):  # most of the row was never touched
            user = i_users[at]
            for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + np.uint32(1)])):
                row[cols[entry]] = 0


# --- small catalogues ------------------------------------------------------------------------------------------------


def dense_rows_pay(R: csr_array, support: Support) -> bool:
    """Whether pairs are dense enough for `DenseRows`."""
    return bool(R.shape[1] * sum(R.shape) <= WORTH * len(support))


class DenseRows:
    """X ↦ Pᵀ Φ P X on a support, for P = R diag(p); a replacement for `Normal`."""

    def __init__(self, R: csr_array, p: Vector, user_weights: Vector, support: Support) -> None:
        self.support, self.P = support, narrow(scaled(R, columns=p))
        by_item = narrow(scaled(R, rows=user_weights, columns=p).T.tocsr())
        self.by_item = by_item.indptr, unsigned(by_item.indices), by_item.data
        self.X = np.zeros((support.items, support.items), dtype=np.float32)
        squares = csr_array((R.data**2, R.indices, R.indptr), shape=R.shape)
        self._diagonal = np.asarray(scaled(squares, rows=user_weights, columns=p**2).sum(axis=0))

    def one_way(self, x: Values) -> Values:
        """Pᵀ Φ P X."""
        pairs, of_users, out = self.support.arrays, np.zeros(self.P.shape, dtype=np.float32), np.empty_like(x)
        over_rows(lambda a, b: _spread(pairs, x, self.X, a, b), self.support.items)
        add_dense_product(self.P, self.X, of_users)
        over_rows(lambda a, b: _read(pairs, self.by_item, of_users, out, a, b), self.support.items)
        return out

    def diagonal(self) -> Vector:
        """diag(Pᵀ Φ P)."""
        return self._diagonal


class ThroughGram:
    """X ↦ A X on a support, for a symmetric n × n array A; a replacement for `Normal`."""

    def __init__(self, A: Values, support: Support) -> None:
        self.A, self.support = A, support
        long = np.diff(support.indptr) > support.items // LONG
        self.long, self.short = np.flatnonzero(long), np.flatnonzero(~long)

    def one_way(self, x: Values) -> Values:
        """A X."""
        out, (ptr, columns) = np.empty_like(x), self.support.arrays
        over_rows(
            lambda a, b: _gathered(self.A, (ptr, columns), x, out, self.short, a, b), len(self.short), smallest=16
        )
        for start in range(0, len(self.long), BAND):
            rows = self.long[start : start + BAND]
            X = np.zeros((len(rows), self.support.items), dtype=np.float32)
            for position, row in enumerate(rows):
                X[position, columns[ptr[row] : ptr[row + 1]]] = x[ptr[row] : ptr[row + 1]]
            with blas(size=self.support.items):
                product = X @ self.A
            for position, row in enumerate(rows):
                out[ptr[row] : ptr[row + 1]] = product[position, columns[ptr[row] : ptr[row + 1]]]
        return out

    def diagonal(self) -> Vector:
        """diag(A)."""
        return np.diag(self.A).astype(np.float64)


@njit(cache=True, nogil=True)
def _spread(pairs, x, X, start, stop):  # type: ignore[no-untyped-def]
    ptr, cols = pairs
    for row in range(start, stop):
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            X[row, cols[pair]] = x[pair]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _read(pairs, by_item, of_users, out, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols), (i_ptr, i_users, weights) = pairs, by_item
    total = np.empty(of_users.shape[1], np.float32)
    for row in range(start, stop):
        for column in range(len(total)):
            total[column] = 0
        for at in range(np.uint64(i_ptr[row]), np.uint64(i_ptr[row + 1])):
            weight, source = weights[at], of_users[i_users[at]]
            for column in range(len(total)):
                total[column] += weight * source[column]
        for pair in range(np.uint64(ptr[row]), np.uint64(ptr[row + 1])):
            out[pair] = total[cols[pair]]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _gathered(A, pairs, x, out, rows, start, stop):  # type: ignore[no-untyped-def]
    ptr, cols = pairs
    columns, values = np.empty(A.shape[0], np.uint32), np.empty(A.shape[0], np.float32)
    for number in range(start, stop):
        low, high = np.uint64(ptr[rows[number]]), np.uint64(ptr[rows[number] + 1])
        size = np.uint64(0)
        for entry in range(low, high):  # most pairs are at zero and stay there: only the others are multiplied
            if x[entry] != 0:
                columns[size], values[size] = cols[entry], x[entry]
                size += np.uint64(1)
        for entry in range(low, high):
            line = A[cols[entry]]
            total = np.float32(0)
            for other in range(size):
                total += line[columns[other]] * values[other]
            out[entry] = total
