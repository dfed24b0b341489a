"""How much memory and time a fit takes, stage by stage: counted, times constants that were measured.

Memory is that of arrays that are alive together, beside the data; the constants are what is left of the counting where
libraries make copies of their own. Seconds were measured on data of very different shapes on one machine; another one
is faster or slower by some factor, which concerns all stages alike. So they tell minutes from hours, and which of two
solvers is the faster one.
"""

from typing import NamedTuple

from scipy.sparse import csr_array

from corml._runtime.parallel import threads
from corml.linalg import admm, lanczos, small_normal, svd
from corml.linalg.gram import CHUNK
from corml.linalg.normal import RANGES
from corml.linalg.scaling import row_degrees
from corml.models.corml.pair_count import PairCount
from corml.models.corml.sparse import cross_term
from corml.models.fitted import Settings

__all__ = [
    "A_PAIR_COMPARED",
    "CANDIDATES",
    "TOGETHER",
    "Seconds",
    "Size",
    "dense_bytes",
    "dense_seconds",
    "pairs_that_fit",
    "selects_filter",
    "sparse_bytes",
    "sparse_seconds",
    "with_selection_bytes",
    "with_selection_seconds",
]

# --- memory: bytes ---------------------------------------------------------------------------------------------------

SPARE = 1.06  # of what was counted: the allocator's own
AN_INTERACTION = 16  # copies of the data with weights and by item
A_PAIR_FOUND = 36  # for each pair, both ways, while candidates are gathered
A_PAIR_SOLVED, OF_A_THREAD = 43.5, 8  # for each pair, both ways, in the solver; and for each thread
A_PAIR_PRICED = 16  # for each pair, both ways, while the excluded ones are priced
AN_ENTRY = 8  # for each entry of a chunk of rows of the Gram matrix
SMALL_ARRAY, GAPS = 1 << 25, 14  # and for each pair: small arrays are not given back to the system, and leave gaps
SCRATCH_COLUMNS = 4096  # of the dense solver: bands and tiles beside its n × n arrays


def dense_bytes(X: csr_array, block: int, rank: int, item_size: int) -> int:
    """Peak of the dense solver with blocks of so many items."""
    square = item_size * block * (admm.ARRAYS_ALIVE * block + min(SCRATCH_COLUMNS, 2 * block))
    return int(SPARE * max(svd.peak_bytes(X, rank), _kept(X, rank) + square))


def sparse_bytes(X: csr_array, pairs: int, rank: int, *, clip: bool) -> int:
    """Peak of the sparse solver with so many pairs, counted both ways."""
    n = X.shape[1]
    bands = (
        6 * sum(X.shape) * cross_term.band_width(X) if clip else 8 * n * rank + 4 * sum(X.shape) * cross_term.COLUMNS
    )
    entries = min(CHUNK, n * n, int((row_degrees(X) ** 2).sum()))
    finding = A_PAIR_FOUND * pairs + max(AN_ENTRY * entries, 8 * n * rank + bands)
    solving = A_PAIR_SOLVED + OF_A_THREAD * min(threads(), RANGES) + (GAPS if 4 * pairs < SMALL_ARRAY else 0)
    pricing = A_PAIR_PRICED * pairs + (0 if clip else 16 * n * rank)
    return int(SPARE * max(svd.peak_bytes(X, rank), _kept(X, rank) + max(finding, solving * pairs, pricing)))


def pairs_that_fit(X: csr_array, rank: int, limit: int, *, clip: bool) -> int:
    """The largest number of pairs, counted both ways, whose peak stays below a limit."""
    if sparse_bytes(X, 0, rank, clip=clip) > limit:
        return 0
    low, high = 0, int(X.shape[1]) ** 2
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sparse_bytes(X, middle, rank, clip=clip) <= limit else (low, middle - 1)
    return low


def _kept(X: csr_array, rank: int) -> int:
    """What stays from the filter to the end: V, and the data as the solver reads them."""
    return (svd.ALWAYS if X.nnz > svd.MANY else 0) + 4 * int(X.shape[1]) * rank + AN_INTERACTION * int(X.nnz)


# --- time: seconds ---------------------------------------------------------------------------------------------------

NS = 1e-9
A_GEMM = 1 / 40 * NS  # one operation of a matrix product
A_ROW = 0.3 * NS  # a number of a dense row that an interaction adds
A_VISIT = 5 * NS  # two items of one user, met while rows of the Gram matrix are made
A_NEW_PAIR, A_KEPT_PAIR, A_DOT = 25 * NS, 60 * NS, 0.25 * NS  # and one multiplication of the cross term
A_GATHER, A_PAIR_PASSED = 1.1 * NS, 20 * NS  # in each step of the solver
A_PRICE = 350 * NS  # of an excluded pair
A_PAIR_AFTER, AN_INTERACTION_READ = 35 * NS, 700 * NS  # in one thread: H put back in order; planning and reordering
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


def dense_seconds(size: Size, rank: int, block: int, partition_ratio: float) -> Seconds:
    """V, and the dense solver on blocks of so many items."""
    return Seconds(0.0, _filter(size, rank), A_GEMM * DENSE_STEPS * 2.0 * block**3 / partition_ratio)


def sparse_seconds(
    size: Size, rank: int, count: PairCount, every: int, *, keep_gram: bool, excluding: bool, clip: bool
) -> Seconds:
    """V, pairs, solver and, where some of the `every` co-occurring pairs are excluded, pricing."""
    (users, items), interactions, visits = size
    finding = A_VISIT * visits + A_NEW_PAIR * every + A_KEPT_PAIR * count.pairs
    factored = A_ROW * 2 * interactions * rank + A_DOT * count.pairs * rank
    cross = A_ROW * interactions * items if clip else factored
    if keep_gram:
        step = A_GATHER * count.squares
    elif items * (users + items) <= small_normal.WORTH * count.pairs:
        step = A_ROW * interactions * items
    else:
        step = A_GATHER * count.work
    pricing = A_VISIT * visits + A_PRICE * max(every - count.pairs, 0) / 2 if excluding else 0.0
    alone = A_PAIR_AFTER * count.pairs + AN_INTERACTION_READ * interactions
    kernels = _filter(size, rank) + finding + cross + STEPS * (step + A_PAIR_PASSED * count.pairs) + pricing
    return Seconds(alone, kernels)


def _filter(size: Size, rank: int) -> float:
    """V, by one thread."""
    small, large = sorted(float(side) for side in size.shape)
    if svd.is_small_shape(size.shape, rank):
        return A_GEMM * 20 * small**2 * large
    basis = lanczos.basis_size(rank)
    multiplied = SWEEPS * basis  # vectors
    orthogonal = multiplied * 4 * small * 0.7 * basis + 2 * SWEEPS * small * basis * (rank + basis) / 2
    return A_ROW * 2 * size.nnz * multiplied + A_GEMM * orthogonal


# --- automatic filter selection, before the fit ----------------------------------------------------------------------

CANDIDATES = 200  # pairs of an item meanwhile, where the dense solver would take all
SHARE = 0.8  # of the seconds of a fit: measured 0.5 to 1 on data of very different shapes
SPARE_OF_SELECTION = 1.15
A_BAND, A_LIST = 7 * (1 << 26), 64 * 160  # bytes of scores, with copies, and items of lists that are compared at a time
A_PAIR_LEARNED, A_PAIR_COMPARED, A_PAIR_KEPT = 76, 36, 52  # bytes for each of its pairs, both ways


def selects_filter(settings: Settings) -> bool:
    """Whether a filter is selected on held-out items, if there are users enough."""
    return bool(settings.adapt and settings.filter == "factored")


def with_selection_bytes(X: csr_array, needed: int, pairs: int, rank: int, settings: Settings) -> int:
    """The peak of a fit that needs so much, or of the filter selection before it where that is higher.

    What the selection leaves for the fit is an H to begin from, and directions with and without their shape.
    """
    if not selects_filter(settings):
        return needed
    small, n = int(min(X.shape)), int(X.shape[1])
    filtering = 4 * small * (lanczos.basis_size(rank) + rank) + 8 * n * rank + 36 * int(X.nnz)
    if svd.is_small_shape(X.shape, rank):
        filtering = svd.dense_bytes(X.shape)
    comparing = 16 * n * rank + A_PAIR_COMPARED * pairs + min(A_BAND, 7 * 4 * 64 * n) + 8 * A_LIST * rank
    most = 30 * int(X.nnz) + max(filtering, 8 * n * rank + A_PAIR_LEARNED * pairs, comparing)
    return max(needed + A_PAIR_KEPT * pairs + 8 * n * rank, int(SPARE_OF_SELECTION * most))


def with_selection_seconds(seconds: float, settings: Settings) -> float:
    """The seconds of a fit with its filter selection."""
    return (1 + SHARE) * seconds if selects_filter(settings) else seconds
