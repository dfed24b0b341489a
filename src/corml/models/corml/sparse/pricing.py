"""Pricing: how far co-occurring pairs that are not variables of the problem violate its KKT conditions.

An excluded pair has weight zero, which is optimal unless its gradient (MH + HM − B − Bᵀ)_ij, its reduced cost, is
negative. All of them are priced, item by item, and only the worst violations are kept: memory does not grow with their
number. For a clipped filter, whose share of B cannot be computed pair by pair, it is omitted; it only makes gradients
larger, so the reported violation is then an upper bound.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.compiled import inner, njit
from corml.linalg.products import entry_of
from corml.linalg.sparse import Sides, Values, Vector, unsigned
from corml.models.corml.problem import UserWeights, Weights
from corml.models.corml.sparse.pairs import Factors
from corml.models.fitted import ExcludedPairs

HEAD = 7  # coordinates that are multiplied before the rest is bounded
ROUNDED_UP = 1.0001  # a bound in single precision
IN_FULL = 256  # items, about, that are priced in full, to estimate how many pairs violate; others for the worst only

Items = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Which excluded pairs to add: the worst violations above `threshold`, at most these many per item and in total."""

    threshold: float
    per_item: int
    total: int


@dataclass(frozen=True, kw_only=True)
class Violations:
    """The result of pricing, in the solver's scaled variables, and the pairs that were selected."""

    excluded: ExcludedPairs
    first: Items
    second: Items


class Constants(NamedTuple):
    """The factors of RᵀΩR, of A H and of the cross term in a gradient, and the least violation that is added."""

    gram: float
    product: float
    cross: float
    least: float

    @classmethod
    def of(cls, weights: Weights, limits: Limits) -> Self:
        """For problem H with these weights."""
        return cls(1 / weights.mix, weights.scale, weights.cross_factor, limits.threshold)


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
    """Some items: the number of their excluded pairs, of violating ones and the worst violation; and pairs to add."""

    start: int
    sums: Vector
    first: Items
    second: Items
    violation: Values


class Scratch(NamedTuple):
    """Arrays that one thread works in: all zero between items, except `order` and `right_left`."""

    gram: Values  # (RᵀΩR)_j·
    weighted: Values  # (RᵀΩΦR D^{-t})_j·
    mark: NDArray[np.int8]  # 1 where H has an entry
    order: NDArray[np.uint32]  # the items that co-occur with j
    through: Values  # ΩΦ P H_j for each user
    right_left: Values  # the factors of j, in reverse

    @classmethod
    def of(cls, users: int, items: int, width: int) -> Self:
        """For these numbers of users, items, and columns of both factors."""
        gram, weighted, through = (np.zeros(size, np.float32) for size in (items, items, users))
        order, right_left = np.empty(items, np.uint32), np.empty(width, np.float32)
        return cls(gram, weighted, np.zeros(items, np.int8), order, through, right_left)


@dataclass(frozen=True)
class Prices:
    """Prices every co-occurring pair that H has no entry for (H keeps explicit zeros for candidates)."""

    sides: Sides
    H: csr_array
    numbers: Numbers
    factors: PricedFactors
    constants: Constants
    alike: bool  # whether Φ is one for all users
    per_item: int

    def rows(self, start: int, stop: int) -> Priced:
        """Price the pairs of items from `start` to `stop` with later items, by one thread."""
        size = stop - start, self.per_item
        found = np.zeros((stop - start, 3)), np.full(size, -1, np.int32), np.zeros(size, np.float32)
        entries = self.H.indptr, unsigned(self.H.indices), self.H.data
        terms = self.numbers, self.factors, Constants._make(map(np.float32, self.constants))
        scratch = Scratch.of(*self.sides.shape, self.factors.left_right.shape[1])
        _price(self.sides, entries, terms, (_every(len(self.sides.items)), self.alike), scratch, found, (start, stop))
        sums, partners, violations = found
        item, slot = np.nonzero(partners >= 0)
        return Priced(start, sums, (item + start).astype(np.int32), partners[item, slot], violations[item, slot])


def selected(priced: list[Priced], items: int, total: int) -> Violations:
    """The violations of all items, put together from ranges of them; of the pairs to add, the worst `total`."""
    priced = sorted(priced, key=lambda some: some.start)
    sums, first, second, violation = (np.concatenate([some[column] for some in priced]) for column in range(1, 5))
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
    """One of how many items is priced in full."""
    return max(1, items // IN_FULL)


# --- the kernel ------------------------------------------------------------------------------------------------------

FAST = {"contract", "reassoc", "nsz"}


@njit(cache=True, nogil=True, fastmath=FAST)
def _price(sides, H, terms, how, scratch, found, span):  # type: ignore[no-untyped-def]
    """For each item j: add up its row of the Gram matrix, price the pairs with later items that H has not, clear up.

    Tuples are unpacked before the loops: each time one is, the references to all of its arrays are counted.
    """
    (numbers, (left_right, own, heads), constants), (h_ptr, h_cols, h), (every, alike) = terms, H, how
    (p, _, _, curvature), (gram, weighted, mark, order, through, right_left) = numbers, scratch
    (sums, partners, violations), rank, worst = found, left_right.shape[1] // 2, np.float32(0)
    for j in range(span[0], span[1]):
        at = j - span[0]
        size = _add_row(sides, numbers, alike, scratch, j)
        for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
            mark[h_cols[entry]] = 1
        right_left[:rank] = left_right[j, rank:]
        right_left[rank:] = left_right[j, :rank]
        through_is_made = False  # most items never need it
        in_full, least = j % every == 0, constants.least
        for step in range(size):
            i = order[step]
            if mark[i] == 1 or i <= j:
                continue
            sums[at, 0] += 1
            root = np.sqrt(curvature[i] + curvature[j])
            limit = min(worst, least) * root  # a violation up to it is neither the worst nor kept
            diagonal = weighted[i] / p[i] * (own[i] + own[j])
            if rank and not in_full:  # often a bound on the cross term is enough to skip the pair
                cross = _least_product(heads[i], heads[j]) - diagonal
                if p[i] * p[j] * (constants.gram * gram[i] - constants.cross * cross) <= limit:
                    continue
            cross, mine = np.float32(0), left_right[i]
            for k in range(2 * rank):
                cross += mine[k] * right_left[k]
            if rank:
                cross -= diagonal
            linear = p[i] * p[j] * (constants.gram * gram[i] - constants.cross * cross)
            # H and A are not negative: the violation is at most linear / root, less with each term of MH + HM.
            if not in_full and linear <= limit:
                continue
            to_i = np.float32(0)
            for entry in range(np.uint64(h_ptr[i]), np.uint64(h_ptr[i + 1])):
                to_i += h[entry] * weighted[h_cols[entry]]
            if not in_full and linear - constants.product * p[j] * to_i <= limit:
                continue
            if not through_is_made:
                _add_through_users(sides.items, H, numbers, through, j)
                through_is_made = True
            to_j = _read_users(sides.items, through, i)
            gradient = constants.product * (p[i] * to_j + p[j] * to_i) - linear
            if gradient < 0:
                violation = -gradient / root
                worst = max(worst, violation)
                sums[at, 1] += 1
                sums[at, 2] = max(sums[at, 2], violation)
                if violation > least:
                    least = max(least, _keep(partners[at], violations[at], i, violation))
        _clear(sides.items, H, through_is_made, scratch, size, j)


@inner(fastmath=FAST)
def _add_row(sides, numbers, alike, scratch, j):  # type: ignore[no-untyped-def]
    """The row of item j of both Gram matrices; returns how many entries it has, whose columns are in `order`."""
    (ptr, cols, data), (i_ptr, users, i_data) = sides
    gram, weighted, order, size = scratch.gram, scratch.weighted, scratch.order, 0
    for at in range(np.uint64(i_ptr[j]), np.uint64(i_ptr[j + 1])):
        user = users[at]
        counts, ranks = numbers.loss[user], numbers.both[user]
        for entry in range(np.uint64(ptr[user]), np.uint64(ptr[user + 1])):
            i = cols[entry]
            if gram[i] == 0:  # losses and weights are positive: it is new
                order[size] = i
                size += 1
            shared = entry_of(i_data, at) * entry_of(data, entry)
            gram[i] += counts * shared
            if not alike:
                weighted[i] += ranks * shared
    for step in range(size):
        i = order[step]
        weighted[i] = numbers.p[i] * (gram[i] if alike else weighted[i])
    return size


@inner(fastmath=FAST)
def _least_product(mine, other):  # type: ignore[no-untyped-def]
    """A lower bound on left_i·right_j + right_i·left_j."""
    least = np.float32(0)
    for k in range(HEAD):
        least += mine[k] * other[HEAD + k] + mine[HEAD + k] * other[k]
    return least - (mine[2 * HEAD] * other[2 * HEAD + 1] + mine[2 * HEAD + 1] * other[2 * HEAD])


@inner()
def _add_through_users(by_item, H, numbers, through, j):  # type: ignore[no-untyped-def]
    """Add ΩΦ P H_j to a value for each user."""
    (i_ptr, users, i_data), (h_ptr, h_cols, h) = by_item, H
    for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
        i = h_cols[entry]
        weight = numbers.p[i] * h[entry]
        if weight != 0:
            for at in range(np.uint64(i_ptr[i]), np.uint64(i_ptr[i + 1])):
                through[users[at]] += weight * numbers.both[users[at]] * entry_of(i_data, at)


@inner(fastmath=FAST)
def _read_users(by_item, through, i):  # type: ignore[no-untyped-def]
    """The sum of these values over the users of an item."""
    (i_ptr, users, i_data), total = by_item, np.float32(0)
    for at in range(np.uint64(i_ptr[i]), np.uint64(i_ptr[i + 1])):
        total += through[users[at]] * entry_of(i_data, at)
    return total


@inner()
def _clear(by_item, H, through_is_made, scratch, size, j):  # type: ignore[no-untyped-def]
    """Undo what item j did to the arrays."""
    (i_ptr, users, _), (h_ptr, h_cols, h) = by_item, H
    for entry in range(np.uint64(h_ptr[j]), np.uint64(h_ptr[j + 1])):
        i = h_cols[entry]
        scratch.mark[i] = 0
        if through_is_made and h[entry] != 0:
            for at in range(np.uint64(i_ptr[i]), np.uint64(i_ptr[i + 1])):
                scratch.through[users[at]] = 0
    for step in range(size):
        scratch.gram[scratch.order[step]] = 0
        scratch.weighted[scratch.order[step]] = 0


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
