"""No answer has a number that is none: the last look at scores before they leave a model."""

from typing import Any

import numpy as np

from corml.errors import NumericalError

__all__ = ["check_finite"]


def check_finite(numbers: Any, what: str) -> None:
    """Refuse an answer that is not finite, as numbers of a hostile file, or enormous weights, would make it."""
    if not np.isfinite(numbers).all():
        raise NumericalError(
            f"{what} cannot be given: numbers of the model, or weights of a history, are too large for it. "
            "Fit again with settings and weights of ordinary size."
        )
