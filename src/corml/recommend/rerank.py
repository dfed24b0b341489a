"""Lists that obey: candidates by (boosted) score, of which the rules choose.

The candidates of a row are as many as its list needs: the pool first, then more, then the whole catalogue. The answer
does not depend on how many were looked at, and users × items never exists.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.finite import check_lists
from corml._runtime.progress import Progress, silent
from corml.linalg.choose import Categories, choose
from corml.linalg.closeness import Closeness
from corml.linalg.sparse import rows_of
from corml.recommend import requests
from corml.recommend.preference import with_a_preference
from corml.recommend.quota import hold_quota
from corml.recommend.recommendations import Recommendations
from corml.recommend.requests import Limits, Request
from corml.recommend.rules import ListRules, boosted, unboosted
from corml.recommend.topn import Lists, top_k

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["Listed", "Ranking", "Reranker", "ranked", "recommended"]

POOL = 5  # candidates for each place of a list that diversity chooses among
DEEPER = 8  # times as many candidates where the first are not enough
BAND = 4096  # lists made at a time
SORTED_AT_ONCE = 1 << 23  # candidates of these lists
KEPT = 10  # candidates for each place of a list while items are shared out, or fewer that fit into KEPT_BYTES
KEPT_BYTES = 1 << 29
A_CANDIDATE = 9  # bytes: item, score, and whether it is lost

Rows = NDArray[np.int64]
Scores = NDArray[np.float32]


def recommended(
    model: "Recommender", request: Request, limits: Limits, rules: ListRules, *, k: int, progress: Progress = silent
) -> Recommendations:
    """The answer to a request, by rules. Its scores are the model's own, also of boosted items."""
    ranking = Ranking.of(model, request.matrix, request.users, limits.seen, limits.allowed, rules=rules)
    factors = ranking.factors
    listed = ranked(ranking, requests.list_length(k, model.items_), rules, request.names, progress)
    columns, scores, boosts = listed.columns, listed.scores, None
    if factors is not None:
        boosts = np.where(columns < 0, np.nan, factors[np.maximum(columns, 0)]).astype(np.float32)
        scores = unboosted(scores, np.where(columns < 0, 1, factors[np.maximum(columns, 0)]))
    preferring = with_a_preference(model, request, limits, columns, scores)
    if preferring is not request:  # the others are ranked by popularity, by the same rules
        return recommended(model, preferring, limits, rules, k=k, progress=progress)
    lists = requests.answer(model, request, limits, columns, scores, k=k, fallback=False)
    reasons = [_with_rules(reason, rules, int(lost)) for reason, lost in zip(lists.reasons, listed.lost, strict=True)]
    return replace(lists, reasons=tuple(reasons), boosts=boosts, rules=str(rules))


def ranked(ranking: "Ranking", k: int, rules: ListRules, names: Sequence[str], progress: Progress = silent) -> "Listed":
    """Lists of k items by rules."""
    model = ranking.model
    closeness = model._closeness() if rules.diversity > 0 else None
    categories = rules.categories(model.attributes_)
    return Reranker(ranking, k, rules, closeness, categories, progress).lists(names)


def _with_rules(reason: str | None, rules: ListRules, lost: int) -> str | None:
    """Why a list is short, with what the rules did to it."""
    if reason is None or "exhausted" not in reason:
        return reason
    parts = ["no other item fits max_per"] if rules.max_per else []
    parts += [f"{lost} left to other lists by max_share"] if lost else []
    return ", ".join([reason, *parts])


@dataclass(frozen=True, eq=False)
class Ranking:
    """Whose candidates: histories X, row numbers of known users, what they may not have, and the only items they may.

    `factors` are those of boosted items. Rows without a history are ranked by popularity, as everywhere.
    """

    model: "Recommender"
    X: csr_array
    users: Rows | None
    seen: csr_array
    allowed: csr_array | None = None
    factors: Scores | None = None

    @classmethod
    def of(
        cls,
        model: "Recommender",
        X: csr_array,
        users: Rows | None,
        seen: csr_array,
        allowed: csr_array | None = None,
        *,
        rules: ListRules,
    ) -> Self:
        """Candidates with what rules do to their scores."""
        return cls(model, X, users, seen, allowed, rules.factors(model.items_, model.attributes_))

    def best(self, rows: Rows, width: int, lost: csr_array | None = None) -> Lists:
        """The best candidates of rows by score, −1 after the last; `lost` are more items that they may not have."""
        seen = self.seen[rows] if lost is None else (self.seen[rows] + lost).tocsr()
        seen.sort_indices()
        users = None if self.users is None else self.users[rows]
        allowed = self.allowed
        if allowed is not None and allowed.shape[0] > 1:  # else one row holds for all
            allowed = allowed[rows]
        if width < self.X.shape[1]:
            return top_k(_Scorer(self), self.X[rows], width, users=users, seen=seen, allowed=allowed)
        return self._sorted(self.X[rows], users, seen, allowed)

    def _sorted(self, X: csr_array, users: Rows | None, seen: csr_array, allowed: csr_array | None) -> Lists:
        """All candidates: then sorting is faster than inserting."""
        scorer, items = _Scorer(self), X.shape[1]
        represented, width = scorer._represent(X, users), scorer._block_shape(X)[1]
        edges = [*range(0, items, width), items]
        parts = [scorer.score_block(represented, slice(a, b)) for a, b in pairwise(edges)]
        scores = np.concatenate(parts, axis=1)
        scores[rows_of(seen), seen.indices] = -np.inf
        if allowed is not None:
            may = np.zeros((allowed.shape[0], items), dtype=bool)
            may[rows_of(allowed), allowed.indices] = True
            scores = np.where(may, scores, -np.inf)
        columns = np.argsort(-scores, axis=1, kind="stable")
        scores = np.take_along_axis(scores, columns, axis=1)
        columns = np.where(scores == -np.inf, -1, columns)
        check_lists(columns, scores)
        return columns, scores


class _Scorer:
    """A model with boosted scores, and popularity where there is no history."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking, self.model = ranking, ranking.model

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        return self.model._block_shape(X)

    def _represent(self, X: csr_array, users: Rows | None) -> tuple[Any, NDArray[np.intp]]:
        return self.model._represent(X, users), np.flatnonzero(np.diff(X.indptr) == 0)

    def _top_k(self, users: Any, k: int, seen: csr_array | None, allowed: csr_array | None) -> Lists | None:
        represented, cold = users
        if self.ranking.factors is not None or len(cold):
            return None  # the model's own way knows nothing of either
        return self.model._top_k(represented, k, seen, allowed)

    def score_block(self, users: Any, columns: slice) -> Scores:
        represented, cold = users
        block = np.require(self.model.score_block(represented, columns), requirements="W")
        if len(cold):
            block[cold] = self.model._popularity[columns]
        if self.ranking.factors is not None:
            factors = self.ranking.factors[columns]
            pushed = np.flatnonzero(factors != 1)
            block[:, pushed] = boosted(block[:, pushed], factors[pushed])
        return block


@dataclass(frozen=True, eq=False)
class Reranker:
    """Makes lists of k items by rules, whose meaning for a catalogue is `closeness` and `categories`."""

    ranking: Ranking
    k: int
    rules: ListRules
    closeness: Closeness | None = None
    categories: Categories | None = None
    progress: Progress = silent

    @property
    def rows(self) -> int:
        """How many lists there are."""
        return int(self.ranking.X.shape[0])

    @property
    def catalogue(self) -> int:
        """How many items there are."""
        return int(self.ranking.X.shape[1])

    @property
    def pool(self) -> int:
        """How many candidates diversity chooses among."""
        return min(POOL * self.k, self.catalogue) if self.rules.diversity > 0 else 0

    def lists(self, names: Sequence[str]) -> "Listed":
        """All lists; of users who gain equally by an item, the first by name has it where items are shared out."""
        quota = self.rules.quota(self.rows)
        if quota is not None:
            return _Shares(self).held(quota, _order(names))
        listed = Listed.empty(self.rows, self.k)
        for rows in self.bands():
            listed.columns[rows], listed.scores[rows] = self.made(rows)
        return listed

    @property
    def width(self) -> int:
        """How many candidates are looked at first."""
        return min(max(self.pool, 2 * self.k), self.catalogue)

    @property
    def height(self) -> int:
        """How many lists are made at a time."""
        return max(1, min(BAND, SORTED_AT_ONCE // max(self.width, 1)))

    def bands(self) -> Iterator[Rows]:
        """All rows, some at a time, with progress."""
        for rows in _bands(np.arange(self.rows), self.height):
            yield rows
            self.progress("rank", int(rows[-1]) + 1, self.rows)

    def chosen(self, columns: NDArray[Any], scores: Scores, lost: NDArray[np.bool_]) -> Lists:
        """Lists from candidates."""
        places = choose(
            columns,
            scores,
            lost,
            self.k,
            pool=self.pool,
            diversity=float(self.rules.diversity),
            closeness=self.closeness or Closeness(),
            categories=self.categories,
        )
        there = np.maximum(places, 0)
        items = np.where(places < 0, -1, np.take_along_axis(columns, there, axis=1)).astype(np.int64)
        return items, np.where(places < 0, -np.inf, np.take_along_axis(scores, there, axis=1)).astype(np.float32)

    def made(self, rows: Rows, lost: csr_array | None = None, width: int = 0) -> Lists:
        """Lists of some rows, ranked anew, from as many candidates as they need."""
        width = max(width, self.width)
        columns, scores = self.ranking.best(rows, width, lost)
        listed = self.chosen(columns, scores, np.zeros(columns.shape, dtype=bool))
        short = np.flatnonzero((listed[0][:, -1] < 0) & (columns[:, -1] >= 0))
        if width < self.catalogue and len(short):
            deeper = width * DEEPER if width * DEEPER**2 < self.catalogue else self.catalogue
            for part in _bands(short, max(1, SORTED_AT_ONCE // deeper)):
                again = self.made(rows[part], None if lost is None else lost[part], deeper)
                listed[0][part], listed[1][part] = again
        return listed


@dataclass(frozen=True, eq=False)
class Listed:
    """Items and (boosted) scores of lists, −1 and −inf where one is short; how many items each row left to others."""

    columns: Rows
    scores: Scores
    lost: Rows

    @classmethod
    def empty(cls, rows: int, k: int) -> Self:
        """Lists without any item."""
        nothing = np.full((rows, k), -1, dtype=np.int64), np.full((rows, k), -np.inf, dtype=np.float32)
        return cls(*nothing, np.zeros(rows, dtype=np.int64))


class _Shares:
    """Items shared out among all lists. Candidates are kept as far as there is room, so that few are ranked again."""

    def __init__(self, reranker: Reranker) -> None:
        self.how, rows = reranker, reranker.rows
        most = max(KEPT_BYTES // A_CANDIDATE // max(rows, 1), reranker.k + 1)
        width = min(max(2 * reranker.pool, KEPT * reranker.k, reranker.k + 1), most, reranker.catalogue)
        self.listed = Listed.empty(rows, reranker.k)
        self.kept = np.full((rows, width), -1, dtype=np.int32)
        self.scores = np.full((rows, width), -np.inf, dtype=np.float32)
        self.gone = np.zeros((rows, width), dtype=bool)
        self.lost_pairs: list[tuple[Rows, Rows]] = []
        for part in reranker.bands():
            self.kept[part], self.scores[part] = reranker.ranking.best(part, width)
            self._list(part)
        plain = self.scores[:, : reranker.k + 1].astype(np.float64)
        there = np.where(np.isfinite(plain), plain, 0.0)
        none_left = there.min(axis=1, initial=0.0)  # without another item the place stays empty
        full = (plain.shape[1] > reranker.k) & np.isfinite(plain[:, -1])
        self.next_best = np.where(full, there[:, -1], none_left)
        totals = np.abs(there[:, : reranker.k]).sum(axis=1)
        self.totals = np.where(totals > 0, totals, 1.0)

    def held(self, quota: int, order: Rows) -> Listed:
        """Lists in which no item is more often than the quota."""
        gains = self._gains(np.arange(self.how.rows))
        lost = hold_quota(self.listed.columns, gains, quota, order, self._relist, progress=self.how.progress)
        return replace(self.listed, lost=lost)

    def _relist(self, rows: Rows, items: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """New lists of rows that lost items, and what they gain by them."""
        self.lost_pairs.append((rows, items))
        for part in _bands(np.arange(len(rows)), BAND):
            at, place = np.nonzero(self.kept[rows[part]] == items[part, None])
            self.gone[rows[part][at], place] = True
        changed = np.unique(rows)
        self._list(changed)
        return self.listed.columns[changed], self._gains(changed)

    def _list(self, rows: Rows) -> None:
        """Choose among the candidates that are kept; where too few are left, fetch others, as many as are needed."""
        self._choose(rows)
        for part in _bands(self._unsure(rows, after_losses=True), self.how.height):
            self.kept[part], self.scores[part] = self.how.ranking.best(part, self.kept.shape[1], self._lost_of(part))
            self.gone[part] = False
            self._choose(part)
        for part in _bands(self._unsure(rows), self.how.height):
            self.listed.columns[part], self.listed.scores[part] = self.how.made(part, self._lost_of(part))

    def _choose(self, rows: Rows) -> None:
        chosen = self.how.chosen(self.kept[rows], self.scores[rows], self.gone[rows])
        self.listed.columns[rows], self.listed.scores[rows] = chosen

    def _unsure(self, rows: Rows, *, after_losses: bool = False) -> Rows:
        """Rows whose lists could be others if more candidates were known."""
        gone = self.gone[rows]
        few = (self.listed.columns[rows, -1] < 0) | ((~gone).sum(axis=1) < self.how.pool)
        more = (self.kept[rows, -1] >= 0) & (self.kept.shape[1] < self.how.catalogue)
        lost = gone.any(axis=1) | (not after_losses)
        return np.asarray(rows[few & more & lost], dtype=np.int64)

    def _lost_of(self, rows: Rows) -> csr_array:
        """What rows (ascending) have lost, as a pattern."""
        none = np.zeros(0, dtype=np.int64)
        row, item = (np.concatenate([none, *(pair[side] for pair in self.lost_pairs)]) for side in (0, 1))
        at = np.minimum(np.searchsorted(rows, row), len(rows) - 1)
        among = rows[at] == row
        cells = np.ones(int(among.sum()), dtype=np.float32), (at[among], item[among])
        return csr_array(cells, shape=(len(rows), self.how.catalogue))

    def _gains(self, rows: Rows) -> NDArray[np.float64]:
        """What rows would lose without an item: its lead over the best one that the plain list has no place for.

        It is a share of the scores of that list, so that different users can be compared.
        """
        scores = self.listed.scores[rows].astype(np.float64)
        return np.asarray((scores - self.next_best[rows, None]) / self.totals[rows, None], dtype=np.float64)


def _bands(rows: Any, size: int) -> Iterator[Rows]:
    return (rows[at : at + size] for at in range(0, len(rows), size))


def _order(names: Sequence[str]) -> Rows:
    """The place of each name among all of them, so that nothing depends on the order in which they were asked for."""
    order = np.empty(len(names), dtype=np.int64)
    order[np.argsort(np.array(names, dtype=object), kind="stable")] = np.arange(len(names))
    return order
