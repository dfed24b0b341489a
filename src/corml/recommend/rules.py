"""What a business asks of lists beside relevance: variety, a push for some items, and shares for all.

    boost        what the model's score is multiplied by                             first
    diversity    items that are far from each other, by the model's own distance     then, item by item,
    max_per      at most so many items of a category in a list                       together
    max_share    an item in at most this share of all lists of a request             last

What may be in a list at all (what was seen, `only`, `exclude`) is settled before.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from corml._runtime.values import is_number, nearest
from corml.data.attributes import Attributes
from corml.data.ids import Ids, canonical
from corml.data.requested_ids import rows_or_warn
from corml.errors import UsageError, ascii_line, printable

__all__ = ["ListRules", "boosted", "unboosted"]

LARGEST_BOOST = 1e6

Scores = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class ListRules:
    """What lists must obey; the defaults ask for nothing.

    `boost` has factors by item id, and by attribute and value: `{"318": 1.5, "genre": {"Comedy": 1.2}}`. An item with
    several factors has their product. `max_per` has the largest number of items in a list by attribute.
    """

    diversity: float = 0.0
    boost: Mapping[str, Any] | None = None
    max_per: Mapping[str, int] | None = None
    max_share: float | None = None

    def __post_init__(self) -> None:
        if not is_number(self.diversity) or not 0 <= self.diversity <= 1:
            raise UsageError(
                f"diversity must be a number from 0 (by score alone) to 1 (as far apart as can be); "
                f"got {ascii_line(self.diversity)}."
            )
        if self.max_share is not None and not (is_number(self.max_share) and 0 < self.max_share <= 1):
            raise UsageError(
                "max_share must be a share of the lists above 0, up to 1, such as 0.05; "
                f"got {ascii_line(self.max_share)}."
            )
        _check_mapping(self.max_per, "max_per", "attributes to numbers, such as {'genre': 2}")
        for name, count in (self.max_per or {}).items():
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
                raise UsageError(
                    f"max_per must be a whole number of at least 1 for {ascii_line(name)}; got {ascii_line(count)}."
                )
        _check_mapping(self.boost, "boost", "items to factors, such as {'318': 1.2}, or attributes to such")
        for name, factor in (self.boost or {}).items():
            within = factor if isinstance(factor, Mapping) else {name: factor}
            for what, number in within.items():
                _check_factor(what, number)

    @property
    def any(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.diversity > 0 or self.boost or self.max_per or self.max_share is not None)

    @property
    def reranks(self) -> bool:
        """Whether lists are more than the best scores."""
        return bool(self.diversity > 0 or self.max_per or self.max_share is not None)

    def __str__(self) -> str:
        """The rules in words; nothing where there are none."""
        parts = [f"diversity {self.diversity:g}"] if self.diversity > 0 else []
        parts += ["boosted items"] if self.boost else []
        parts += [f"at most {count} per {printable(name)}" for name, count in (self.max_per or {}).items()]
        parts += [f"an item in at most {self.max_share:.4g} of the lists"] if self.max_share is not None else []
        return ", ".join(parts)

    def factors(self, items: Ids, attributes: Attributes) -> Scores | None:
        """What the score of each item is multiplied by; None if nothing is boosted."""
        if not self.boost:
            return None
        factors = np.ones(len(items))
        named = {name: factor for name, factor in self.boost.items() if not isinstance(factor, Mapping)}
        (rows,) = rows_or_warn(items, [list(named)], "boost")
        np.multiply.at(factors, rows[rows >= 0], np.array(list(named.values()), dtype=float)[rows >= 0])
        for name, factor in self.boost.items():
            if name in named:
                continue
            values, pattern = attributes.values(name), attributes.categories(name).tocsc()
            for value, number in factor.items():
                if canonical(value) not in values:
                    where = f"{ascii_line(name)} has no value {ascii_line(value)}"
                    raise UsageError(f"boost: {where}{nearest(canonical(value), values)}")
                at = values.index(canonical(value))
                factors[pattern.indices[pattern.indptr[at] : pattern.indptr[at + 1]]] *= number
        return np.clip(factors, 1 / LARGEST_BOOST, LARGEST_BOOST).astype(np.float32)

    def categories(self, attributes: Attributes) -> tuple[csr_array, NDArray[np.int64]] | None:
        """Items × the values of all limited attributes, and how many items of each value a list may have."""
        if not self.max_per:
            return None
        patterns = [csr_array(attributes.categories(name)) for name in self.max_per]
        caps = np.repeat(list(self.max_per.values()), [pattern.shape[1] for pattern in patterns])
        return csr_array(hstack(patterns, format="csr")), caps.astype(np.int64)

    def quota(self, lists: int) -> int | None:
        """How many of the lists may have an item; None where all may."""
        if self.max_share is None:
            return None
        quota = math.floor(self.max_share * lists + 1e-9)  # 0.29 of 100 lists are 29
        if lists and quota < 1:
            raise UsageError(
                f"max_share {self.max_share:g} of {lists:,} lists is less than one list: ask for more users at a time, "
                "or for a larger share."
            )
        return quota


def boosted(scores: Scores, factors: Scores) -> Scores:
    """Scores above zero are multiplied, scores below zero divided: a factor above 1 never lowers one."""
    return np.asarray(np.where(scores < 0, scores / factors, scores * factors), dtype=np.float32)


def unboosted(scores: Scores, factors: Scores) -> Scores:
    """The scores that were boosted, but for rounding."""
    exact = factors.astype(np.float64)
    return np.asarray(np.where(scores < 0, scores * exact, scores / exact), dtype=np.float32)


def _check_mapping(given: Any, name: str, what: str) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"{name} takes a mapping of {what}; got {ascii_line(given)}.")


def _check_factor(what: object, number: Any) -> None:
    if not is_number(number) or not 1 / LARGEST_BOOST <= number <= LARGEST_BOOST:
        raise UsageError(
            f"boost must be a factor above 0 for {ascii_line(what)}, up to {LARGEST_BOOST:,.0f}; "
            f"got {ascii_line(number)}. To leave an item out, use exclude."
        )
