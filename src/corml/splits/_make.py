"""Splits from data: by the name of a procedure, all folds of a cross-validation, or precomputed sets."""

import os
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast, overload

from corml._runtime.console_progress import shown
from corml._runtime.progress import Asked
from corml.data.interactions import Interactions
from corml.data.store import Store, is_split
from corml.errors import UsageError, ascii_line
from corml.splits._draw import AnySplit, Pieces
from corml.splits._options import Shares, option, run
from corml.splits._split import Split, read_file, without
from corml.splits._store import StoreSplit, read_store_split
from corml.splits.k_fold import FOLDS, k_fold

Name = Literal[
    "ratio", "authors", "k-fold", "leave-last", "temporal", "new-users", "new-items",
    "k_fold", "leave_last", "new_users", "new_items",
]  # fmt: skip


class Options(TypedDict, total=False):
    """The options of the splits that come with corml."""

    shares: Shares | str
    seed: int
    n: int
    n_valid: int | None
    moments: Sequence[float | str | date] | float | str | date | None
    given: float
    known: float
    folds: int
    fold: int
    valid_fold: int | str | None


@overload
def split(data: Interactions, how: Name = "ratio", **options: Unpack[Options]) -> Split: ...
@overload
def split(
    data: Store,
    how: Name = "ratio",
    *,
    out: str | os.PathLike[str],
    progress: Asked = None,
    **options: Unpack[Options],
) -> StoreSplit: ...
def split(
    data: Interactions | Store,
    how: str = "ratio",
    *,
    out: str | os.PathLike[str] | None = None,
    progress: Asked = None,
    **options: Any,
) -> AnySplit:
    """Divide interactions into a train, validation and test set.

    `how` names a split (dashes and underscores are the same); `options` are that split's own. A store is divided, some
    users at a time, into stores in the folder `out`; a call that was stopped resumes when it is repeated.
    """
    if not isinstance(data, Interactions | Store):
        raise UsageError(f"Only Interactions can be split, not {type(data).__name__}: read it with corml.load first.")
    if not isinstance(how, str):
        raise UsageError(f"The kind of split must be a name such as 'ratio', not {ascii_line(how)}.")
    if isinstance(data, Store) != (out is not None):
        raise UsageError(
            "The split of a store is a folder: name it with out='folder'."
            if isinstance(data, Store)
            else "out is for the split of a Store: save one of Interactions with .save('my.split')."
        )
    with shown(progress) as report:
        parts = run(data if out is None else Pieces(cast(Store, data), how, Path(out), report), how, options)
    expected: type[AnySplit] = Split if out is None else StoreSplit
    if not isinstance(parts, expected):  # made by a plug-in
        name = expected.__name__
        raise UsageError(f"The split {ascii_line(how)} made a {type(parts).__name__}: it must make a corml.{name}.")
    return parts


def read_split(path: str | os.PathLike[str]) -> AnySplit:
    """Read a split written by `Split.save`, or open the folder of a split of a store.

    A file that is damaged, foreign or changed is an error.
    """
    return read_store_split(path) if is_split(path) else read_file(path)


def folds(data: Interactions, folds: int = 5, *, seed: int = 2026) -> Iterator[Split]:
    """One split after the other; together their test sets are the data, each pair once."""
    total = int(option("k-fold", "folds", folds, FOLDS))
    return (cast(Split, k_fold(data, folds=total, fold=fold, seed=seed)) for fold in range(total))


def ready_made(train: Interactions, valid: Interactions | None = None, test: Interactions | None = None) -> Split:
    """Join precomputed sets.

              pairs   in train      in valid      in test
        Ann           a, b          c             d, b       b was in train: dropped from test
        Bob           a             .             z          z is in no train pair's catalogue: dropped from test

    Valid and test pairs of unknown users or items, and pairs that an earlier set already has (a model must not
    recommend them, so they could only be missed), are dropped and counted in `dropped`.
    """
    joined = Split(train=train, valid=valid, test=test, procedure={"name": "ready-made"})
    fresh_valid = without(joined.valid, [joined.train])
    fresh_test = without(joined.test, [joined.train, fresh_valid])
    dropped = {name: dict(reasons) for name, reasons in joined.dropped.items()}
    for name, before, after in (("valid", joined.valid, fresh_valid), ("test", joined.test, fresh_test)):
        if len(after) < len(before):
            dropped.setdefault(name, {})["already in an earlier part"] = len(before) - len(after)
    parts = {"train": joined.train, "valid": fresh_valid, "test": fresh_test}
    return Split(**parts, procedure=joined.procedure, dropped=dropped)
