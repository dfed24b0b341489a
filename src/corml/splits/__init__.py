"""SPLIT: what a model may learn from, what it is tuned on, what it is evaluated on.

One public file is one way to split; `split(data, "ratio")` finds it by its name.

    ratio        random shares of each user's items
    authors      the same, pair for pair as the paper's program did it
    k_fold       k splits that test every pair once
    leave_last   each user's latest items are held out
    temporal     a moment divides the past from the future
    new_users    whole users are held out

`ready_made` takes parts that were made elsewhere. Every split records how it was made, so that it can be made again.
A split of your own ends with `assemble(data, part, record("its-name", data, option=value))`. Where `part` is a function
of the pairs of some users, a store that is larger than memory can be split, too.
"""

from corml.splits._draw import assemble
from corml.splits._file import is_split_file
from corml.splits._make import folds, read_split, ready_made, split
from corml.splits._procedure import options, record
from corml.splits._split import Split, verify_split
from corml.splits._store_split import StoreSplit

__all__ = [
    "Split",
    "StoreSplit",
    "assemble",
    "folds",
    "is_split_file",
    "options",
    "read_split",
    "ready_made",
    "record",
    "split",
    "verify_split",
]
