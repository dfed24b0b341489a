"""Pricing: how far co-occurring pairs that are no variables of the problem violate its KKT conditions.

An excluded pair has weight zero, which is optimal unless its gradient (MH + HM − B − Bᵀ)_ij, its reduced cost, is
negative. All of them are priced, item by item, and only the worst violations are kept: memory does not grow with their
number. For a clipped filter, whose part of B cannot be had pair by pair, that part is omitted; it only makes gradients
larger, so what is reported is then an upper bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import inner, njit
from corml.linalg.sparse import Sides, unsigned
from corml.models.corml.problem import UserWeights, Weights
from corml.models.corml.sparse.pairs import Factors
from corml.models.fitted import ExcludedPairs

HEAD = 7  # coordinates that are multiplied before the rest is bounded
ROUNDED_UP = 1.0001  # a bound in single precision
IN_FULL = 256  # items, about, that are priced in full, to estimate how many pairs violate; others for the worst only

Vector = NDArray[np.float64]
Values = NDArray[np.float32]
Items = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Limits:
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


class Numbers(NamedTuple):
    """A number for each item, p and the diagonal of M, and for each user, Ω and ΩΦ."""

    p: Values
    loss: Values
    both: Values
    curvature: Values

    @classmethod
    def of(cls, p: Vector, users: UserWeights, curvature: Vector) -> Self:
        """In single precision."""
        return cls(*(x.astype(np.float32) for x in (p, users.loss, users.both, curvature)))


class PricedFactors(NamedTuple):
    """Both factors of the cross term side by side, its diagonal, and a line of the cache for each item.

    `heads` has the first coordinates of both factors and the norms of the rest: by Cauchy–Schwarz a product of two rows
    is at least that of their first coordinates less the product of the norms.
    """

    left_right: Values
    own: Values
    heads: Values

    @classmethod
    def of(cls, factors: Factors) -> Self:
        """Prepare the factors."""
        head = min(HEAD, factors.left.shape[1])
        heads = np.zeros((len(factors.left), 2 * HEAD + 2), dtype=np.float32)
        heads[:, :head], heads[:, HEAD : HEAD + head] = factors.left[:, :head], factors.right[:, :head]
        for column, factor in enumerate((factors.left, factors.right)):
            rest = factor[:, head:]
            heads[:, 2 * HEAD + column] = ROUNDED_UP * np.sqrt(np.einsum("ij,ij->i", rest, rest))  # no copy of it
        return cls(np.hstack([factors.left, factors.right]), factors.own, heads)


class Priced(NamedTuple):
    """Some items: of each its excluded pairs, those that violate and the worst violation; and the pairs to add."""

    start: int
    sums: NDArray[np.float64]
    first: Items
    second: Items
    violation: Values


@dataclass(frozen=True)
class Prices:
    """Prices every co-occurring pair that H has no entry for (H keeps explicit zeros for candidates)."""

    sides: Sides
    H: csr_array
    numbers: Numbers
    factors: PricedFactors
    constants: Sequence[float]
    alike: bool  # whether Φ is one for all users
    per_item: int

    @staticmethod
    def constants_of(weights: Weights, limits: Limits) -> list[float]:
        """The factors of RᵀΩR, of A H and of the cross term in a gradient, and the least violation that is added."""
        return [1 / weights.mix, weights.scale, weights.cross_factor, limits.threshold]

    def rows(self, start: int, stop: int) -> Priced:
        """Price the pairs of items from `start` to `stop` with later items, by one thread."""
        sums, size = np.zeros((stop - start, 3)), (stop - start, self.per_item)
        partners, violations = np.full(size, -1, np.int32), np.zeros(size, np.float32)
        entries = self.H.indptr, unsigned(self.H.indices), self.H.data
        every, constants = _every(len(self.sides.items)), np.asarray(self.constants, dtype=np.float32)
        given = *self.sides.arrays, entries, tuple(self.numbers), tuple(self.factors), constants
        _price(*given, (sums, partners, violations), (every, self.alike), start, stop)
        item, slot = np.nonzero(partners >= 0)
        return Priced(start, sums, (item + start).astype(np.int32), partners[item, slot], violations[item, slot])


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
    if len(violation) > total:
        weak = len(violation) - total
        worst = np.sort(np.argpartition(violation, weak)[weak:]) if total else np.arange(0)
        first, second = first[worst], second[worst]
    return Violations(excluded=excluded, first=first, second=second)


def _every(items: int) -> int:
    """Of so many items one is priced in full."""
    return max(1, items // IN_FULL)


# --- the kernel ------------------------------------------------------------------------------------------------------

FAST = {"contract", "reassoc", "nsz"}


@njit(cache=True, nogil=True, fastmath=FAST)
def _price(by_user, by_item, data, i_data, H, numbers, factors, constants, found, how, start, stop) -> Any:  # type: ignore[no-untyped-def]
    """For each item j: add up its row of the Gram matrix, price the pairs with later items that H has not, clear up."""
    (p, _, both, curvature), (left_right, own, heads) = numbers, factors
    (sums, partners, violations), (every, alike), (h_ptr, h_cols, h) = found, how, H
    n, rank = len(p), left_right.shape[1] // 2
    gram, weighted, mark = np.zeros(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.int8)
    order, through, right_left = np.empty(n, np.uint32), np.zeros(len(both), np.float32), np.empty(2 * rank, np.float32)
    worst = np.float32(0)
    for j in range(start, stop):
        size = _add_row(by_user, by_item, data, i_data, numbers, alike, gram, weighted, order, j)
        for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
            mark[h_cols[entry]] = 1
        ready = False  # whether `through` is ΩΦ P H_j: most items never need it
        right_left[:rank] = left_right[j, rank:]
        right_left[rank:] = left_right[j, :rank]
        in_full, least = j % every == 0, constants[3]
        for step in range(size):
            i = order[step]
            if mark[i] == 1 or i <= j:
                continue
            sums[j - start, 0] += 1
            scaling = np.sqrt(curvature[i] + curvature[j])
            limit = min(worst, least) * scaling  # a violation up to it is neither the worst nor kept
            diagonal = weighted[i] / p[i] * (own[i] + own[j])
            if rank and not in_full:  # often a bound on the cross term is enough to pass over the pair
                cross = _least_product(heads[i], heads[j]) - diagonal
                if p[i] * p[j] * (constants[0] * gram[i] - constants[2] * cross) <= limit:
                    continue
            cross, mine = np.float32(0), left_right[i]
            for k in range(2 * rank):
                cross += mine[k] * right_left[k]
            if rank:
                cross -= diagonal
            linear = p[i] * p[j] * (constants[0] * gram[i] - constants[2] * cross)
            # H and A are not negative: the violation is at most linear / scaling, less with each part of MH + HM.
            if not in_full and linear <= limit:
                continue
            to_i = np.float32(0)
            for entry in range(np.uint64(h_ptr[i]), np.uint64(h_ptr[i + 1])):
                to_i += h[entry] * weighted[h_cols[entry]]
            if not in_full and linear - constants[1] * p[j] * to_i <= limit:
                continue
            if not ready:
                _through_users(by_item, i_data, H, p, both, through, j)
                ready = True
            to_j = _read_users(by_item, i_data, through, i)
            gradient = constants[1] * (p[i] * to_j + p[j] * to_i) - linear
            if gradient < 0:
                violation = -gradient / scaling
                worst = max(worst, violation)
                sums[j - start, 1] += 1
                sums[j - start, 2] = max(sums[j - start, 2], violation)
                if violation > least:
                    least = max(least, _keep(partners[j - start], violations[j - start], i, violation))
        _clear(by_item, H, ready, gram, weighted, mark, through, order[:size], j)


@inner(fastmath=FAST)
def _add_row(by_user, by_item, data, i_data, numbers, alike, gram, weighted, order, j):  # type: ignore[no-untyped-def]
    """Gram = (RᵀΩR)_j· and weighted = (RᵀΩΦR D^{-t})_j·; gives how many entries there are, named by `order`."""
    (ptr, cols), (i_ptr, users), (p, loss, both, _) = by_user, by_item, numbers
    size = 0
    for at in range(np.uint64(i_ptr[j]), np.uint64(i_ptr[j + 1])):
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
                shared = i_data[at] * data[entry]
                gram[i] += counts * shared
                if not alike:
                    weighted[i] += ranks * shared
    for step in range(size):
        i = order[step]
        weighted[i] = p[i] * (gram[i] if alike else weighted[i])
    return size


@inner(fastmath=FAST)
def _least_product(mine, other):  # type: ignore[no-untyped-def]
    """What left_i·right_j + right_i·left_j cannot be less than."""
    least = np.float32(0)
    for k in range(HEAD):
        least += mine[k] * other[HEAD + k] + mine[HEAD + k] * other[k]
    return least - (mine[2 * HEAD] * other[2 * HEAD + 1] + mine[2 * HEAD + 1] * other[2 * HEAD])


@inner()
def _through_users(by_item, i_data, H, p, both, through, j):  # type: ignore[no-untyped-def]
    """Add ΩΦ P H_j to a value for each user."""
    (i_ptr, users), (h_ptr, h_cols, h) = by_item, H
    for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
        i = h_cols[entry]
        weight = p[i] * h[entry]
        if weight != 0:
            for at in range(np.uint64(i_ptr[i]), np.uint64(i_ptr[i + 1])):
                if i_data is None:
                    through[users[at]] += weight * both[users[at]]
                else:
                    through[users[at]] += weight * both[users[at]] * i_data[at]


@inner(fastmath=FAST)
def _read_users(by_item, i_data, through, i):  # type: ignore[no-untyped-def]
    """The sum of these values over the users of an item."""
    (i_ptr, users), total = by_item, np.float32(0)
    for at in range(np.uint64(i_ptr[i]), np.uint64(i_ptr[i + 1])):
        if i_data is None:
            total += through[users[at]]
        else:
            total += through[users[at]] * i_data[at]
    return total


@inner()
def _clear(by_item, H, ready, gram, weighted, mark, through, order, j):  # type: ignore[no-untyped-def]
    """Undo what item j did to the arrays."""
    (i_ptr, users), (h_ptr, h_cols, h) = by_item, H
    for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
        i = h_cols[entry]
        mark[i] = 0
        if ready and h[entry] != 0:
            for at in range(np.uint64(i_ptr[i]), np.uint64(i_ptr[i + 1])):
                through[users[at]] = 0
    for step in range(len(order)):
        gram[order[step]] = 0
        weighted[order[step]] = 0


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
