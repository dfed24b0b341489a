"""A split of a store: a folder whose sets are stores, on the same users and items."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corml.data.store import SPLIT, SPLIT_PLAN, Store
from corml.errors import DataError, ascii_line, printable
from corml.persistence.facts import is_deep
from corml.splits._file import PARTS
from corml.splits._split import Split

KIND = "corml split of a store"
FORMAT = 1
PIECE = 1 << 13  # users looked at together


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StoreSplit:
    """Train, validation and test pairs as stores: what `Split` is for data in memory.

    All sets have the users and the items of the store that was split, under the same numbers. `counts` says how many
    users and items a set does not reach. `history` and `valid_history` are there where `Split` has them.
    """

    path: Path
    train: Store
    valid: Store
    test: Store
    history: Store | None = None
    valid_history: Store | None = None
    procedure: Mapping[str, Any]
    numbers: Mapping[str, Any]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(part):,} {name}" for name, part in self.parts().items())
        return f"StoreSplit({printable(self.procedure.get('name'))}: {sizes})"

    def parts(self) -> dict[str, Store]:
        """The sets there are, by name."""
        return {name: part for name in PARTS if (part := getattr(self, name)) is not None}

    def counts(self) -> dict[str, Any]:
        """Users, items and pairs of each set, and how many users and items a set does not reach."""
        return dict(self.numbers)

    @property
    def fingerprint(self) -> str:
        """Hash of the sets, byte by byte; that of `interactions()` is another, of the pairs alone."""
        return fingerprint_of({name: part.fingerprint for name, part in self.parts().items()})

    @property
    def n_pieces(self) -> int:
        """The number of pieces: it depends on the number of users alone, not on the files of the store."""
        return -(-self.train.users // PIECE)

    def pieces(self, numbers: Iterable[int] | None = None) -> Iterator[Split]:
        """The same split of some users at a time, in their order: all of it, or the pieces with these numbers."""
        items = self.train.user_histories().items  # one object for all, so that comparing them is fast
        histories = {name: part.user_histories(items) for name, part in self.parts().items()}
        for number in range(self.n_pieces) if numbers is None else numbers:
            first, last = number * PIECE, min((number + 1) * PIECE, self.train.users)
            some: dict[str, Any] = {name: one.pairs(first, last) for name, one in histories.items()}
            yield Split(**some, procedure=self.procedure)

    def interactions(self) -> Split:
        """The same split in memory, where it fits."""
        parts: dict[str, Any] = {name: part.interactions() for name, part in self.parts().items()}
        return Split(**parts, procedure=self.procedure)

    def verify(self) -> None:
        """Compare the hash of every file of every set with its manifest."""
        for part in self.parts().values():
            part.verify()


def fingerprint_of(prints: Mapping[str, str]) -> str:
    """One hash of those of the sets."""
    return hashlib.sha256("".join(f"{name} {prints[name]}\n" for name in PARTS if name in prints).encode()).hexdigest()


def split_text(procedure: Mapping[str, Any], prints: Mapping[str, str], counts: Mapping[str, Any]) -> str:
    """The text of split.json."""
    facts = {"kind": KIND, "format": FORMAT, "procedure": procedure, "parts": prints, "counts": counts}
    return json.dumps({**facts, "fingerprint": fingerprint_of(prints)}, indent=1) + "\n"


def read_store_split(path: str | os.PathLike[str]) -> StoreSplit:
    """Open the split in a folder; sets that are not those it was written with are an error."""
    folder, name = Path(path), ascii_line(path, 200)
    try:
        facts = json.loads((folder / SPLIT).read_text(encoding="utf-8"))
        prints, procedure, counts = facts["parts"], facts["procedure"], facts["counts"]
        sound = (
            (facts["kind"], facts["format"], facts["fingerprint"]) == (KIND, FORMAT, fingerprint_of(prints))
            and isinstance(procedure, dict)
            and isinstance(counts, dict)
            and not is_deep(facts)
            and {"train", "valid", "test"} <= set(prints) <= set(PARTS)
        )
    except FileNotFoundError:
        if (folder / SPLIT_PLAN).is_file():
            raise DataError(f"{name} is an unfinished split: run the same corml data split again.") from None
        raise DataError(f"{name} is not a split of a store: it has no {SPLIT}.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise DataError(f"The {SPLIT} of {name} is damaged, or of another version: split the store again.")
    parts = {part: Store(folder / part) for part in prints}
    for part, store in parts.items():
        if store.fingerprint != prints[part]:
            raise DataError(f"{part} of {name} is not the set that was written: split the store again.")
    return StoreSplit(path=folder, **parts, procedure=procedure, numbers=counts)
