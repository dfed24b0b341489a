"""How long a fit takes, stage by stage: work of each stage, counted, times what a unit of it was measured to take.

Measured on data of very different shapes on one machine; another machine is faster or slower by some factor, which
concerns all stages alike. So it tells minutes from hours, and which of two ways is the shorter one.
"""

from typing import NamedTuple

from scipy.sparse import csr_array

from corml.linalg import dense_rows, lanczos, svd
from corml.linalg.scaling import row_degrees
from corml.method.plan.pair_count import PairCount
from corml.parallel import threads

__all__ = ["Seconds", "Size", "dense_seconds", "sparse_seconds"]

NS = 1e-9
A_GEMM = 1 / 40 * NS  # one operation of a matrix product
A_ROW = 0.3 * NS  # a number of a dense row that an interaction adds
A_VISIT = 5 * NS  # two items of one user, met while rows of the Gram matrix are made
A_PAIR_FOUND, A_PAIR_KEPT, A_DOT = 25 * NS, 60 * NS, 0.25 * NS  # and one multiplication of the cross term
A_GATHER, A_PAIR_PASSED = 1.1 * NS, 20 * NS  # in each step of the solver
A_PAIR_PRICED = 350 * NS
A_PAIR_AFTER, AN_INTERACTION = 35 * NS, 700 * NS  # in one thread: putting H back in order, and planning and reordering
SWEEPS = 2.3  # fillings of a basis until V has converged
STEPS, DENSE_STEPS = 11, 40  # that solvers usually take
TOGETHER = 0.85  # of the threads' time is work


class Size(NamedTuple):
    """How large interactions are, where no matrix of them is at hand."""

    shape: tuple[int, int]
    nnz: int
    visits: float  # the sum of the squares of the users' numbers of items

    @classmethod
    def of(cls, X: csr_array) -> "Size":
        """Of a matrix."""
        return cls(X.shape, int(X.nnz), float((row_degrees(X) ** 2).sum()))


class Seconds(NamedTuple):
    """Seconds of one thread: of what is not shared out, of our kernels, and of matrix products."""

    alone: float
    kernels: float
    products: float = 0.0

    def with_threads(self, count: int | None = None) -> float:
        """Seconds with so many threads; with those there are, if it is not said."""
        count = threads() if count is None else count
        return self.alone + self.kernels / max(1.0, TOGETHER * count) + self.products / count


def dense_seconds(X: csr_array, rank: int, block: int, partition_ratio: float) -> Seconds:
    """V, and the dense solver on blocks of so many items."""
    return Seconds(0.0, _filter(Size.of(X), rank), A_GEMM * DENSE_STEPS * 2.0 * block**3 / partition_ratio)


def sparse_seconds(
    X: csr_array | Size, rank: int, count: PairCount, every: int, *, keep_gram: bool, excluding: bool, clip: bool
) -> Seconds:
    """V, pairs, solver and, where some of the `every` co-occurring pairs are excluded, pricing."""
    X = X if isinstance(X, Size) else Size.of(X)
    visits, interactions = X.visits, X.nnz
    finding = A_VISIT * visits + A_PAIR_FOUND * every + A_PAIR_KEPT * count.pairs
    factored = A_ROW * 2 * interactions * rank + A_DOT * count.pairs * rank
    cross = A_ROW * interactions * int(X.shape[1]) if clip else factored
    solving = STEPS * (_step(X, count, keep_gram=keep_gram) + A_PAIR_PASSED * count.pairs)
    pricing = A_VISIT * visits + A_PAIR_PRICED * max(every - count.pairs, 0) / 2 if excluding else 0.0
    alone = A_PAIR_AFTER * count.pairs + AN_INTERACTION * interactions
    return Seconds(alone, _filter(X, rank) + finding + cross + solving + pricing)


def _step(X: Size, count: PairCount, *, keep_gram: bool) -> float:
    """One product of the solver, by one thread."""
    if keep_gram:
        return A_GATHER * count.squares
    if X.shape[1] * sum(X.shape) <= dense_rows.WORTH * count.pairs:
        return A_ROW * int(X.nnz) * int(X.shape[1])
    return A_GATHER * count.work


def _filter(X: Size, rank: int) -> float:
    """V, by one thread."""
    small, large = sorted(float(side) for side in X.shape)
    if svd.is_small_shape(X.shape, rank):
        return A_GEMM * 20 * small**2 * large
    basis = lanczos.basis_size(rank)
    multiplied = SWEEPS * basis  # vectors
    orthogonal = multiplied * 4 * small * 0.7 * basis + 2 * SWEEPS * small * basis * (rank + basis) / 2
    return A_ROW * 2 * int(X.nnz) * multiplied + A_GEMM * orthogonal
