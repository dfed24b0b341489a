"""The files in the folder of a store.

manifest.json                      what it is, written last: a folder without it is not finished
items.parquet                      ids of items, in order of first appearance
users/part-00000.parquet           ids of users, a part for each bucket
by_user/indptr-00000.npy …         users × items in rows (CSR): indptr, indices, weights and times where given
by_item/indptr-00000.npy …         items × users likewise, a part for each block of items
seen/…                             excluded pairs, which are not learned from, in the same parts as by_user
others/…                           users excluded from training, and their excluded pairs
work/                              pieces of a store that is being made

A split of a store is a folder of such folders, train, valid and test, and one more file:

split.json                         how it was made, and which stores it has, written last
"""

import os

MANIFEST, ITEMS, WORK = "manifest.json", "items.parquet", "work"
PLAN = f"{WORK}/plan.json"
SPLIT = "split.json"
SPLIT_PLAN = f"{WORK}/{SPLIT}"


def array_name(folder: str, what: str, part: int) -> str:
    """The file of one array, such as by_user/indices-00003.npy."""
    return f"{folder}/{what}-{part:05d}.npy"


def labels_name(folder: str, part: int) -> str:
    """The file with the ids of some users."""
    return f"{folder}/part-{part:05d}.parquet"


def is_store(path: object) -> bool:
    """Whether a folder is a store, or one that is being made; a split of a store is told apart when it is opened."""
    return _has(path, PLAN, MANIFEST) or is_split(path)


def is_split(path: object) -> bool:
    """Whether a folder is a split of a store, or one that is being made."""
    return _has(path, SPLIT, SPLIT_PLAN)


def _has(path: object, *names: str) -> bool:
    if not isinstance(path, str | os.PathLike):
        return False
    # of a name that no file can have os.path says no, where pathlib raises
    return any(os.path.isfile(os.path.join(os.fspath(path), name)) for name in names)
