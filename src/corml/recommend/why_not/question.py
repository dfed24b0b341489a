"""A question: an item, for whom, and the options of the list; and the race of all items in which it takes part."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from corml._runtime.finite import check_finite
from corml.data.ids import is_one_id
from corml.data.requested_ids import row_of
from corml.errors import UsageError, ascii_line
from corml.linalg.sparse import rows_of
from corml.recommend.candidates import Candidates
from corml.recommend.recommendations import Recommendations
from corml.recommend.requests import Limits, Request, require_memory_of_scores
from corml.recommend.rules import ListRules, boosted

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["Question", "Race", "may_be_listed"]

Scores = NDArray[np.float32]
Masks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Race:
    """Scores of all items, one row for each history, with boosts; and which items may be listed."""

    own: Scores
    scores: Scores
    may: Masks

    def rank(self, target: int, row: int = 0) -> int:
        """The rank of an item among those that may be listed, from 1."""
        scores = self.scores[row]
        above = (scores > scores[target]) | ((scores == scores[target]) & (np.arange(len(scores)) < target))
        return int(np.count_nonzero(above & self.may[row])) + 1


@dataclass(frozen=True, eq=False)
class Question:
    """An item by its number, the list it is not in, and for whom: one known user, or one history."""

    model: "Recommender"
    target: int
    user: list[Hashable] | None
    history: Any
    k: int
    candidates: Candidates
    rules: ListRules

    @classmethod
    def of(cls, model: "Recommender", history: Any, item: Hashable, k: int, options: dict[str, Any]) -> Self:
        """Read the options of `recommend`: those about items that may be listed, and the rules of lists."""
        names = {one.name for one in fields(Candidates)}
        candidates = Candidates(**{name: _for_one(value) for name, value in options.items() if name in names})
        rules = {name: value for name, value in options.items() if name not in names}
        for name in rules.keys() - {one.name for one in fields(ListRules)}:
            raise UsageError(
                f"why_not has no option {ascii_line(name)}: it takes those of recommend that are about lists."
            )
        user, items = ([history], None) if is_one_id(history) else (None, history)
        return cls(model, row_of(model.items_, item), user, items, k, candidates, ListRules(**rules))

    @property
    def item(self) -> str:
        """The id of the item."""
        return str(self.model.items_.labels[self.target])

    def request(self, histories: Sequence[Any] | None = None) -> Request:
        """Whose list it is; or other histories, for the same options."""
        if histories is None and self.user is not None:
            return self.candidates.request(self.model, self.user, None, "error")
        return self.candidates.request(self.model, None, [self.history] if histories is None else histories)

    def lists(self, histories: Sequence[Any] | None = None, rules: ListRules | None = None) -> Recommendations:
        """The list, or those of other histories, or by other rules."""
        how = {**vars(self.candidates), **vars(self.rules if rules is None else rules), "k": self.k}
        if histories is None and self.user is not None:
            return self.model.recommend(self.user, unknown="error", **how)
        return self.model.recommend(history=[self.history] if histories is None else histories, **how)

    def places(self, histories: Sequence[Any] | None = None, rules: ListRules | None = None) -> list[int | None]:
        """The place of the item in each of these lists, from 1; None where it is not there."""
        lists = self.lists(histories, rules).values()
        return [items.index(self.item) + 1 if self.item in items else None for items in lists]

    def race(self, request: Request) -> Race:
        """Scores of all items as lists have them; where there is no history, items are ranked by popularity."""
        model, (rows, columns) = self.model, request.matrix.shape
        require_memory_of_scores(rows, columns)
        scores = np.array(model.score_block(model._represent(request.matrix, request.users), slice(0, columns)))
        scores[np.diff(request.matrix.indptr) == 0] = model._popularity
        check_finite(scores, "These scores")
        factors = self.rules.factors(model.items_, model.attributes_)
        pushed = scores if factors is None else boosted(scores, factors)
        return Race(scores, pushed, may_be_listed(self.candidates.limits(model, request), rows, columns))


def may_be_listed(limits: Limits, rows: int, columns: int) -> Masks:
    """Limits as masks."""
    may = np.ones((rows, columns), dtype=bool)
    if limits.allowed is not None:
        allowed = np.zeros((limits.allowed.shape[0], columns), dtype=bool)
        allowed[rows_of(limits.allowed), limits.allowed.indices] = True
        may &= allowed  # a single row holds for all
    may[rows_of(limits.seen), limits.seen.indices] = False
    return may


def _for_one(given: Any) -> Any:
    """One list of ids for each row, of which there is one, as one for all rows."""
    rows = isinstance(given, list | tuple) and len(given) == 1 and isinstance(given[0], list | tuple)
    return given[0] if rows else given
