"""No answer has a number that is none: numbers that are too large are refused where they arise, and before they leave.

What a fit learned has at most `LARGEST` as a size: sums and products of a few such numbers are finite in single
precision. A fit with settings that lead beyond says so, and a file that holds more was not written by one.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from corml.errors import NumericalError

LARGEST = 1e12  # that a learned number may be
SLICE = 1 << 17  # numbers that are looked at together


def check_finite(numbers: Any, what: str) -> None:
    """Refuse an answer that is not finite, as numbers of a hostile file, or enormous weights, would make it."""
    if not np.isfinite(numbers).all():
        raise _too_large(what)


def check_lists(columns: NDArray[Any], scores: NDArray[Any]) -> None:
    """Refuse lists with a score that is NaN or infinite; a place without an item, −1, has none.

    Every way to rank asks this of all items that may be listed, so that none of them hides such a score.
    """
    check_finite(scores[columns >= 0], "A list")


def check_moderate(numbers: NDArray[Any], what: str) -> None:
    """Refuse to make answers of numbers whose sums and products may not be finite."""
    flat = numbers.reshape(-1)
    if not all((np.abs(flat[at : at + SLICE]) <= LARGEST).all() for at in range(0, len(flat), SLICE)):  # nor NaN
        raise _too_large(what)


def check_learned(arrays: Mapping[str, Any], model: str) -> None:
    """Refuse what a fit learned if scores made of it may not be finite: it could not be read back either."""
    for name, array in arrays.items():
        numbers = array.data if issparse(array) else array
        if isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f" and not is_moderate(numbers.reshape(-1)):
            raise NumericalError(
                f"{model} learned numbers beyond {LARGEST:g} ({name}), with which no score is sure to be finite: "
                "choose settings of ordinary size, such as the defaults, a larger l2 or a smaller learning_rate."
            )


def is_moderate(numbers: NDArray[Any]) -> bool:
    """Whether none that is finite is beyond the limit; what is not finite is refused elsewhere, by its own sentence."""
    pieces = (np.abs(numbers[at : at + SLICE]) for at in range(0, len(numbers), SLICE))
    return not any(((some > LARGEST) & np.isfinite(some)).any() for some in pieces)


def _too_large(what: str) -> NumericalError:
    return NumericalError(
        f"{what} cannot be given: numbers of the model, or weights of a history, are too large for it. "
        "Fit again with settings and weights of ordinary size."
    )
