"""From a decision per pair to a split: seeded order, counts in whole pairs, and the sets they make.

The random number of a pair is a hash of seed, user label and item label. So neither the order of rows or ids, nor
which other users and items there are, changes the order in which a user's pairs are drawn.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.store import Store
from corml.errors import DataError, UsageError, quoted
from corml.splits._file import PARTS
from corml.splits._split import Decide, Split
from corml.splits._store import StoreSplit

# Which set is first to get what the shares cannot divide, if remainders are equal: train, then test, then valid.
_PREFERENCE = np.array([0, 2, 1])
HELD = 1 << 20  # numbers: as many are simply held
DIGIT = 16  # bits counted in one walk

AnySplit = Split | StoreSplit
Whole = NDArray[np.int64]
Numbers = NDArray[np.uint64]


# --- data in memory, or a store --------------------------------------------------------------------------------------


class Pieces:
    """A store that is being split into a folder, some users at a time; a split that needs more than this is refused."""

    def __init__(self, store: Store, how: str, out: Path, progress: Progress) -> None:
        self.how, self.out, self.progress = how, out, progress
        self.store, self.histories = store, store.user_histories()

    def __iter__(self) -> Iterator[Interactions]:
        return self.histories.parts()

    def __len__(self) -> int:
        return len(self.store)

    @property
    def items(self) -> Ids:
        """The catalogue."""
        return self.histories.items

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the store."""
        return self.histories.fingerprint

    def written(self, decide: Decide, procedure: Mapping[str, Any]) -> StoreSplit:
        """Write the split."""
        from corml.splits._store_write import write_split  # with a kernel that data in memory do without

        return write_split(self.store, self.histories, self.out, decide, procedure, self.progress)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.refuse()

    def refuse(self) -> NoReturn:
        """Refuse a split that cannot decide user by user."""
        raise UsageError(
            f"The split {self.how!r} needs all pairs in memory: load the store with corml.load, or choose a split that "
            "decides user by user, such as 'ratio' or 'temporal'."
        )


Data = Interactions | Pieces


def pieces(data: Data) -> Iterable[Interactions]:
    """The data, some users at a time; in memory they are all there at once."""
    return [data] if isinstance(data, Interactions) else data


def times_of(data: Data) -> Iterable[NDArray[np.float64]]:
    """The times of all pairs, which are known."""
    if isinstance(data, Interactions):
        return [np.asarray(data.times)]
    return (np.asarray(chunk.times) for chunk in data.store.chunks())


def check_times(data: Data, how: str) -> None:
    """Refuse data in which not every pair has a time, and say how to provide it."""
    if data.times is None if isinstance(data, Interactions) else not data.store.manifest.timed:
        raise DataError(
            f"The split '{how}' needs the time of each pair, and these data have none: "
            "name their column with time= (--time), or choose a split that needs none, such as 'ratio'."
        )
    missing = sum(int(np.count_nonzero(~np.isfinite(times))) for times in times_of(data))
    for some in pieces(data) if missing else ():
        for at in np.flatnonzero(~np.isfinite(np.asarray(some.times)))[:1]:
            first = quoted([some.users[int(some.user[at])], some.items[int(some.item[at])]])
            raise DataError(
                f"{missing:,} pairs have no time (the first: {first}), and the split '{how}' needs one: drop them."
            )


def assemble(
    data: Data,
    part: NDArray[Any] | Decide,
    procedure: dict[str, Any],
    *,
    until: Callable[[Interactions, NDArray[Any]], NDArray[np.float64]] | None = None,
) -> AnySplit:
    """Split by one number per pair: 0 train, 1 valid, 2 test, 3 history, 4 valid_history (there need be no 3 or 4).

    `part` are these numbers, or a function that gives those of some users: with a function a store can be split, too.
    Negative feedback after the moment in `until`, one for each user, is not known in train yet.
    """
    if isinstance(data, Pieces):
        return data.written(part if callable(part) else data.refuse(), procedure)
    numbers = part(data) if callable(part) else part
    if until is not None and data.negative is not None and data.negative.times is not None:
        negative = data.negative.where(~(data.negative.times > until(data, numbers)[data.negative.user]))
        data = replace(data, negative=negative if len(negative) else None)
    present = [n for n in range(len(PARTS)) if n < 3 or (numbers == n).any()]
    parts: Mapping[str, Any] = {PARTS[n]: data.where(numbers == n) for n in present}
    return Split(**parts, procedure=procedure)


# --- order -----------------------------------------------------------------------------------------------------------


def random_ranks(items: Ids, seed: int) -> Callable[[Interactions], Whole]:
    """A function that gives the rank of each pair in a random order of its user's pairs.

    Hashing every pair would take seconds; labels are hashed once each and combined in whole arrays.
    """
    of_item = _scrambled(label_numbers(items, seed, "pair of item"))

    def drawn(some: Interactions) -> Whole:
        of_user = label_numbers(some.users, seed, "pair of user")
        return ranks(some.user, _scrambled(of_item[some.item] + of_user[some.user]))

    return drawn


def ranks(user: NDArray[np.integer[Any]], key: NDArray[Any]) -> Whole:
    """Rank of each pair among the pairs of its user, from 0, in the order of the keys (of equal keys, of the rows)."""
    order = np.lexsort((key, user))
    grouped = user[order]
    degrees = np.bincount(grouped)
    rank = np.empty(len(user), dtype=np.int64)
    rank[order] = np.arange(len(user)) - (np.cumsum(degrees) - degrees)[grouped]
    return rank


def label_numbers(ids: Ids, seed: int, purpose: str) -> Numbers:
    """One random 64-bit number per label; other purposes get other numbers."""
    key, person = str(seed).encode(), purpose.encode()
    digests = (
        hashlib.blake2b(label.encode("utf-8", "surrogatepass"), digest_size=8, key=key, person=person).digest()
        for label in ids
    )
    return np.fromiter((int.from_bytes(one, "little") for one in digests), dtype=np.uint64, count=len(ids))


def _scrambled(x: Numbers) -> Numbers:
    """Apply SplitMix64's output function: one-to-one, so that distinct items of a user keep distinct numbers."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# --- counts ----------------------------------------------------------------------------------------------------------


def whole_counts(totals: Whole, shares: tuple[float, float, float]) -> Whole:
    """Train, valid and test counts of each total (n × 3), by largest remainder; train gets at least one.

    Shares .6, .2, .2 of 1, 2, 3, 4, 5 things: 1·0·0, 1·0·1, 2·0·1, 2·1·1, 3·1·1. A share of 0 gets nothing.
    """
    # rounding first, because .6 · 5 is 3 on paper and need not be for the machine
    quotas = np.round(np.outer(totals, np.divide(shares, sum(shares))), 9)
    counts = np.floor(quotas).astype(np.int64)
    remainders = np.round(quotas - counts, 9)[:, _PREFERENCE]
    remainders[counts[:, 0] == 0, 0] = 1.0  # there is something left to give, because train's share is above 0
    rank = np.argsort(np.argsort(-remainders, axis=1, kind="stable"), axis=1, kind="stable")
    left = totals - counts.sum(axis=1)
    counts[:, _PREFERENCE] += rank < left[:, None]
    return counts


def by_counts(data: Interactions, rank: Whole, counts: Whole) -> Whole:
    """Set of each pair: of a user with d pairs the first `counts[d]` ranks are train, valid and test in turn."""
    ends = np.cumsum(counts, axis=1)[data.user_degrees[data.user]]
    return (rank >= ends[:, 0]).astype(np.int64) + (rank >= ends[:, 1])


# --- numbers at given ranks, among more than fit into memory ---------------------------------------------------------


def at_ranks(walk: Callable[[], Iterable[Numbers]], ranks: Sequence[int]) -> list[int]:
    """The numbers at these ranks, from 0, of all that a walk gives; each call of it is one walk through them.

    Many numbers are not sorted but found digit by digit, by counting how often each next digit occurs.
    """
    held, count = [np.zeros(0, dtype=np.uint64)], 0
    for some in walk() if ranks else ():
        held, count = [*held, some], count + len(some)
        if count > HELD:
            break
    if count <= HELD:
        return [int(number) for number in np.sort(np.concatenate(held))[list(ranks)]]
    prefixes, left = [0] * len(ranks), list(ranks)
    for shift in range(64 - DIGIT, -1, -DIGIT):
        for which, counts in enumerate(_counted(walk(), prefixes, shift)):
            before = np.cumsum(counts)
            digit = int(np.searchsorted(before, left[which], side="right"))
            left[which] -= int(before[digit] - counts[digit])
            prefixes[which] = prefixes[which] << DIGIT | digit
    return prefixes


def _counted(some: Iterable[Numbers], prefixes: Sequence[int], shift: int) -> NDArray[np.int64]:
    """How often each next digit occurs among the numbers that begin with each prefix."""
    counts = np.zeros((len(prefixes), 1 << DIGIT), dtype=np.int64)
    for numbers in some:
        digits = numbers >> np.uint64(shift)
        for which, prefix in enumerate(prefixes):
            next_ones = digits[digits >> np.uint64(DIGIT) == np.uint64(prefix)] & np.uint64((1 << DIGIT) - 1)
            counts[which] += np.bincount(next_ones.astype(np.int64), minlength=1 << DIGIT)
    return counts


def ordered(values: NDArray[np.float64]) -> Numbers:
    """Whole numbers in the order of the values, none of which is NaN."""
    bits = (values + 0.0).view(np.uint64)  # so that −0 is 0
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)


def value_of(number: int) -> float:
    """The value that `ordered` made a number of."""
    top = 1 << 63
    bits = number ^ top if number & top else number ^ (2**64 - 1)
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])
