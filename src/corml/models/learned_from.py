"""What a model learns from: its data without parts of very long histories, and without the weight of outliers.

Both count as they are when histories are scored, and when known items are kept out of lists.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from corml.data.interactions import Interactions
from corml.data.long_histories import shortened
from corml.data.strength import Cap, capped
from corml.errors import WeightsWarning, warn

if TYPE_CHECKING:
    from corml.models.fitted import Plan

__all__ = ["cap_of", "counted", "learned_from", "planned", "told"]

AN_INTERACTION = 48  # bytes, while all of them are put in order for the fingerprint that every fit takes

P = TypeVar("P", bound="Plan")


def learned_from(train: Interactions, longest: int | None) -> Interactions:
    """The interactions to learn from; the same object where no history is longer and no weight is an outlier."""
    weights = capped(train.weights)
    return shortened(train if weights is train.weights else replace(train, weights=weights), longest)


def cap_of(train: Interactions) -> Cap | None:
    """The cap on the weights of a fit, with a warning where there is one."""
    cap = Cap.of(train.weights)
    if cap is not None:
        warn(str(cap))
    return cap


def counted(train: Interactions, name: str) -> Interactions:
    """What a model learns from that only counts; a warning says what it leaves out."""
    if train.weights is not None:
        warn(f"{name} cannot learn from weights: every interaction counts alike.", WeightsWarning)
    if train.negative is not None:
        words = f"{name} cannot push down what is like a disliked item: it only leaves out the item itself."
        warn(words, WeightsWarning)
    others = None if train.others is None else replace(train.others, weights=None)
    return replace(train, weights=None, others=others)


def planned(train: Interactions, longest: int | None, make: Callable[[Interactions], P]) -> P:
    """The plan of a fit on what is learned from; whatever a model does, all interactions are put in order first."""
    part = learned_from(train, longest)
    plan = make(part)
    plan = replace(plan, predicted_bytes=max(plan.predicted_bytes, AN_INTERACTION * len(train)))
    return told(plan, train.user_degrees - part.user_degrees, Cap.of(train.weights))


def told(plan: P, left_out: NDArray[Any] | int, cap: Cap | None) -> P:
    """The plan, with how many histories are longer than is learned from, what is left out of them, and the cap."""
    long = int(np.count_nonzero(left_out))
    if long:
        plan = replace(plan, long_histories=long, left_out=int(np.sum(left_out)))
    return plan if cap is None else replace(plan, weight_cap=float(cap.weight), capped=cap.pairs)
