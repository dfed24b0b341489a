"""The novelty dial: CoRML at several item_norms in one model, to be chosen when lists are made."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.errors import SettingError, UsageError, ascii_line
from corml.interactions import Interactions
from corml.method.estimator import CoRML
from corml.method.sparse.fit_cache import Workspace
from corml.recommendations import Recommendations
from corml.recommender import Recommender
from corml.settings import Rule, build, optional, setting

__all__ = ["Dial"]

MOST = 21
SHARES = ("users_", "items_", "train_", "counts_", "titles_", "data_", "notes_", "evaluation_", "V_", "degrees_")
MIDDLE = 0.5  # where the dial stands unless asked


def _are_norms(values: Any) -> bool:
    numbers = isinstance(values, list | tuple) and all(type(v) in (int, float) and -1 <= v <= 1 for v in values)
    return numbers and 2 <= len(values) <= MOST and all(a < b for a, b in pairwise(values))


NORMS = Rule(
    f"2 to {MOST} ascending numbers from -1 to 1", _are_norms, lambda text: [float(x) for x in text.split(",")]
)
SHARED = Rule("a mapping of CoRML settings", lambda value: isinstance(value, Mapping), str)


@dataclass(kw_only=True, eq=False)
class Dial(Recommender):
    """CoRML from novel to popular: one H for each item_norm, sharing filter, ids and histories.

    t enters the problem that H solves, so each position has its own H; neighbours start from each other. `of` holds
    the settings all positions share. `recommend(…, novelty=1)` asks for the most novel position, 0 for the most
    popular; `at(novelty)` is that position as a CoRML, for everything else.
    """

    NAME: ClassVar[str] = "corml-dial"
    STATE: ClassVar[Mapping[str, tuple[str | None, ...]]] = {"V": ("items", None), "degrees": ("items",)}

    item_norms: Sequence[float] = setting(
        (-0.2, -0.1, 0.0, 0.1, 0.2), NORMS, symbol="t", help="positions of the dial, novel to popular"
    )
    of: Mapping[str, Any] | None = setting(
        None, optional(SHARED, "the defaults"), help="CoRML settings that all positions share"
    )

    def state(self) -> Mapping[str, tuple[str | None, ...]]:
        """One H for each position beside what they share."""
        return {**self.STATE, **{f"H{place}": ("items", "items") for place in range(len(self.item_norms))}}

    def _fit(self, X: csr_array) -> None:
        if "item_norm" in (self.of or {}):
            raise SettingError("A dial has its own item_norms: leave item_norm out of the settings it shares.")
        train = self._train()
        last: CoRML | None = None
        workspace = Workspace(train)
        for place, t in enumerate(self.item_norms):
            self._stage = f"position {place + 1} of {len(self.item_norms)}"
            last = self._member(t).fit(train, start=last, workspace=workspace, progress=self._tell)
            setattr(self, f"H{place}_", last.H_)
            self.notes_[f"item_norm {t:g}"] = last.notes_
        assert last is not None
        self.V_, self.degrees_ = last.V_, last.degrees_

    def _tell(self, what: str, done: int, total: int) -> None:
        self._progress(f"{self._stage}: {what}", done, total)

    def at(self, novelty: float) -> CoRML:
        """The position for a novelty between 0 (popular) and 1 (novel), as a CoRML."""
        self.check_fitted()
        if isinstance(novelty, bool) or not isinstance(novelty, int | float) or not 0 <= novelty <= 1:
            raise UsageError(f"novelty must be a number from 0 (popular) to 1 (novel); got {ascii_line(novelty)}.")
        place = round((1 - novelty) * (len(self.item_norms) - 1))
        made: dict[int, CoRML] = self.__dict__.setdefault("_positions", {})
        H = getattr(self, f"H{place}_")
        if place not in made or made[place].H_ is not H:
            made[place] = self._member(self.item_norms[place])
            for name in SHARES:
                setattr(made[place], name, getattr(self, name))
            made[place].H_ = H
        return made[place]

    def recommend(
        self,
        users: Sequence[Hashable] | str | None = None,
        *,
        history: Sequence[Sequence[Hashable]] | Interactions | None = None,
        k: int = 10,
        exclude: Sequence[Any] | None = None,
        only: Sequence[Any] | None = None,
        novelty: float = MIDDLE,
    ) -> Recommendations:
        """The k best items at a position of the dial: novelty 0 is the most popular, 1 the most novel."""
        return self.at(novelty).recommend(users, history=history, k=k, exclude=exclude, only=only)

    def block_shape(self, X: csr_array) -> tuple[int, int]:
        """As the middle position has it."""
        return self.at(MIDDLE).block_shape(X)

    def score_block(self, people: csr_array, columns: slice) -> NDArray[np.float32]:
        """Scores of the middle position."""
        return self.at(MIDDLE).score_block(people, columns)

    def contributions(self, history: NDArray[np.int64], target: int) -> dict[str, NDArray[np.float64]]:
        """Contributions at the middle position."""
        return self.at(MIDDLE).contributions(history, target)

    def check_state(self) -> None:
        """Every position must be a sound CoRML."""
        for place in range(len(self.item_norms)):
            self.at(1 - place / (len(self.item_norms) - 1)).check_state()

    def _member(self, t: float) -> CoRML:
        made: CoRML = build(CoRML, {**(self.of or {}), "item_norm": float(t)})
        return made

    def _train(self) -> Interactions:
        """The training data as they were given to `fit`, without their provenance."""
        rows = np.repeat(np.arange(self.train_.shape[0], dtype=np.int32), np.diff(self.train_.indptr))
        return Interactions(self.users_, self.items_, rows, self.train_.indices.astype(np.int32), titles=self.titles_)
