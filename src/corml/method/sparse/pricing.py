"""Pricing: how far co-occurring pairs that are no variables of the problem violate its KKT conditions.

An excluded pair has weight zero, which is optimal unless its gradient (MH + HM − B − Bᵀ)_ij, its reduced cost, is
negative. All of them are priced, item by item, and only the worst violations are kept: memory does not grow with their
number. For a clipped filter, whose part of B cannot be had pair by pair, that part is omitted; it only makes gradients
larger, so what is reported is then an upper bound.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.compiled import njit
from corml.fitted import ExcludedPairs
from corml.linalg.sides import Sides
from corml.linalg.support import unsigned
from corml.method.problem import UserWeights, Weights
from corml.method.sparse.cross_term import Factors
from corml.parallel import over_rows

__all__ = ["Priced", "Prices", "Selection", "Violations", "heads_of", "price", "selected"]

HEAD = 7  # coordinates that are multiplied before the rest is bounded
ROUNDED_UP = 1.0001  # a bound in single precision
IN_FULL = 256  # items, about, that are priced in full, to estimate how many pairs violate; others for the worst only

Vector = NDArray[np.float64]
Items = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which excluded pairs to add: the worst violations above `threshold`, so many for each item and in all."""

    threshold: float
    per_item: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Violations:
    """What pricing found, in the solver's scaled variables, and the pairs that were selected."""

    excluded: ExcludedPairs
    first: Items
    second: Items


def price(
    R: csr_array, H: csr_array, *, p: Vector, users: UserWeights, curvature: Vector, factors: Factors,
    weights: Weights, selection: Selection,
) -> Violations:  # fmt: skip
    """Price every co-occurring pair that H has no entry for (H keeps explicit zeros for candidates)."""
    prices = Prices.of(Sides.of(R), H, p, users, curvature, factors, weights, selection)
    parts: list[Priced] = []
    over_rows(lambda a, b: parts.append(prices.rows(a, b)), R.shape[1])
    return selected(parts, R.shape[1], selection.total)


@dataclass(frozen=True)
class Prices:
    """What pricing reads, as its kernel takes it."""

    sides: Sides
    H: csr_array
    numbers: tuple[NDArray[np.float32], ...]  # p, Ω, ΩΦ and the curvature
    alike: bool
    factors: tuple[NDArray[np.float32], ...]
    constants: NDArray[np.float32]
    per_item: int

    @classmethod
    def of(
        cls, sides: Sides, H: csr_array, p: Vector, users: UserWeights, curvature: Vector, factors: Factors,
        weights: Weights, selection: Selection,
    ) -> "Prices":  # fmt: skip
        """Numbers in single precision."""
        numbers = tuple(x.astype(np.float32) for x in (p, users.loss, users.both, curvature))
        constants = [1 / weights.mix, weights.scale, weights.cross_factor, selection.threshold]
        parts = np.hstack([factors.left, factors.right]), factors.own, heads_of(factors)
        return cls(
            sides, H, numbers, users.ranks_alike, parts, np.array(constants, dtype=np.float32), selection.per_item
        )

    def rows(self, start: int, stop: int) -> "Priced":
        """Price the pairs of items from `start` to `stop` with later items, by one thread."""
        (ptr, cols, data), (u_ptr, of_items, u_data) = self.sides
        sums, size = np.zeros((stop - start, 3)), (stop - start, self.per_item)
        partners, violations = np.full(size, -1, np.int32), np.zeros(size, np.float32)
        entries = self.H.indptr, unsigned(self.H.indices), self.H.data
        how = _every(len(self.sides.items)), self.alike
        given = (ptr, cols), (u_ptr, of_items), data, u_data, entries, self.numbers, self.factors, self.constants
        _price(*given, sums, (partners, violations), how, start, stop)
        item, slot = np.nonzero(partners >= 0)
        return Priced(start, sums, (item + start).astype(np.int32), partners[item, slot], violations[item, slot])


class Priced(NamedTuple):
    """Some items: of each its excluded pairs, those that violate and the worst violation; and the pairs to add."""

    start: int
    sums: NDArray[np.float64]
    first: Items
    second: Items
    violation: NDArray[np.float32]


def selected(parts: list[Priced], items: int, total: int) -> Violations:
    """What pricing found, from what it found of all items; of the pairs to add, the worst `total`."""
    parts = sorted(parts, key=lambda part: part.start)
    sums, first, second, violation = (np.concatenate([part[column] for part in parts]) for column in range(1, 5))
    pairs, (sampled, violating, _) = sums[:, 0].sum(), sums[:: _every(items)].sum(axis=0)
    excluded = ExcludedPairs(
        pairs=int(pairs),
        violating=int(pairs / max(sampled, 1) * violating),
        worst=float(sums[:, 2].max(initial=0.0)),
    )
    worst = _largest(violation, total)
    return Violations(excluded=excluded, first=first[worst], second=second[worst])


def _every(items: int) -> int:
    """Of so many items one is priced in full."""
    return max(1, items // IN_FULL)


def heads_of(factors: Factors) -> NDArray[np.float32]:
    """The first coordinates of both factors of each item and the norms of the rest: one line of the cache.

    By Cauchy–Schwarz a product of two rows is at least that of their first coordinates less the product of the norms.
    """
    head = min(HEAD, factors.left.shape[1])
    heads = np.zeros((len(factors.left), 2 * HEAD + 2), dtype=np.float32)
    heads[:, :head], heads[:, HEAD : HEAD + head] = factors.left[:, :head], factors.right[:, :head]
    for column, factor in enumerate((factors.left, factors.right)):
        rest = factor[:, head:]
        heads[:, 2 * HEAD + column] = ROUNDED_UP * np.sqrt(np.einsum("ij,ij->i", rest, rest))  # no copy of the factor
    return heads


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Positions of the largest values, in ascending order."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.sort(np.argpartition(values, len(values) - count)[len(values) - count :]) if count else np.arange(0)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _price(by_rows, by_columns, data, u_data, entries, numbers, factors, constants, sums, found, how, start, stop):  # type: ignore[no-untyped-def]
    (ptr, cols), (u_ptr, users), (h_ptr, h_cols, h) = by_rows, by_columns, entries
    (p, loss, both, curvature), (left_right, own, heads) = numbers, factors
    (partners, violations), (every, alike) = found, how
    n, rank = len(p), left_right.shape[1] // 2
    gram, weighted, mark = np.zeros(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.int8)
    by_user, order, right_left = np.zeros(len(loss), np.float32), np.empty(n, np.uint32), np.empty(2 * rank, np.float32)
    worst = np.float32(0)
    for j in range(start, stop):
        size, in_full, least = 0, j % every == 0, constants[3]
        # gram = (RᵀΩR)_j·, weighted = (RᵀΩΦR D^{-t})_j·
        for at in range(np.uint64(u_ptr[j]), np.uint64(u_ptr[j + 1])):
            user = users[at]
            counts, ranks = loss[user], both[user]
            for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
                i = cols[entry]
                if gram[i] == 0:  # losses and weights are positive: it is new
                    order[size] = i
                    size += 1
                if data is None:
                    gram[i] += counts
                    if not alike:
                        weighted[i] += ranks
                else:
                    shared = u_data[at] * data[entry]
                    gram[i] += counts * shared
                    if not alike:
                        weighted[i] += ranks * shared
        for step in range(size):
            i = order[step]
            weighted[i] = p[i] * (gram[i] if alike else weighted[i])
        for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
            mark[h_cols[entry]] = 1
        ready = False  # whether by_user is ΩΦ P H_j: most items never need it
        right_left[:rank] = left_right[j, rank:]
        right_left[rank:] = left_right[j, :rank]
        for step in range(size):
            i = order[step]
            if mark[i] == 1 or i <= j:
                continue
            sums[j - start, 0] += 1
            to_j, to_i, cross = np.float32(0), np.float32(0), np.float32(0)
            scaling = np.sqrt(curvature[i] + curvature[j])
            limit = min(worst, least) * scaling
            if rank and not in_full:  # often a bound on the cross term is enough to pass over the pair
                for k in range(HEAD):
                    cross += heads[i, k] * heads[j, HEAD + k] + heads[i, HEAD + k] * heads[j, k]
                cross -= heads[i, 2 * HEAD] * heads[j, 2 * HEAD + 1] + heads[i, 2 * HEAD + 1] * heads[j, 2 * HEAD]
                cross -= weighted[i] / p[i] * (own[i] + own[j])
                if p[i] * p[j] * (constants[0] * gram[i] - constants[2] * cross) <= limit:
                    continue
                cross = np.float32(0)
            mine = left_right[i]
            for k in range(2 * rank):
                cross += mine[k] * right_left[k]
            if rank:
                cross -= weighted[i] / p[i] * (own[i] + own[j])
            linear = p[i] * p[j] * (constants[0] * gram[i] - constants[2] * cross)
            # H and A are not negative: the violation is at most linear / scaling, less with each part of MH + HM.
            if not in_full and linear <= limit:
                continue
            for entry in range(np.uint64(h_ptr[i]), np.uint64(h_ptr[i + 1])):
                to_i += h[entry] * weighted[h_cols[entry]]
            if not in_full and linear - constants[1] * p[j] * to_i <= limit:
                continue
            if not ready:
                _through_users(by_columns, u_data, entries, p, both, by_user, j)
                ready = True
            for at in range(np.uint64(u_ptr[i]), np.uint64(u_ptr[i + 1])):
                if u_data is None:
                    to_j += by_user[users[at]]
                else:
                    to_j += by_user[users[at]] * u_data[at]
            gradient = constants[1] * (p[i] * to_j + p[j] * to_i) - linear
            if gradient < 0:
                violation = -gradient / scaling
                worst = max(worst, violation)
                sums[j - start, 1] += 1
                sums[j - start, 2] = max(sums[j - start, 2], violation)
                if violation > least:
                    least = max(least, _keep(partners[j - start], violations[j - start], i, violation))
        for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
            i = h_cols[entry]
            mark[i] = 0
            if ready and h[entry] != 0:
                for at in range(np.uint64(u_ptr[i]), np.uint64(u_ptr[i + 1])):
                    by_user[users[at]] = 0
        for step in range(size):
            gram[order[step]] = 0
            weighted[order[step]] = 0


@njit(cache=True, nogil=True)
def _through_users(by_columns, u_data, entries, p, both, by_user, j):  # type: ignore[no-untyped-def]
    """Add ΩΦ P H_j to a value for each user."""
    (u_ptr, users), (h_ptr, h_cols, h) = by_columns, entries
    for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
        i = h_cols[entry]
        weight = p[i] * h[entry]
        if weight != 0:
            for at in range(np.uint64(u_ptr[i]), np.uint64(u_ptr[i + 1])):
                if u_data is None:
                    by_user[users[at]] += weight * both[users[at]]
                else:
                    by_user[users[at]] += weight * both[users[at]] * u_data[at]


@njit(cache=True, nogil=True)
def _keep(partners, violations, item, violation):  # type: ignore[no-untyped-def]
    """Replace the smallest violation kept, if this one is larger; returns what another one must be above."""
    if len(violations) == 0:
        return violation
    smallest = 0
    for slot in range(len(violations)):
        if violations[slot] < violations[smallest]:
            smallest = slot
        if violations[smallest] == 0:
            break
    if violation > violations[smallest]:
        violations[smallest] = violation
        partners[smallest] = item
    return violations.min() if violations[-1] > 0 else np.float32(0)
