"""The plan of a fit on files, which depends on the data and the settings, never on memory.

In memory fewer candidates are used where more would not fit. Here the same are always used, and a fit whose driver
would not fit in memory is refused. A plan reads degrees from a store, and the rows of some items and of their users:
not all of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime import memory
from corml._runtime.parallel import threads
from corml.data.store import Chunk, Store
from corml.errors import SettingError
from corml.linalg import svd
from corml.linalg.dense_normal import SHARES
from corml.linalg.sparse import Rows as RowsOfMatrix
from corml.linalg.sparse import unsigned
from corml.linalg.svd import is_small_shape
from corml.models.corml.cost import A_PAIR_COMPARED, PairCount, Rows, Size, add_users, selects_filter, sparse_seconds
from corml.models.corml.plan import Plan, allowed_bytes, pairs_at_the_end, planned_pairs, resolved_sizes
from corml.models.corml.problem import UserWeights
from corml.models.fitted import Settings
from corml.outofcore.fit.files import Files
from corml.outofcore.tasks import AT_ONCE

A_PAIR_FOUND, A_PAIR_SOLVED = 48, 56  # bytes of this process for each pair, both ways
A_USER, AN_ITEM = 64, 128  # bytes for numbers of users and items
SMALLEST = 1e-6  # largest weight whose squares are still numbers of single precision; and its inverse
ALWAYS = 1 << 27  # bytes of threads, compiled code and blocks of vectors

Vector = NDArray[np.float64]
Values = NDArray[np.float32]
Row = tuple[NDArray[Any], NDArray[np.float32] | None]  # columns, and their values where there are some
Pairs = tuple[PairCount, int | None, int]  # predicted pairs, candidates of an item (None: all), pairs that co-occur


def refuse_unsupported(settings: Settings) -> None:
    """Refuse what only a fit in memory can do."""
    instead = "load it into memory first: fit(store.interactions())."
    if settings.filter != "factored":
        raise SettingError(f"A fit on a store has filter=factored only; for {settings.filter} {instead}")
    dense = settings.solver == "admm" or settings.rho is not None or settings.partition_ratio < 1
    if dense or settings.precision == "double":
        raise SettingError(f"A fit on a store has the sparse solver only, in single precision; for another {instead}")


# --- a profile of the interactions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Profile:
    """Degrees of users and of items, and a way to compute rows of the Gram matrix for weights of users."""

    user_degrees: NDArray[np.int64]
    item_degrees: NDArray[np.int64]
    rows: Callable[[Vector], Rows]
    left_out: NDArray[np.int64] | int = 0  # items of each user beyond the longest history

    @classmethod
    def of_files(cls, files: Files) -> "Profile":
        """The profile of a matrix in files."""
        sides = files.sides
        return cls(sides.users.degrees, sides.items.degrees, lambda loss: Rows.of(sides, loss))

    @classmethod
    def of_store(cls, store: Store, longest: int | None = None) -> "Profile":
        """The profile of a store: where rows begin, and the rows of some items and of their users.

        Only `longest` items of a history count. Which of them a fit draws depends on their ids; here they are evenly
        spaced, which is as good for a prediction.
        """
        users = _Shards(store.chunks(), store.manifest.user_starts)
        items = _Shards(store.item_chunks(), store.manifest.item_starts)
        user_degrees, item_degrees = users.degrees(), items.degrees()
        counted = user_degrees if longest is None else np.minimum(user_degrees, longest)
        long: dict[int, Row] = {}
        for user in np.flatnonzero(user_degrees > counted).tolist():
            columns, values = users.row(user)
            at = np.linspace(0, len(columns) - 1, counted[user]).astype(np.int64)
            item_degrees -= np.bincount(np.delete(columns, at), minlength=len(item_degrees))
            long[user] = columns[at], None if values is None else values[at]
        d = np.maximum(item_degrees.astype(np.float64), 1.0)

        def cost(wanted: NDArray[np.int64]) -> Vector:
            costs = {item: float(counted[items.row(item)[0]].sum()) for item in np.unique(wanted).tolist()}
            return np.array([costs[item] for item in wanted.tolist()])

        def rows(loss: Vector) -> Rows:
            weights = loss.astype(np.float32)
            return Rows(d, lambda item, row: _write_row(users, items.row(item), long, weights, item, row), cost)

        return cls(counted, item_degrees, rows, user_degrees - counted)

    @property
    def size(self) -> Size:
        """Shape, interactions and visits."""
        squares = float((self.user_degrees.astype(np.float64) ** 2).sum())
        return Size((len(self.user_degrees), len(self.item_degrees)), int(self.user_degrees.sum()), squares)


class _Shards:
    """One side of a store, mapped. The store compares hashes as it opens a shard, for kernels do not check."""

    def __init__(self, chunks: Iterable[Chunk], starts: Iterable[int]) -> None:
        self.starts = np.array(list(starts), dtype=np.int64)
        self.shards = [(chunk.indptr, chunk.indices, chunk.weights) for chunk in chunks]
        peak = max((float(weights.max(initial=0)) for _, _, weights in self.shards if weights is not None), default=1.0)
        if not SMALLEST < peak < 1 / SMALLEST:
            self.shards = [(ptr, cols, None if w is None else w / np.float32(peak)) for ptr, cols, w in self.shards]

    def degrees(self) -> NDArray[np.int64]:
        """How many entries each row has."""
        return np.concatenate([np.zeros(0, np.int64), *(np.diff(indptr) for indptr, _, _ in self.shards)])

    def row(self, number: int) -> Row:
        """Columns and values of one row."""
        shard = int(np.searchsorted(self.starts, number, side="right")) - 1
        indptr, indices, values = self.shards[shard]
        low, high = indptr[number - self.starts[shard] : number - self.starts[shard] + 2].tolist()
        return indices[low:high], None if values is None else values[low:high]


def _write_row(
    users: _Shards,
    of_item: Row,
    long: dict[int, Row],
    weights: NDArray[np.float32],
    item: int,
    row: NDArray[np.float32],
) -> None:
    """The row of an item: its users shard by shard; users with long histories by the items that count."""
    row[:] = 0
    names, strengths = of_item
    is_long = np.isin(names, list(long))
    for at in np.flatnonzero(is_long):
        columns, values = long[int(names[at])]
        if item in columns:
            weight = weights[names[at]] * (1 if strengths is None else strengths[at])
            row[columns] += weight if values is None else weight * values
    names, strengths = names[~is_long], None if strengths is None else strengths[~is_long]
    edges = np.searchsorted(names, users.starts)
    for shard, (low, high) in enumerate(pairwise(edges.tolist())):
        if low < high:
            first, last = users.starts[shard : shard + 2]
            indptr, indices, values = users.shards[shard]
            own, some = None if strengths is None else strengths[low:high], unsigned(names[low:high] - np.int32(first))
            add_users(some, own, RowsOfMatrix(indptr, unsigned(indices), values), weights[first:last], row)


# --- the plan --------------------------------------------------------------------------------------------------------


def count_pairs(profile: Profile, settings: Settings) -> Pairs:
    """Predict the pairs of a fit."""
    refuse_unsupported(settings)
    degrees = np.maximum(profile.user_degrees.astype(np.float64), 1.0)
    loss = UserWeights.of(degrees, user_balance=settings.user_balance).loss
    return planned_pairs(profile.rows(loss), settings)


def plan_for(profile: Profile, pairs: Pairs, settings: Settings) -> Plan:
    """Solver, rank, ridge and candidates of a fit with so many pairs; one that is too large is refused."""
    (count, candidates, every), size = pairs, profile.size
    max_pairs = pairs_at_the_end(count.pairs, every, candidates, every, settings.pair_tol)
    sizes = resolved_sizes(size.shape, size.nnz, profile.item_degrees, settings)
    widest, selects = max(sizes["rank"], sizes["learn_rank"]), selects_filter(settings)
    seconds = sparse_seconds(
        size, widest, count, every, keep_gram=False, excluding=candidates is not None, clip=False
    ).with_threads()
    plan = Plan(
        solver="sparse",
        **sizes,
        candidates=candidates,
        pairs=count.pairs,
        max_pairs=max_pairs,
        predicted_bytes=driver_bytes(size.shape, max_pairs, widest, selects=selects),
        predicted_seconds=2 * seconds if selects else seconds,
    )
    if plan.predicted_bytes > allowed_bytes(settings):
        instead = "set candidates to fewer pairs an item, lower rank, or add memory."
        limit = None if settings.max_memory is None else memory.read_size(settings.max_memory)
        needed = plan.predicted_bytes + (memory.resident() if limit else 0)
        memory.require(needed, what=f"Leading a fit with {plan.pairs // 2:,} pairs", instead=instead, limit=limit)
    return plan


def driver_bytes(shape: tuple[int, int], pairs: float, rank: int, *, selects: bool) -> int:
    """Anonymous memory of the process that leads the work; mapped files do not count."""
    users, items = shape
    multiplying = 4 * items * (2 * svd.basis_size(rank) + rank + svd.BLOCK * SHARES)
    spectral = 16 * items * items if is_small_shape(shape, rank) else multiplying
    of_threads = 4 * (min(threads(), AT_ONCE) - 1)  # bytes that other threads take for a pair, with work by users
    solving = max(A_PAIR_FOUND, A_PAIR_SOLVED + of_threads, A_PAIR_COMPARED * selects) * pairs + 16 * items * rank
    return int(ALWAYS + A_USER * users + AN_ITEM * items + max(spectral, solving))
