"""What choosing a filter by looking (`method/look.py`) takes beside the fit that follows: memory and time."""

from scipy.sparse import csr_array

from corml.fitted import Settings
from corml.linalg import lanczos, svd

__all__ = ["A_PAIR_COMPARED", "CANDIDATES", "LOOK_SHARE", "look_bytes", "looks", "start_bytes"]

CANDIDATES = 200  # pairs of an item while looking, where the dense solver would take all
LOOK_SHARE = 0.8  # of the seconds of a fit: measured 0.5 to 1 on data of very different shapes
SPARE = 1.15  # of what was counted: the allocator's own
A_BAND, A_LIST = 7 * (1 << 26), 64 * 160  # bytes of scores, with copies, and items of lists that are compared at a time
A_PAIR_LEARNED, A_PAIR_COMPARED, A_PAIR_KEPT = 76, 36, 52  # bytes for each pair of the look, both ways


def looks(settings: Settings) -> bool:
    """Whether a filter is chosen by looking, if there are users enough."""
    return bool(settings.adapt and settings.filter == "factored")


def look_bytes(X: csr_array, pairs: int, rank: int) -> int:
    """Peak of the look, where a fit has so many pairs, both ways, and filters up to so many directions."""
    n, held = int(X.shape[1]), 30 * int(X.nnz)
    comparing = 16 * n * rank + A_PAIR_COMPARED * pairs + min(A_BAND, 7 * 4 * 64 * n) + 8 * A_LIST * rank
    return int(SPARE * (held + max(_rough_filter_bytes(X, rank), 8 * n * rank + A_PAIR_LEARNED * pairs, comparing)))


def start_bytes(X: csr_array, pairs: int, rank: int) -> int:
    """What the look leaves for the fit: an H to begin from, and directions with and without their shape."""
    return A_PAIR_KEPT * pairs + 8 * int(X.shape[1]) * rank


def _rough_filter_bytes(X: csr_array, rank: int) -> int:
    small = int(min(X.shape))
    if svd.is_small(X, rank):
        return svd.dense_bytes(X.shape)
    return 4 * small * (lanczos.basis_size(rank) + rank) + 8 * int(X.shape[1]) * rank + 36 * int(X.nnz)
