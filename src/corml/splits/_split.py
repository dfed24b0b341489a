"""The parts of a data set on common ids, how they came about, and whether that is still true."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Self

from corml.data.interactions import Interactions
from corml.data.kinds import event_types, require
from corml.errors import DataError, UsageError, ascii_line, printable
from corml.splits._file import inconsistent, read_parts, save_parts
from corml.splits._parts import PARTS, Dropped, align, empty_like, sizes, union
from corml.splits._procedure import run_again

__all__ = ["Split", "read_split", "verify_split"]

ALL = "all"  # in place of event types: every held-out pair is a target


@dataclass(frozen=True, kw_only=True, eq=False, init=False, repr=False)
class Split:
    """Train, valid and test pairs, all on the same users and items.

    `history` and `valid_history` are the histories of the users of a part; without them the histories are `train`:

        part      history                    not to be recommended     targets
        valid     valid_history or train     the history               valid
        test      history or train           the history, valid        test

    `judging("purchase")` counts only held-out pairs with such an event as targets. The others are none and are not
    masked either: they stay among the items that can be recommended, as they would be for the user.

    Items without a train pair stay in the catalogue. Parts with ids of their own are moved to the items of train and
    to its users (and those of the histories); pairs of other users or items are dropped and counted in `dropped`.
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
        parts, lost = align({name: part for name, part in given.items() if part is not None})
        # a frozen dataclass has no other way to set its fields
        for name in PARTS:
            absent = empty_like(parts["train"]) if name in ("valid", "test") else None
            object.__setattr__(self, name, parts.get(name, absent))
        object.__setattr__(self, "procedure", dict(procedure or {}))
        object.__setattr__(self, "dropped", {**(dropped or {}), **lost})

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(part):,} {name}" for name, part in self.parts().items())
        return f"Split({printable(self.procedure.get('name', 'ready-made'))}: {sizes})"

    def parts(self) -> dict[str, Interactions]:
        """List the parts there are, by name."""
        named = {name: getattr(self, name) for name in PARTS}
        return {name: part for name, part in named.items() if part is not None}

    def part(self, name: str) -> tuple[Interactions, Interactions, Interactions]:
        """Give the histories, what must not be recommended, and the targets, for "valid" or "test"."""
        if name == "valid":
            history = self.train if self.valid_history is None else self.valid_history
            return history, history, self.valid
        if name == "test":
            history = self.train if self.history is None else self.history
            return history, union(history, self.valid), self.test
        raise UsageError(f"A split has no part {ascii_line(name)} to evaluate on: choose 'valid' or 'test'.")

    @property
    def targets(self) -> tuple[str, ...]:
        """The event types of the pairs that count as targets; none: all do."""
        return tuple(self.procedure.get("targets", ()))

    def judging(self, targets: Any) -> Self:
        """The same parts, where only held-out pairs with an event of these types count as targets; or "all" of them."""
        if targets == ALL:
            procedure = {name: value for name, value in self.procedure.items() if name != "targets"}
            return type(self)(**self.parts(), procedure=procedure, dropped=self.dropped)
        names = event_types(targets, "targets")
        held_out = [part.kinds for part in (self.valid, self.test) if len(part)]
        known = [name for kinds in held_out if kinds is not None for name in kinds.known]
        require(names, known, "targets", "the held-out pairs")
        return type(self)(**self.parts(), procedure={**self.procedure, "targets": list(names)}, dropped=self.dropped)

    def whole(self) -> Interactions:
        """The pairs of all parts together, each once."""
        return reduce(union, self.parts().values())

    def counts(self) -> dict[str, Any]:
        """Users, items and pairs of each part, and how many users and items a part does not reach."""
        counts: dict[str, Any] = {name: sizes(part) for name, part in self.parts().items()}
        counts["cold items"] = int((self.train.item_degrees == 0).sum())
        counts["users without train rows"] = int((self.train.user_degrees == 0).sum())
        counts["users without test rows"] = int((self.test.user_degrees == 0).sum())
        return counts

    @cached_property
    def fingerprint(self) -> str:
        """Hash of which pair is in which part and which are targets, by label: the order of rows does not matter."""
        lines = [f"{name} {part.fingerprint}\n" for name, part in self.parts().items()]
        lines += [f"targets {name}\n" for name in sorted(self.targets)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that `read_split` checks and reads; an older file stays until the new one is complete."""
        facts = {
            "split": self.procedure,
            "dropped": self.dropped,
            "counts": self.counts(),
            "fingerprint": self.fingerprint,
        }
        save_parts(path, self.parts(), facts)

    def verify(self, data: Interactions) -> None:
        """Make the split again from its data; see `verify_split`."""
        verify_split(self, data)


def read_split(path: str | os.PathLike[str]) -> Split:
    """Read a split written by `Split.save`; a file that is damaged, foreign or changed is an error."""
    parts, facts = read_parts(path)
    try:
        split = Split(**parts, procedure=facts["split"], dropped=facts["dropped"])
    except TypeError:  # no train
        raise inconsistent(path, "it has no train part") from None
    if split.fingerprint != facts["fingerprint"] or _fingerprints(split) != facts["parts"]:
        raise inconsistent(path, "its parts do not have the recorded fingerprint")
    return split


def verify_split(split: Split, data: Interactions) -> None:
    """Make a split again from its record and these data; an error says whether data, procedure or parts differ."""
    recorded = split.procedure
    if recorded.get("data") is None:
        raise DataError(
            f"The procedure of this split ({ascii_line(recorded.get('name'))}) cannot be run again: "
            "its parts were made elsewhere."
        )
    if recorded["data"] != data.fingerprint:
        short = f"{ascii_line(str(recorded['data'])[:12])} is recorded, {ascii_line(data.fingerprint[:12])} is given"
        raise DataError(
            f"The data are not those the split was made from ({short}): load the same file with the same filters."
        )
    again: Split = run_again(recorded, data)
    again = again.judging(split.targets) if split.targets else again
    _compare_records(recorded, again.procedure)
    was, now = _fingerprints(split), _fingerprints(again)
    if was != now:
        different = ", ".join(name for name in PARTS if was.get(name) != now.get(name))
        raise DataError(f"The parts {different} are not what the recorded procedure makes of these data: split again.")


def _compare_records(recorded: Mapping[str, Any], again: Mapping[str, Any]) -> None:
    differing = sorted(key for key in {*recorded, *again} if recorded.get(key) != again.get(key))
    if differing == ["rows"]:
        raise DataError(
            "The procedure depends on the order of rows, and these data have another: load the same file unsorted."
        )
    if differing:
        raise DataError(
            f"The procedure differs from its record in {', '.join(map(ascii_line, differing))}: split again."
        )


def _fingerprints(split: Split) -> dict[str, str]:
    return {name: part.fingerprint for name, part in split.parts().items()}
