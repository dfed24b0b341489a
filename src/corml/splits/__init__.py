"""Ways to divide data into train, validation and test sets; `split(data, "ratio")` finds one by its name.

    ratio        a random share of each user's items
    authors      the same, pair for pair as in the paper's program
    k_fold       k splits that test every pair once
    leave_last   each user's latest items are held out
    temporal     a moment divides the past from the future
    new_users    whole users are held out (strong generalisation)
    new_items    whole items are held out (item cold-start)

`ready_made` takes precomputed splits. Every split records how it was made, so that it can be made again. A split of
your own ends with `assemble(data, part, record("its-name", data, option=value))`. If `part` is a function of the pairs
of some users, a store that is larger than memory can be split, too.
"""

from corml.splits._draw import assemble
from corml.splits._file import is_split_file
from corml.splits._make import Name, folds, read_split, ready_made, split
from corml.splits._options import options, record
from corml.splits._split import Split, verify_split
from corml.splits._store import StoreSplit

__all__ = [
    "Name",
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
