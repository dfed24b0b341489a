"""Cross-validation: k splits in which every pair is tested once."""

import numpy as np

from corml._runtime.settings import optional, whole
from corml.data.interactions import Interactions
from corml.errors import SettingError
from corml.splits._draw import AnySplit, Data, Whole, assemble, label_numbers, random_ranks
from corml.splits._options import SEED, option, record

__all__ = ["k_fold"]

FOLDS = whole(2, 1000)


def k_fold(data: Data, *, folds: int = 5, fold: int = 0, valid_fold: int | None = None, seed: int = 2026) -> AnySplit:
    """Test on one of k equal random parts of each user's items, train on the others.

              items   a      b      c      d      e         (folds=5, fold=0, valid_fold=1)
        Ann (5)       train  test   train  valid  train     one item in each fold
        Bob (2)       .      train  .      test   .         in the other folds both are train, or b is tested

    A user's folds differ by at most one item. A user with fewer items than folds is not tested in every fold; a user's
    only item is the test of one fold, which leaves that user without train pairs there: `counts` tells how many.
    `corml.splits.folds` makes all k. As with `ratio`, only the seed and the user's own labels matter.
    """
    total = int(option("k-fold", "folds", folds, FOLDS))
    tested = int(option("k-fold", "fold", fold, whole(0, total - 1)))
    valid = _valid_fold(valid_fold, tested, total)
    number = int(option("k-fold", "seed", seed, SEED))
    rank = random_ranks(data.items, number)

    def part(some: Interactions) -> Whole:
        # which fold a user's first item is in is random too, else the first folds would get all users with few items
        start = (label_numbers(some.users, number, "start of folds") % np.uint64(total)).astype(np.int64)
        member = (rank(some) + start[some.user]) % total
        return np.where(member == tested, 2, np.where(member == (-1 if valid is None else valid), 1, 0))

    options = {"folds": total, "fold": tested, "valid_fold": valid, "seed": number}
    return assemble(data, part, record("k-fold", data, **options))


def _valid_fold(value: object, tested: int, total: int) -> int | None:
    valid = option("k-fold", "valid_fold", value, optional(whole(0, total - 1), "no valid part"))
    if valid == tested:
        raise SettingError(f"valid_fold of the split 'k-fold' must differ from fold; both are {tested}.")
    return None if valid is None else int(valid)
