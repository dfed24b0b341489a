"""The plan of a fit on files. What is learned follows from the data and the settings: memory has no say in it.

In memory fewer candidates are taken where more would not fit. Here the same are taken always, and a fit that this
process could not hold its part of is refused.
"""

from dataclasses import dataclass

import numpy as np

from corml import memory
from corml.errors import SettingError
from corml.fitted import Settings
from corml.linalg import lanczos
from corml.linalg.dense_normal import SHARES
from corml.linalg.svd import is_small_shape
from corml.method.out_of_core.files import Files
from corml.method.out_of_core.known import Known
from corml.method.plan.look_cost import A_PAIR_COMPARED, looks
from corml.method.plan.pair_count import PairCount, count_pairs_of
from corml.method.plan.plan import (
    MAX_PAIRS,
    MAX_PER_ITEM,
    Plan,
    allowed_bytes,
    pairs_at_the_end,
    rank_for,
    ridge_for,
)
from corml.method.plan.seconds import sparse_seconds
from corml.method.problem import UserWeights
from corml.parallel import threads
from corml.tasks import BESIDE

__all__ = ["Counted", "counted", "driver_bytes", "make_plan", "plan_for", "refuse_unknown"]

A_PAIR_FOUND, A_PAIR_SOLVED = 48, 56  # bytes of this process for each pair, both ways
A_USER, AN_ITEM = 64, 128  # bytes for numbers of users and items
ALWAYS = 1 << 27  # bytes of threads, compiled code and blocks of vectors


def refuse_unknown(settings: Settings) -> None:
    """Refuse what only a fit in memory can do."""
    instead = "load it into memory first: fit(store.interactions())."
    if settings.filter != "factored":
        raise SettingError(f"A fit on a store has filter=factored only; for {settings.filter} {instead}")
    dense = settings.solver == "admm" or settings.rho is not None or settings.partition_ratio < 1
    if dense or settings.precision == "double":
        raise SettingError(f"A fit on a store has the sparse solver only, in single precision; for another {instead}")


@dataclass(frozen=True)
class Counted:
    """Pairs that there will be: the candidates, how many co-occur in all, and candidates of an item, None for all."""

    count: PairCount
    every: int
    candidates: int | None


def make_plan(files: Files, settings: Settings) -> Plan:
    """Solver, rank, ridge and candidates of a fit on files."""
    known = Known.of_files(files)
    return plan_for(known, counted(known, settings), settings)


def counted(known: Known, settings: Settings) -> Counted:
    """Predict the pairs of a fit."""
    refuse_unknown(settings)
    degrees = np.maximum(known.user_degrees.astype(np.float64), 1.0)
    users = UserWeights.of_degrees(degrees, user_balance=settings.user_balance, user_norm=0.0)
    rows, d = known.rows(users.loss), np.maximum(known.item_degrees.astype(np.float64), 1.0)
    count = count_pairs_of(rows, d)
    every, candidates = count.pairs, settings.candidates
    if candidates is None and every > MAX_PAIRS:
        candidates = MAX_PER_ITEM
    if candidates is not None:
        count = count_pairs_of(rows, d, candidates)
    return Counted(count, every, candidates)


def plan_for(known: Known, found: Counted, settings: Settings) -> Plan:
    """The plan of a fit with so many pairs; refuses one that is too large."""
    refuse_unknown(settings)
    size, count, every, candidates = known.size, found.count, found.every, found.candidates
    max_pairs = pairs_at_the_end(count.pairs, every, candidates, every, settings.pair_tol)
    rank = int(min(settings.rank or rank_for(size.shape, size.nnz), *size.shape))
    learn_rank = int(min(settings.learn_rank or rank, *size.shape))
    seconds = sparse_seconds(
        size, max(rank, learn_rank), count, every, keep_gram=False, excluding=candidates is not None, clip=False
    ).with_threads()
    plan = Plan(
        solver="sparse",
        rank=rank,
        ridge=ridge_for(size.nnz, known.item_degrees) if settings.ridge is None else float(settings.ridge),
        learn_rank=learn_rank,
        filter_power=settings.filter_power or 0.0,
        filter_weight=1.0 if settings.filter_weight is None else settings.filter_weight,
        candidates=candidates,
        pairs=count.pairs,
        max_pairs=max_pairs,
        predicted_bytes=driver_bytes(size.shape, max_pairs, max(rank, learn_rank), look=looks(settings)),
        predicted_seconds=2 * seconds if looks(settings) else seconds,
    )
    return _refused_if_too_large(plan, settings)


def driver_bytes(shape: tuple[int, int], pairs: int, rank: int, *, look: bool) -> int:
    """Anonymous memory of the process that leads the work; mapped files do not count."""
    users, items = shape
    basis = lanczos.basis_size(rank)
    multiplying = 4 * items * lanczos.BLOCK * SHARES
    spectral = 16 * items * items if is_small_shape(shape, rank) else 4 * items * (2 * basis + rank) + multiplying
    beside = 4 * (min(threads(), BESIDE) - 1)  # bytes of what other threads make of a pair, where work is through users
    solving = max(A_PAIR_FOUND, A_PAIR_SOLVED + beside, A_PAIR_COMPARED * look) * pairs + 16 * items * rank
    return ALWAYS + A_USER * users + AN_ITEM * items + max(spectral, solving)


def _refused_if_too_large(plan: Plan, settings: Settings) -> Plan:
    if plan.predicted_bytes <= allowed_bytes(settings):
        return plan
    instead = "set candidates to fewer pairs an item, lower rank, or add memory."
    limit = None if settings.max_memory is None else memory.read_size(settings.max_memory)
    needed = plan.predicted_bytes + (memory.resident() if limit else 0)
    memory.require(needed, what=f"Leading a fit with {plan.pairs // 2:,} pairs", instead=instead, limit=limit)
    return plan
