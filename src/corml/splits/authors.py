"""The split behind the published numbers, pair for pair, without the program and without PyTorch."""

import hashlib

import numpy as np

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.errors import DataError
from corml.splits._draw import AnySplit, Whole, assemble, by_counts, ranks
from corml.splits._options import SEED, Shares, option, record, three_shares

__all__ = ["authors"]

MAX_ROWS = (2**32 - 1) // 20  # from here on PyTorch draws 64-bit numbers, another sequence


def authors(data: Interactions, *, shares: Shares = (0.6, 0.2, 0.2), seed: int = 2026) -> AnySplit:
    """Shuffle all rows with PyTorch's generator, then cut each user's items in that order.

              rows    1:a    2:b    3:c    4:d    5:e    6:a    7:b    8:f     say, shuffled: 8 3 1 5 2 7 4 6
        Ann (5)       train  valid  train  test   train  .      .      .       c a e | b | d
        Bob (3)       .      .      .      .      .      test   valid  train   f | b | a

    valid and test get the whole part of their share, train the rest; then test, and after it valid, takes one pair
    from train if its share is less than one pair and train has two or more. The order of rows matters: for the
    published split, load the authors' own file unsorted. `ratio` has no such condition.
    """
    fractions = three_shares("authors", shares)
    number = int(option("authors", "seed", seed, SEED))
    if len(data) >= MAX_ROWS:
        raise DataError(
            f"The authors' split is defined for fewer than {MAX_ROWS:,} pairs, not {len(data):,}: use 'ratio'."
        )
    counts = np.array([_counts(total, fractions) for total in range(data.user_degrees.max(initial=0) + 1)])
    drawn = np.empty(len(data), dtype=np.int64)
    drawn[torch_permutation(len(data), number)] = np.arange(len(data))
    part = by_counts(data, ranks(data.user, drawn), counts)
    return assemble(data, part, record("authors", data, shares=fractions, seed=number, rows=_rows_hash(data)))


def torch_permutation(count: int, seed: int) -> Whole:
    """Return what `torch.randperm(count)` does on a processor after `torch.manual_seed(seed)`.

    Both use the Mersenne twister MT19937 with the same seeding as NumPy's RandomState, whose stream is frozen.
    Step i swaps position i with one of the positions from i on, chosen by the remainder of a 32-bit number.
    """
    numbers = np.random.RandomState(seed).randint(0, 2**32, size=count, dtype=np.uint32).astype(np.int64)
    step = np.arange(count)
    permutation = list(range(count))
    for position, other in enumerate((step + numbers % (count - step)).tolist()):
        permutation[position], permutation[other] = permutation[other], permutation[position]
    return np.array(permutation, dtype=np.int64)


def _counts(total: int, shares: tuple[float, float, float]) -> tuple[int, int, int]:
    _, valid_quota, test_quota = (share / sum(shares) * total for share in shares)
    valid, test = int(valid_quota), int(test_quota)
    if 0 < test_quota < 1 and total - valid - test > 1:
        test += 1
    if 0 < valid_quota < 1 and total - valid - test > 1:
        valid += 1
    return total - valid - test, valid, test


def _rows_hash(data: Interactions) -> str:
    """Hash of the order of rows, which the fingerprint of the data leaves out."""
    digest = hashlib.sha256()
    for ids, column in ((data.users, data.user), (data.items, data.item)):
        digest.update(_label_ranks(ids)[column].astype("<i8").tobytes())
    return digest.hexdigest()


def _label_ranks(ids: Ids) -> Whole:
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[ids.labels.order()] = np.arange(len(ids))
    return ranks
