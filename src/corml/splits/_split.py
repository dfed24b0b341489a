"""The parts of a data set on common ids, and how they came about."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corml.errors import UsageError, ascii_line
from corml.interactions import Interactions
from corml.splits._align import Dropped, aligned, nothing_like

__all__ = ["PARTS", "Split"]

PARTS = ("train", "valid", "test", "history", "valid_history")


@dataclass(frozen=True, kw_only=True, eq=False, init=False, repr=False)
class Split:
    """Train, valid and test pairs, all on the same users and items.

    `history` and `valid_history` are what a model is told about the users of a part; without them it is told `train`:

        part      told to the model          not to be recommended     to be found
        valid     valid_history or train     what was told             valid
        test      history or train           what was told, valid      test

    Items without a train pair stay in the catalogue. Parts with ids of their own are moved to the items of train and
    to its users (and those of the histories); pairs that have no place there are left out and counted in `dropped`.
    """

    train: Interactions
    valid: Interactions
    test: Interactions
    history: Interactions | None
    valid_history: Interactions | None
    procedure: Mapping[str, Any]
    dropped: Dropped

    def __init__(
        self,
        *,
        train: Interactions,
        valid: Interactions | None = None,
        test: Interactions | None = None,
        history: Interactions | None = None,
        valid_history: Interactions | None = None,
        procedure: Mapping[str, Any] | None = None,
        dropped: Dropped | None = None,
    ) -> None:
        given = dict(zip(PARTS, (train, valid, test, history, valid_history), strict=True))
        parts, lost = aligned({name: part for name, part in given.items() if part is not None})
        # a frozen dataclass has no other way to set its fields
        for name in PARTS:
            absent = nothing_like(parts["train"]) if name in ("valid", "test") else None
            object.__setattr__(self, name, parts.get(name, absent))
        object.__setattr__(self, "procedure", dict(procedure or {}))
        object.__setattr__(self, "dropped", {**(dropped or {}), **lost})

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(part):,} {name}" for name, part in self.parts().items())
        return f"Split({self.procedure.get('name', 'ready-made')}: {sizes})"

    def parts(self) -> dict[str, Interactions]:
        """List the parts there are, by name."""
        named = {name: getattr(self, name) for name in PARTS}
        return {name: part for name, part in named.items() if part is not None}

    def part(self, name: str) -> tuple[Interactions, Interactions, Interactions]:
        """Give what the model is told, must not recommend and should find, for "valid" or "test"."""
        if name == "valid":
            told = self.train if self.valid_history is None else self.valid_history
            return told, told, self.valid
        if name == "test":
            told = self.train if self.history is None else self.history
            return told, _union(told, self.valid), self.test
        raise UsageError(f"A split has no part {ascii_line(name)} to evaluate on: choose 'valid' or 'test'.")

    def counts(self) -> dict[str, Any]:
        """Users, items and pairs of each part, and how many users and items a part does not reach."""
        sizes: dict[str, Any] = {name: _sizes(part) for name, part in self.parts().items()}
        sizes["cold items"] = int((self.train.item_degrees == 0).sum())
        sizes["users without train rows"] = int((self.train.user_degrees == 0).sum())
        sizes["users without test rows"] = int((self.test.user_degrees == 0).sum())
        return sizes

    @cached_property
    def fingerprint(self) -> str:
        """Hash of which pair is in which part, by label: the order of rows and ids does not matter."""
        lines = [f"{name} {part.fingerprint}\n" for name, part in self.parts().items()]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that `read_split` checks and reads; an older file stays until the new one is complete."""
        from corml.splits._store import save_split  # it needs Split, so it is fetched late

        save_split(self, path)

    def verify(self, data: Interactions) -> None:
        """Make the split again from its data; see `verify_split`."""
        from corml.splits._verify import verify_split  # it needs Split, so it is fetched late

        verify_split(self, data)


def _sizes(part: Interactions) -> dict[str, int]:
    return {
        "users": int(np.count_nonzero(part.user_degrees)),
        "items": int(np.count_nonzero(part.item_degrees)),
        "pairs": len(part),
    }


def _union(one: Interactions, other: Interactions) -> Interactions:
    """Pairs that are in either; a pair in both counts once."""
    if not len(other):
        return one
    user = np.concatenate([one.user, other.user])
    item = np.concatenate([one.item, other.item])
    _, kept = np.unique(user.astype(np.int64) * len(one.items) + item, return_index=True)
    return Interactions(one.users, one.items, user[kept], item[kept], None, one.titles, one.source)
