"""What an explanation cites: the items of a history, and of a known user how strong, of which kind and how old each is.

What a user rejected is cited as well, with a strength below zero: its contribution is subtracted from the score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import is_one_id
from corml.data.kinds import Kinds
from corml.data.strength import relative
from corml.recommend.query import history_of, known_user

if TYPE_CHECKING:
    from corml.models.fitted import Fitted

__all__ = ["Cited", "cite"]

DAY = 86_400

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cited:
    """Items with what is known of each; what is not known of any is empty."""

    items: NDArray[np.int64]
    unknown: tuple[str, ...] = ()
    strengths: tuple[float, ...] = ()
    kinds: tuple[str, ...] = ()
    ages: tuple[float | None, ...] = ()  # in days before the latest moment of the data

    def multiplied(self, parts: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """Contributions of items that count as one, as they are where these strengths are scored."""
        if not self.strengths:
            return parts
        strengths = relative(np.array(self.strengths), max(self.strengths))
        return {name: values * strengths for name, values in parts.items()}


def cite(state: "Fitted", history: Any, *, weighted: bool) -> Cited:
    """The items of a list of ids, or of a known user; what that user rejected for a model that scores it."""
    now = state.histories
    items, unknown = history_of(state.items, now, history)
    if not is_one_id(history):
        return Cited(items, unknown)
    row = known_user(now, history)
    pairs = now.pairs
    here = slice(pairs.pattern.indptr[row], pairs.pattern.indptr[row + 1])
    strengths = np.ones(len(items)) if pairs.weights is None else pairs.weights[here].astype(np.float64)
    kinds, times = _words(pairs.kinds, here, len(items)), _times(pairs.times, here, len(items))
    no, refused = now.negative if weighted else None, np.zeros(0, dtype=np.int64)
    if no is not None and len(items):  # a user with negative feedback alone gets popular items
        disliked = no.weighted
        there = slice(disliked.indptr[row], disliked.indptr[row + 1])
        refused = disliked.indices[there].astype(np.int64)
        items = np.concatenate([items, refused])
        strengths = np.concatenate([strengths, -disliked.data[there].astype(np.float64)])
        kinds += _words(no.kinds, there, len(refused))
        times = np.concatenate([times, _times(no.times, there, len(refused))])
    alike = not len(refused) and (pairs.weights is None or bool((pairs.weights[here] == 1).all()))
    ages = _ages(times, now.latest)
    return Cited(
        items,
        strengths=() if alike else tuple(strengths.tolist()),
        kinds=tuple(kinds) if any(kinds) else (),
        ages=ages if any(age is not None for age in ages) else (),
    )


def _words(kinds: Kinds | None, here: slice, count: int) -> list[str]:
    return [""] * count if kinds is None else kinds.where(here).words()


def _times(times: Floats | None, here: slice, count: int) -> Floats:
    return np.full(count, np.nan) if times is None else times[here]


def _ages(times: Floats, latest: float | None) -> tuple[float | None, ...]:
    """Days before the latest moment; None where a time is not known."""
    if latest is None:
        return ()
    ages = (latest - times) / DAY
    return tuple(None if np.isnan(age) else float(age) for age in ages)
