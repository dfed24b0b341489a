"""How much work there is in some interactions: counted in a store, or assumed for a shape."""

from dataclasses import dataclass, fields
from typing import Any

from corml.errors import UsageError
from corml.models.corml.cost import PairCount, Size
from corml.models.corml.plan import MAX_PAIRS, MAX_PER_ITEM, suggested_rank
from corml.models.fitted import Settings
from corml.outofcore.fit import files
from corml.outofcore.fit.plan import Pairs

__all__ = ["Counts", "Shape"]

MUTUAL = 1.15  # candidates of an item, with those that others selected, over those it selected; of generated data
PARTNER_SKEW, POPULAR = 1.1, 1.4  # mean square of their number over the square of the mean; weighed by users, over it


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large interactions will be that are not there yet, and how uneven; the defaults are near generated data."""

    users: int
    items: int
    interactions: int
    user_skew: float = 2.0  # mean square of the users' numbers of items over the square of the mean: 1 if all are alike
    distinct: float = 0.5  # co-occurring pairs, over the visits in which they are met: 1 if no two share two users

    def __post_init__(self) -> None:
        for name in ("users", "items", "interactions"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} (--{name}) must be 1 or more; got {getattr(self, name):,}.")
        if self.interactions > self.users * self.items:
            raise UsageError(
                f"{self.users:,} users have at most {self.users * self.items:,} pairs with {self.items:,} items; got "
                f"{self.interactions:,} interactions."
            )
        if not 1 <= self.user_skew <= 1e6:
            raise UsageError(f"user_skew (--user-skew) must be 1 or more; got {self.user_skew:g}.")
        if not 0 < self.distinct <= 1:
            raise UsageError(f"distinct (--distinct) must be above 0, up to 1; got {self.distinct:g}.")


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
    assumed: bool = False  # not counted

    @classmethod
    def of(cls, size: Size, pairs: Pairs, rank: int, settings: Settings, **more: Any) -> "Counts":
        """Of interactions of a size, for whose pairs there is a prediction."""
        (users, items), interactions, visits = size
        count, candidates, every = pairs
        return cls(
            users=users,
            items=items,
            interactions=interactions,
            rank=rank,
            candidates=candidates,
            visits=visits,
            every=float(every),
            selected=float(count.pairs if candidates is None else min(count.pairs, candidates * items)),
            pairs=float(count.pairs),
            gathers=count.work,
            squares=count.squares,
            alike=settings.user_norm == 0,
            **more,
        )

    @classmethod
    def of_shape(cls, shape: Shape, settings: Settings) -> "Counts":
        """Of interactions of which nothing else is known."""
        users, items, interactions = shape.users, shape.items, shape.interactions
        visits = min(shape.user_skew * interactions**2 / users, float(interactions) * items)
        every = min(max(visits - interactions, 0.0) * shape.distinct, float(items) * (items - 1))
        candidates = settings.candidates or (MAX_PER_ITEM if every > MAX_PAIRS else None)
        pairs = every if candidates is None else min(every, MUTUAL * candidates * items)
        count = PairCount(int(pairs), 2 * POPULAR * interactions * pairs / items, PARTNER_SKEW * pairs**2 / items)
        rank = int(min(settings.rank or suggested_rank((users, items), interactions), users, items))
        size, ranges = Size((users, items), interactions, visits), files.count(interactions, files.PAIRS, users)
        return cls.of(size, (count, candidates, int(every)), rank, settings, user_ranges=ranges, assumed=True)

    @property
    def unevenness(self) -> dict[str, float]:
        """The assumptions of a shape that come to these counts."""
        distinct = self.every / max(self.visits - self.interactions, 1.0)
        return {
            "user_skew": max(1.0, self.visits * self.users / self.interactions**2),
            "distinct": min(1.0, max(1e-6, distinct)),
        }

    def report(self) -> dict[str, Any]:
        """Plain facts."""
        return {one.name: getattr(self, one.name) for one in fields(self)}
