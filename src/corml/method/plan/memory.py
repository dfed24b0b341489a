"""How much memory a fit takes beside the data, stage by stage; the largest stage is its peak.

Counted in arrays that are alive together, and measured: the constants below are what is left of the counting where
libraries make copies of their own.
"""

from scipy.sparse import csr_array

from corml.linalg import svd
from corml.linalg.normal import RANGES
from corml.linalg.pairs import CHUNK
from corml.linalg.scaling import row_degrees
from corml.method.dense import admm
from corml.method.sparse import cross_term
from corml.parallel import threads

__all__ = ["dense_bytes", "pairs_that_fit", "sparse_bytes"]

SPARE = 1.06  # of what was counted: the allocator's own
AN_INTERACTION = 16  # bytes: copies of the data with weights and by item
A_PAIR_FOUND = 36  # bytes for each pair, both ways, while candidates are gathered
A_PAIR_SOLVED, OF_A_THREAD = 43.5, 8  # bytes for each pair, both ways, in the solver; and for each thread
A_PAIR_PRICED = 16  # bytes for each pair, both ways, while the excluded ones are priced
AN_ENTRY = 8  # bytes for each entry of a chunk of rows of the Gram matrix
SMALL_ARRAY, GAPS = 1 << 25, 14  # bytes; and for each pair
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
    pricing = A_PAIR_PRICED * pairs + (0 if clip else 16 * n * rank)
    return int(SPARE * max(svd.peak_bytes(X, rank), _kept(X, rank) + max(finding, _pair(pairs) * pairs, pricing)))


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


def _pair(pairs: int) -> float:
    """Bytes of a pair in the solver. Small arrays are not given back to the system, and leave gaps behind."""
    return A_PAIR_SOLVED + OF_A_THREAD * min(threads(), RANGES) + (GAPS if 4 * pairs < SMALL_ARRAY else 0)
