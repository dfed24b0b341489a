"""From merged pairs to the files of a store: users × items by buckets of users.

Items without a pair to learn from are left out, as `load` leaves them out; so are users, who become `others` if they
have seen something.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.data.labels import Labels
from corml.data.store import ITEMS, labels_name
from corml.data.store.turning import Turned
from corml.data.store.writing import put_arrays, put_labels
from corml.outofcore.ingest.pieces import Array, Piece, Work

__all__ = ["Catalogue", "write_items", "write_user_parts"]

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Catalogue:
    """What all buckets together come to."""

    degrees: Longs  # of the items that are left, in their order
    rank: Ints  # for each item that occurs, its number among these; −1 if it is left out
    user_starts: list[int]
    weighted: bool
    timed: bool
    seen: bool
    counts: dict[str, int]

    @property
    def users(self) -> int:
        """How many users have a pair to learn from."""
        return self.user_starts[-1]

    @property
    def items(self) -> int:
        """How many items have a pair to learn from."""
        return len(self.degrees)

    @property
    def interactions(self) -> int:
        """How many pairs to learn from there are."""
        return int(self.degrees.sum())

    @property
    def turned(self) -> Turned:
        """What is needed to turn users × items around."""
        return Turned(self.degrees, self.user_starts, self.weighted, self.timed)

    @classmethod
    def of(cls, work: Work, buckets: int) -> "Catalogue":
        """Count through the buckets."""
        with Piece(work.catalogue) as known:
            degrees = np.zeros(len(known["item_starts"]) - 1, dtype=np.int64)
        starts, names, counts = [0], set(), dict.fromkeys(("filtered", "duplicates", "conflicts"), 0)
        for bucket in range(buckets):
            with Piece(work.merged(bucket)) as merged:
                degrees += np.bincount(merged["indices"], minlength=len(degrees))
                starts.append(starts[-1] + int(np.count_nonzero(np.diff(merged["indptr"]))))
                names |= merged.names
                counts = {name: counts[name] + merged.facts[name] for name in counts}
        assert starts[-1] <= LIMIT, "users are numbered by 32 bits"
        left = degrees > 0
        rank = np.where(left, np.cumsum(left) - 1, -1).astype(np.int32)
        return cls(degrees[left], rank, starts, "weights" in names, "times" in names, "seen_indices" in names, counts)


def write_items(folder: Path, work: Work, catalogue: Catalogue) -> None:
    """Write the ids of the items that are left."""
    if (folder / ITEMS).exists():
        return
    with Piece(work.catalogue) as known:
        labels = Labels(known["items"], known["item_starts"])
    put_labels(folder / ITEMS, labels.take(np.flatnonzero(catalogue.rank >= 0)).tolist())


# --- by user ---------------------------------------------------------------------------------------------------------


def write_user_parts(folder: Path, work: Work, catalogue: Catalogue, progress: Progress) -> tuple[int, int]:
    """Write the parts of by_user, users, seen and others; give the pairs that users have seen, and how many others."""
    seen = others = 0
    buckets = len(catalogue.user_starts) - 1
    for bucket in range(buckets):
        with Piece(work.merged(bucket)) as merged:
            _write_user_part(folder, merged, bucket, catalogue)
            if catalogue.seen:
                more_seen, more_others = _write_seen(folder, merged, bucket, catalogue)
                seen, others = seen + more_seen, others + more_others
        progress("by user", bucket + 1, buckets)
    return seen, others


def _write_user_part(folder: Path, merged: Piece, part: int, catalogue: Catalogue) -> None:
    last = folder / labels_name("users", part)
    if last.exists():  # written after all else of this part
        return
    indptr, indices = merged["indptr"], merged["indices"]
    known = np.flatnonzero(np.diff(indptr))
    arrays = {"indptr": np.append(indptr[known], indptr[-1]), "indices": catalogue.rank[indices]}
    if catalogue.timed:
        arrays["times"] = merged["times"]
    if catalogue.weighted:  # where all weights of a bucket are 1 it has none
        weights = merged.get("weights")
        arrays["weights"] = np.ones(len(indices), dtype=np.float32) if weights is None else weights
    put_arrays(folder, "by_user", part, arrays)
    put_labels(last, Labels(merged["users"], merged["user_starts"]).take(known).tolist())


def _write_seen(folder: Path, merged: Piece, part: int, catalogue: Catalogue) -> tuple[int, int]:
    """Write the exclude-only pairs of users, and of excluded users; give how many pairs and excluded users."""
    degrees = np.diff(merged["indptr"])
    counts, items, times = np.zeros(len(degrees), dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)
    if "seen_indices" in merged.names:  # else this bucket has none
        counts, items = np.diff(merged["seen_indptr"]), catalogue.rank[merged["seen_indices"]]
        times = merged["seen_times"] if catalogue.timed else times
    owner, known = np.repeat(np.arange(len(degrees)), counts), times if catalogue.timed else None
    of_users = _rows(owner, items, known, degrees > 0)
    without = np.bincount(owner[items >= 0], minlength=len(degrees)) * (degrees == 0) > 0
    last = folder / labels_name("others", part)
    if not last.exists():  # written after all else of this part
        put_arrays(folder, "seen", part, of_users)
        put_arrays(folder, "others", part, _rows(owner, items, known, without))
        put_labels(last, Labels(merged["users"], merged["user_starts"]).take(np.flatnonzero(without)).tolist())
    return len(of_users["indices"]), int(without.sum())


def _rows(owner: Longs, items: Ints, times: Array | None, chosen: NDArray[np.bool_]) -> dict[str, Array]:
    """The entries of some users on the items that are left, in rows of these users."""
    keep = chosen[owner] & (items >= 0)
    indptr = np.zeros(int(chosen.sum()) + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner[keep], minlength=len(chosen))[chosen], out=indptr[1:])
    arrays: dict[str, Array] = {"indptr": indptr, "indices": items[keep]}
    return arrays if times is None else {**arrays, "times": times[keep]}
