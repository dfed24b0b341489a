"""The train, validation and test set on common ids, how they were made, and whether that is still true."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from corml.data.interactions import Interactions
from corml.data.kinds import event_types, require
from corml.data.merging import cells, union
from corml.errors import DataError, UsageError, ascii_line, printable
from corml.splits._file import PARTS, inconsistent, read_parts, save_parts
from corml.splits._options import run_again

ALL = "all"  # in place of event types: every held-out pair is a target

Dropped = Mapping[str, Mapping[str, int]]
Decide = Callable[[Interactions], NDArray[Any]]  # gives the number of the set of each pair


@dataclass(frozen=True, kw_only=True, eq=False, init=False, repr=False)
class Split:
    """Train, validation and test pairs, all on the same users and items.

    `history` and `valid_history` are the histories of the users of a set; without them the histories are `train`:

        set       history                    not to be recommended     targets
        valid     valid_history or train     the history               valid
        test      history or train           the history, valid        test

    `judging("purchase")` counts only held-out pairs with such an event as targets. The others are not targets and are
    not masked either: they stay among the items that can be recommended, as they would be for the user.

    Items without a train pair stay in the catalogue. Sets with ids of their own are moved to the items of train and to
    its users (and those of the histories); pairs of other users or items are dropped and counted in `dropped`.
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
        parts, lost = _aligned({name: part for name, part in given.items() if part is not None})
        empty = parts["train"].where(np.zeros(0, dtype=np.int64))
        fields: dict[str, Any] = {"history": None, "valid_history": None, "valid": empty, "test": empty, **parts}
        vars(self).update(fields, procedure=dict(procedure or {}), dropped={**(dropped or {}), **lost})

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(part):,} {name}" for name, part in self.parts().items())
        return f"Split({printable(self.procedure.get('name', 'ready-made'))}: {sizes})"

    def parts(self) -> dict[str, Interactions]:
        """The sets there are, by name."""
        return {name: part for name in PARTS if (part := getattr(self, name)) is not None}

    def part(self, name: Literal["valid", "test"] | str) -> tuple[Interactions, Interactions, Interactions]:
        """The histories, what must not be recommended, and the targets, for "valid" or "test"."""
        if name == "valid":
            history = self.train if self.valid_history is None else self.valid_history
            return history, history, self.valid
        if name == "test":
            history = self.train if self.history is None else self.history
            return history, union(history, self.valid), self.test
        raise UsageError(f"A split has no part {ascii_line(name)} to evaluate on: choose 'valid' or 'test'.")

    @property
    def targets(self) -> tuple[str, ...]:
        """The event types of the pairs that count as targets; empty if all do."""
        return tuple(self.procedure.get("targets", ()))

    def judging(self, targets: str | Iterable[str]) -> Self:
        """The same sets, where only held-out pairs with an event of these types count as targets; or "all" of them."""
        procedure = {name: value for name, value in self.procedure.items() if name != "targets"}
        if targets != ALL:
            names = event_types(targets, "targets")
            held_out = [part.kinds for part in (self.valid, self.test) if len(part)]
            known = [name for kinds in held_out if kinds is not None for name in kinds.known]
            require(names, known, "targets", "the held-out pairs")
            procedure["targets"] = list(names)
        return type(self)(**self.parts(), procedure=procedure, dropped=self.dropped)

    def judged(self, held_out: Interactions) -> Interactions:
        """The held-out pairs that count as targets: those with an event of a named type, or all if none is named."""
        if not self.targets:
            return held_out
        none = np.zeros(len(held_out), dtype=bool)
        return held_out.where(none if held_out.kinds is None else held_out.kinds.having(self.targets))

    def whole(self) -> Interactions:
        """The pairs of all sets together, each once."""
        return reduce(union, self.parts().values())

    def counts(self) -> dict[str, Any]:
        """Users, items and pairs of each set, and how many users and items a set does not reach."""
        counts: dict[str, Any] = {
            name: {
                "users": int(np.count_nonzero(part.user_degrees)),
                "items": int(np.count_nonzero(part.item_degrees)),
                "pairs": len(part),
            }
            for name, part in self.parts().items()
        }
        counts["cold items"] = int((self.train.item_degrees == 0).sum())
        counts["users without train rows"] = int((self.train.user_degrees == 0).sum())
        counts["users without test rows"] = int((self.test.user_degrees == 0).sum())
        return counts

    @cached_property
    def fingerprint(self) -> str:
        """Hash of which pair is in which set and which are targets, by label: the order of rows does not matter."""
        return self.fingerprint_with(self.targets)

    def fingerprint_with(self, targets: Iterable[str]) -> str:
        """The fingerprint of the same sets with other event types as targets; with none of them, all count."""
        lines = [f"{name} {part}\n" for name, part in _fingerprints(self).items()]
        lines += [f"targets {name}\n" for name in sorted(targets)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that `read_split` checks and reads; an older file stays until the new one is complete."""
        facts = {"split": self.procedure, "dropped": self.dropped, "counts": self.counts()}
        save_parts(path, self.parts(), {**facts, "fingerprint": self.fingerprint})

    def verify(self, data: Interactions) -> None:
        """Make the split again from its data; see `verify_split`."""
        verify_split(self, data)


def read_file(path: str | os.PathLike[str]) -> Split:
    """Read a split written by `Split.save`; a file that is damaged, foreign or changed is an error."""
    parts, facts = read_parts(path)
    split = Split(**parts, procedure=facts["split"], dropped=facts["dropped"])
    if split.fingerprint != facts["fingerprint"] or _fingerprints(split) != facts["parts"]:
        raise inconsistent(path, "its sets do not have the recorded fingerprint")
    return split


def verify_split(split: Split, data: Interactions) -> None:
    """Make a split again from its record and these data; an error says whether data, procedure or sets differ."""
    recorded = split.procedure
    if recorded.get("data") is None:
        raise DataError(
            f"The procedure of this split ({ascii_line(recorded.get('name'))}) cannot be run again: "
            "it was made elsewhere."
        )
    if recorded["data"] != data.fingerprint:
        short = f"{ascii_line(str(recorded['data'])[:12])} is recorded, {ascii_line(data.fingerprint[:12])} is given"
        raise DataError(
            f"The data are not those the split was made from ({short}): load the same file with the same filters."
        )
    again: Split = run_again(recorded, data)
    again = again.judging(split.targets) if split.targets else again
    differing = sorted(key for key in {*recorded, *again.procedure} if recorded.get(key) != again.procedure.get(key))
    if differing == ["rows"]:
        raise DataError(
            "The procedure depends on the order of rows, and these data have another: load the same file unsorted."
        )
    if differing:
        names = ", ".join(map(ascii_line, differing))
        raise DataError(f"The procedure differs from its record in {names}: split again.")
    was, now = _fingerprints(split), _fingerprints(again)
    different = [name for name in PARTS if was.get(name) != now.get(name)]
    if different:
        raise DataError(
            f"The sets {', '.join(different)} are not what the recorded procedure makes of these data: split again."
        )


def without(part: Interactions, earlier: Sequence[Interactions]) -> Interactions:
    """The pairs of a set that no earlier set has."""
    return part.where(~np.isin(cells(part), np.concatenate([cells(other) for other in earlier])))


def _fingerprints(split: Split) -> dict[str, str]:
    return {name: part.fingerprint for name, part in split.parts().items()}


def _aligned(parts: Mapping[str, Interactions]) -> tuple[Mapping[str, Interactions], Dropped]:
    """Move all sets to the items of train and the users of train and histories; count the pairs dropped by that.

    A pair whose user and item are both unknown counts as one of an unknown user.
    """
    train = parts["train"]
    if all(part.users == train.users and part.items == train.items for part in parts.values()):
        return parts, {}
    users = train.users.union(*(parts[name].users for name in ("history", "valid_history") if name in parts))
    moved = {name: part.on(users, train.items) for name, part in parts.items()}
    dropped = {}
    for name, part in parts.items():
        if len(moved[name]) < len(part):
            unknown = (users.find(part.users) < 0)[part.user]
            items = (train.items.find(part.items) < 0)[part.item] & ~unknown
            dropped[name] = {"unknown users": int(unknown.sum()), "unknown items": int(items.sum())}
    return moved, dropped
