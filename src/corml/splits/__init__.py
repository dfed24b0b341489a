"""SPLIT: what a model may learn from, what it is tuned on, what it is judged by.

One public file is one way to split; `split(data, "ratio")` finds it by its name.

    ratio        random shares of each user's items
    authors      the same, pair for pair as the paper's program did it
    k_fold       k splits that test every pair once
    leave_last   each user's latest items are held out
    temporal     a moment divides the past from the future
    new_users    whole users are held out

`ready_made` takes parts that somebody else made. Every split records how it was made, so that it can be made again.
"""

from corml.splits._dispatch import split
from corml.splits._folds import folds
from corml.splits._ready import ready_made
from corml.splits._split import Split
from corml.splits._store import read_split
from corml.splits._verify import verify_split

__all__ = ["Split", "folds", "read_split", "ready_made", "split", "verify_split"]
