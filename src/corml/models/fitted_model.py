"""What a fitted model has: its settings, its catalogue, its users, and what is derived from them once."""

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import check_names, values_of
from corml.data.attributes import Attributes
from corml.data.ids import Ids
from corml.errors import NotFittedError
from corml.linalg.sparse import empty
from corml.models.fitted import Fitted, LearnedArray, Settings

T = TypeVar("T")

_making = threading.RLock()  # one at a time makes what is derived from a fitted state


def _renew_lock() -> None:
    """In a fork: the thread that held it does not exist there."""
    global _making
    _making = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class FittedModel:
    """Settings by name, and everything that is read from `fitted_`, the one attribute that `fit` sets."""

    fitted_: Fitted

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Settings by name as they stand now, as scikit-learn asks for them."""
        return values_of(self)

    def set_params(self, **settings: Any) -> Self:
        """Change settings for the next fit."""
        check_names(type(self), settings)
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def _declared_arrays(self) -> Mapping[str, LearnedArray[Any]]:
        """The arrays of a model file by name, as the class declares them."""
        classes = [vars(one) for one in reversed(type(self).__mro__)]
        return {array.name: array for one in classes for array in one.values() if isinstance(array, LearnedArray)}

    def _check_fitted(self) -> None:
        """Refuse to answer before `fit`."""
        if "fitted_" not in vars(self):
            raise NotFittedError(type(self).__name__)

    def _state(self) -> Fitted:
        self._check_fitted()
        state: Fitted = self.fitted_
        return state

    @property
    def settings_(self) -> Settings:
        """The settings the model was fitted with, and the values that were chosen where one was left to the data."""
        return self._state().resolved

    @property
    def items_(self) -> Ids:
        """The catalogue."""
        return self._state().items

    @property
    def users_(self) -> Ids:
        """The users: those of the training data, and others with a history; none if a file was saved without."""
        return self._state().histories.users

    @property
    def train_(self) -> csr_array:
        """The training interactions as a binary users × items matrix."""
        return self._state().train

    @property
    def seen_(self) -> csr_array:
        """Pairs of the users that are only excluded from lists, as a binary users × items matrix."""
        state = self._state()
        return empty(state.train.shape) if state.seen is None else state.seen.pattern

    @property
    def counts_(self) -> NDArray[np.int64]:
        """Number of training users of each item."""
        return self._state().counts

    @property
    def titles_(self) -> Mapping[str, str]:
        """Titles of items by id, where there are any."""
        return self._state().titles

    @property
    def attributes_(self) -> Attributes:
        """Attributes of the items, one row each; without columns if no table of items was given."""
        state = self._state()
        return Attributes(state.items) if state.attributes is None else state.attributes

    @property
    def _popularity(self) -> NDArray[np.float32]:
        """Share of the training users of each item."""
        return np.asarray(self.counts_ / max(self.train_.shape[0], 1), dtype=np.float32)

    def _derive(self, make: Callable[[], T], name: str = "scoring") -> T:
        """What is made once for a fitted state and used by every request; a new fit makes it again.

        It is kept when it is finished, so that other threads wait for it and never see a part of it.
        """
        state = self._state()
        derived: tuple[Fitted, dict[str, Any]] | None = vars(self).get("_derived")
        if derived is None or derived[0] is not state or name not in derived[1]:
            with _making:
                derived = vars(self).get("_derived")
                if derived is None or derived[0] is not state:
                    derived = (state, {})
                    vars(self)["_derived"] = derived
                if name not in derived[1]:
                    derived[1][name] = make()
        value: T = derived[1][name]
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_derived"}
