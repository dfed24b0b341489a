"""How much work there is in some interactions: counted in a store, or assumed of a shape."""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.errors import UsageError
from corml.fitted import Settings
from corml.method.out_of_core import cuts
from corml.method.out_of_core.known import Known
from corml.method.out_of_core.plan import Counted
from corml.method.plan.plan import MAX_PAIRS, MAX_PER_ITEM, Plan, rank_for

__all__ = ["Assumptions", "Counts"]

MOST_POWER, STEPS = 6.0, 30  # of a bisection


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the numbers of users, items and interactions do not tell: defaults are those of generated data.

    `benchmarks/plan.py` has them for three sizes. 1 stands for all alike, but for `distinct` and `mutual`.
    """

    user_skew: float = 2.0  # mean square of the users' numbers of items, over the square of the mean
    distinct: float = 0.5  # co-occurring pairs, over the visits in which they are met: 1 if all share one user
    mutual: float = 1.15  # candidates of an item, those that others selected too, over those it selected
    partner_skew: float = 1.1  # mean square of the items' numbers of candidates, over the square of the mean
    popular: float = 1.4  # candidates of an item weighed by its users, over the mean

    def __post_init__(self) -> None:
        lowest = {"user_skew": 1.0, "distinct": 0.0, "mutual": 1.0, "partner_skew": 1.0, "popular": 0.0}
        for name, value in asdict(self).items():
            if not (lowest[name] <= value <= 1e6) or (name == "distinct" and not 0 < value <= 1):
                range_ = "above 0, up to 1" if name == "distinct" else f"{lowest[name]:g} or more"
                raise UsageError(f"{name} (--{name.replace('_', '-')}) must be {range_}; got {value:g}.")


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Users, items and interactions, and the work that follows from them; pairs are counted both ways."""

    users: int
    items: int
    interactions: int
    rank: int
    candidates: int | None  # of an item; None: all co-occurring pairs
    visits: float  # items of users of items: Σ d_u²
    every: float  # co-occurring pairs
    selected: float  # candidates, before those that others selected
    pairs: float  # candidates
    gathers: float  # of a product through users: 2 Σ d_i · candidates of i
    squares: float  # of a product by rows: Σ (candidates of i)²
    user_ranges: int  # tasks of a product with NᵀN
    weighted: bool = False
    timed: bool = False
    alike: bool = True  # whether Φ is one for all users
    assumed: Assumptions | None = None  # None: counted

    @property
    def matrix_bytes(self) -> float:
        """Both sides of the matrix in files."""
        start = 4 if self.interactions < 2**31 else 8
        pair = 8 + 12 * self.weighted + 8 * self.timed
        return float(pair) * self.interactions + start * (self.users + self.items + 2)

    @classmethod
    def of_known(
        cls, known: Known, found: Counted, plan: Plan, settings: Settings, *, weighted: bool, timed: bool
    ) -> "Counts":
        """Of interactions whose degrees are known, and whose pairs were predicted from a sample."""
        users, items = known.size.shape
        most = float("inf") if found.candidates is None else float(found.candidates) * items
        selected = min(float(found.count.pairs), most)
        squares = _squares(known.item_degrees, selected, found.count.pairs, found.count.work)
        return cls(
            users=users,
            items=items,
            interactions=known.size.nnz,
            rank=max(plan.rank, plan.learn_rank or 0),
            candidates=found.candidates,
            visits=known.size.visits,
            every=float(found.every),
            selected=selected,
            pairs=float(found.count.pairs),
            gathers=found.count.work,
            squares=max(squares, found.count.squares),
            user_ranges=len(cuts.ranges(known.user_degrees, cuts.PAIRS)),
            weighted=weighted,
            timed=timed,
            alike=settings.user_norm == 0,
        )

    @classmethod
    def of_shape(cls, users: int, items: int, interactions: int, assumed: Assumptions, settings: Settings) -> "Counts":
        """Of interactions of which nothing else is known."""
        _check_shape(users, items, interactions)
        mean = interactions / users
        visits = min(assumed.user_skew * mean * interactions, float(interactions) * items)
        every = min(max(visits - interactions, 0.0) * assumed.distinct, float(items) * (items - 1))
        candidates = settings.candidates or (MAX_PER_ITEM if every > MAX_PAIRS else None)
        selected = every if candidates is None else min(every, float(candidates) * items)
        pairs = min(every, assumed.mutual * selected) if candidates else every
        partners = pairs / items
        return cls(
            users=users,
            items=items,
            interactions=interactions,
            rank=int(min(settings.rank or rank_for((users, items), interactions), users, items)),
            candidates=candidates,
            visits=visits,
            every=every,
            selected=selected,
            pairs=pairs,
            gathers=2 * assumed.popular * interactions * partners,
            squares=assumed.partner_skew * items * partners**2,
            user_ranges=cuts.count(interactions, cuts.PAIRS, users),
            alike=settings.user_norm == 0,
            assumed=assumed,
        )

    def skews(self) -> Assumptions:
        """What would have to be assumed to come to these counts."""
        partners = max(self.pairs / self.items, 1e-9)
        return Assumptions(
            user_skew=max(1.0, self.visits * self.users / self.interactions**2),
            distinct=min(1.0, max(1e-6, self.every / max(self.visits - self.interactions, 1.0))),
            mutual=max(1.0, self.pairs / max(self.selected, 1.0)),
            partner_skew=max(1.0, self.squares / self.items / partners**2),
            popular=self.gathers / (2 * self.interactions * partners),
        )

    def report(self) -> dict[str, Any]:
        """Plain facts."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "assumed"}


def _squares(degrees: NDArray[np.int64], selected: float, pairs: float, work: float) -> float:
    """Σ (candidates of i)², where an item has those it selected and those that selected it: mostly popular ones.

    How many select an item is taken as a power of its degree, the one that gives the predicted work.
    """
    d = np.maximum(degrees.astype(np.float64), 1.0)
    own, others = selected / len(d), pairs - selected
    if others <= 0:
        return float(len(d) * own**2)
    mean = (work / 2 - own * d.sum()) / others  # degree of those that others select
    low, high = 0.0, MOST_POWER
    for _ in range(STEPS):
        middle = (low + high) / 2
        share = _share(d, middle)
        low, high = (middle, high) if share @ d < mean else (low, middle)
    partners = own + np.minimum(others * _share(d, (low + high) / 2), len(d))
    return float(partners @ partners)


def _share(d: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    raised = (d / d.max()) ** power
    return np.asarray(raised / raised.sum())


def _check_shape(users: int, items: int, interactions: int) -> None:
    for name, value in (("users", users), ("items", items), ("interactions", interactions)):
        if value < 1:
            raise UsageError(f"{name} (--{name}) must be 1 or more; got {value:,}.")
    if interactions > users * items:
        raise UsageError(
            f"{users:,} users have at most {users * items:,} pairs with {items:,} items; got {interactions:,} "
            "interactions."
        )
