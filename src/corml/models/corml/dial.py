"""The novelty dial: one model at several item_norms, to be chosen when lists are made.

`estimator.py` says which model: it has the names CoRML and Dial.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.settings import Rule, build, optional, setting, values_of
from corml.errors import SettingError, UsageError, ascii_line
from corml.models import fitted
from corml.models.corml.plan import SELECTED, Plan
from corml.models.corml.sparse.reuse import Workspace
from corml.models.fitted import Certificate, Fitted, LearnedArray, Outcome, Settings, learned
from corml.models.new_items import degrees_with, metric_with, vectors_with
from corml.models.recommender import FitCall, Recommender

__all__ = ["NoveltyDial"]

MAX_POSITIONS = 21
MATRIX = LearnedArray(csr_array, ("items", "items"), optional=False)
MIDDLE = 0.5  # the operating point where none is given


def _are_norms(values: Any) -> bool:
    numbers = isinstance(values, list | tuple) and all(type(v) in (int, float) and -1 <= v <= 1 for v in values)
    return numbers and 2 <= len(values) <= MAX_POSITIONS and all(a < b for a, b in pairwise(values))


NORMS = Rule(
    f"2 to {MAX_POSITIONS} ascending numbers from -1 to 1", _are_norms, lambda text: [float(x) for x in text.split(",")]
)
SHARED = Rule("a mapping of CoRML settings", lambda value: isinstance(value, Mapping), str)


@dataclass(kw_only=True, eq=False)
class NoveltyDial(Recommender):
    """One H for each position, sharing filter, ids and histories."""

    MEMBER: ClassVar[type[Any]]  # the model of a position; it has H_, V_, degrees_ and the setting item_norm
    PLAN: ClassVar[type[fitted.Plan]] = Plan
    LEARNS_WEIGHTS: ClassVar[bool] = True

    V_ = learned(np.ndarray, "items", None)
    degrees_ = learned(np.ndarray, "items")
    _link_: ClassVar[Any] = learned(csr_array, "items", "items", optional=True)  # of new items

    item_norms: Sequence[float] = setting(
        (-0.2, -0.1, 0.0, 0.1, 0.2),
        NORMS,
        symbol="t",
        help="item-degree exponents of the operating points, novel to popular",
    )
    of: Mapping[str, Any] | None = setting(
        None, optional(SHARED, "the defaults"), help="CoRML settings that all positions share"
    )

    def _declared_arrays(self) -> Mapping[str, LearnedArray[Any]]:
        """One H for each position beside what they share."""
        norms = self.fitted_.settings.item_norms if "fitted_" in vars(self) else self.item_norms
        return {**super()._declared_arrays(), **{f"H{position}": MATRIX for position in range(len(norms))}}

    def _fit(self, call: FitCall) -> Outcome:
        if "item_norm" in (self.of or {}):
            raise SettingError("A dial has its own item_norms: leave item_norm out of the settings it shares.")
        last: Any = None
        workspace, shared, selection = Workspace(call.train), self.of or {}, None
        middle = self._member(shared, self.item_norms[len(self.item_norms) // 2])
        if middle.adapt:  # once for all: they share one filter
            last = middle.fit(call.train, workspace=workspace, progress=call.progress)
            selection = last.fitted_.plan.selection
            shared = {**shared, **{name: last.settings_[name] for name in SELECTED}, "adapt": False}
        arrays: dict[str, Any] = {}
        certificates: list[Certificate] = []
        for position, t in enumerate(self.item_norms):
            stage = f"position {position + 1} of {len(self.item_norms)}"

            def report(part: str, done: int, total: int, stage: str = stage) -> None:
                call.progress(f"{stage}: {part}", done, total)

            last = self._member(shared, t).fit(call.train, warm_start=last, workspace=workspace, progress=report)
            arrays[f"H{position}"] = last.H_
            certificates += last.fitted_.certificates
        arrays |= {"V": last.V_, "degrees": last.degrees_}
        plan = replace(last.fitted_.plan, selection=selection)
        return Outcome(arrays=arrays, plan=plan, certificates=tuple(certificates))

    def _linked(self, link: csr_array, lift: float) -> dict[str, Any]:
        d, state = degrees_with(self.degrees_, link), self.fitted_
        arrays: dict[str, Any] = {
            f"H{position}": metric_with(state.arrays[f"H{position}"], d, link, t, lift)
            for position, t in enumerate(state.settings.item_norms)
        }
        filter_norm = self.at(MIDDLE).settings_.filter_norm
        return {**arrays, "V": vectors_with(self.V_, d, link, filter_norm, lift), "degrees": d}

    def at(self, novelty: float) -> Recommender:
        """The position for a novelty between 0 (popular) and 1 (novel), as a CoRML."""
        self._check_fitted()
        if isinstance(novelty, bool) or not isinstance(novelty, int | float) or not 0 <= novelty <= 1:
            raise UsageError(f"novelty must be a number from 0 (popular) to 1 (novel); got {ascii_line(novelty)}.")
        positions: list[Recommender] = self._derive(self._positions)
        return positions[round((1 - novelty) * (len(positions) - 1))]

    def _positions(self) -> list[Any]:
        """Every position as a CoRML that shares all but its H with the others."""
        state: Fitted = self.fitted_
        positions: list[Any] = []
        for position, t in enumerate(state.settings.item_norms):
            member = self._member(state.settings.of, t)
            arrays = {"H": state.arrays[f"H{position}"], "V": self.V_, "degrees": self.degrees_, "link": self._link_}
            member.fitted_ = replace(state, settings=Settings(values_of(member)), arrays=arrays)
            member._twin = positions[0] if positions else None  # whose filter it shares, prepared once
            positions.append(member)
        return positions

    def _at(self, novelty: float | None) -> Recommender:
        """The operating point for a novelty, or the middle one."""
        return self.at(MIDDLE if novelty is None else novelty)

    def score_block(self, users: csr_array, columns: slice) -> NDArray[np.float32]:
        """Scores of the middle position."""
        return self.at(MIDDLE).score_block(users, columns)

    def _check_state(self) -> None:
        """Every position must be a sound CoRML."""
        for member in self._derive(self._positions):
            member._check_state()

    def _member(self, shared: Mapping[str, Any] | None, t: float) -> Any:
        return build(self.MEMBER, {**(shared or {}), "item_norm": float(t)})
