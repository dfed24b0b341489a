"""Step 5, re-ranking: lists by rules, chosen from candidates that are ranked by (boosted) score.

    boost        what the model's score is multiplied by                             first, in `score`
    diversity    items that are far from each other, by the model's own distance     then, item by item,
    max_per      at most so many items of a category in a list                       together
    max_share    an item in at most this share of all lists of a request             last

The candidates of a row are as many as its list needs: the pool first, then more, then the whole catalogue. The result
does not depend on how many were looked at, and users × items never exists.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from corml._runtime.progress import Progress, silent
from corml.data.attributes import Attributes
from corml.errors import UsageError
from corml.linalg.sparse import rows_or_none
from corml.recommend.allowed import Allowed
from corml.recommend.options import ListOptions
from corml.recommend.rank import top_k
from corml.recommend.score import Lists, ListScorer, Rows, Scorer, Scores, band_of, factors_of, unboosted

if TYPE_CHECKING:
    from corml.linalg.choose import Categories
    from corml.models.recommender import Recommender

POOL = 5  # candidates for each item of a list that diversity chooses among
DEEPER = 8  # times as many candidates where the first are not enough
BAND = 4096  # lists made at a time
AT_ONCE = 1 << 23  # candidates, or items that are not allowed, of the lists made at a time


def has_rules(options: ListOptions) -> bool:
    """Whether lists are more than the best scores."""
    return bool(options["diversity"] > 0 or options["max_per"] or options["max_share"] is not None)


def first_candidates(options: ListOptions, k: int, catalogue: int) -> int:
    """How many candidates of a list are looked at first."""
    if not has_rules(options):
        return k
    return min(max(POOL * k if options["diversity"] > 0 else 0, 2 * k), catalogue)


def lists_at_once(options: ListOptions, k: int, catalogue: int) -> int:
    """How many lists are chosen at a time."""
    return max(1, min(BAND, AT_ONCE // max(first_candidates(options, k, catalogue), 1)))


def quota_of(max_share: float | None, lists: int) -> int | None:
    """How many of the lists may have an item; None where all may."""
    if max_share is None:
        return None
    quota = math.floor(max_share * lists + 1e-9)  # 0.29 of 100 lists are 29
    if lists and quota < 1:
        raise UsageError(
            f"max_share {max_share:g} of {lists:,} lists is less than one list: ask for more users at a time, "
            "or for a larger share."
        )
    return quota


def categories_of(max_per: Mapping[str, int] | None, attributes: Attributes) -> "Categories | None":
    """Items × the values of all limited attributes, and how many items of each value a list may have."""
    if not max_per:
        return None
    patterns = [csr_array(attributes.categories(name)) for name in max_per]
    caps = np.repeat(list(max_per.values()), [pattern.shape[1] for pattern in patterns])
    return csr_array(hstack(patterns, format="csr")), caps.astype(np.int64)


@dataclass(eq=False)
class Made:
    """Items and (boosted) scores of lists, −1 and −inf where one is short; how many items each row left to others."""

    columns: Rows
    scores: Scores
    lost: Rows
    flat: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # rows without a preference


class ListMaker:
    """Makes lists of k items for histories X of users, by options; cold rows are ranked by popularity.

    With `checks_preference` so are rows in which the model prefers none of the allowed items to the others: their list
    would be the first items of the catalogue.
    """

    def __init__(
        self,
        model: "Recommender",
        X: csr_array,
        users: Rows | None,
        allowed: Allowed,
        options: ListOptions,
        k: int,
        *,
        scorer: Scorer | None = None,
        checks_preference: bool = False,
        progress: Progress = silent,
    ) -> None:
        self.X, self.users, self.allowed, self.k = X, users, allowed, k
        self.progress, self.checks_preference = progress, checks_preference
        boost = options["boost"]
        self.factors = factors_of(boost, model.items_, model.attributes_) if boost else None
        self.model, self.base = model, cast(Scorer, model) if scorer is None else scorer
        self.chooses = has_rules(options)
        self.width = first_candidates(options, k, X.shape[1]) if self.chooses else k
        self.flat: list[Rows] = []
        if self.chooses:
            self.height = lists_at_once(options, k, X.shape[1])
            self.diversity = float(options["diversity"])
            self.closeness = model._closeness() if self.diversity > 0 else None
            self.categories = categories_of(options["max_per"], model.attributes_)
            self.pool = min(POOL * k, X.shape[1]) if self.diversity > 0 else 0
            self.quota = quota_of(options["max_share"], X.shape[0])

    def lists(self, names: Sequence[str]) -> Made:
        """All lists; where `max_share` has to decide between users who lose equally, the first by name has the item."""
        rows = np.arange(self.X.shape[0])
        if not self.chooses:
            columns, scores = self._first(rows, self.progress)
            return Made(columns, scores, np.zeros(len(rows), dtype=np.int64), self._all_flat())
        made = Made(
            np.full((len(rows), self.k), -1, dtype=np.int64),
            np.full((len(rows), self.k), -np.inf, dtype=np.float32),
            np.zeros(len(rows), dtype=np.int64),
        )
        gains = np.zeros((len(rows), 2))
        for band in _bands(rows, self.height):
            candidates = self._first(band)
            gains[band] = _next_best(candidates[1], self.k)
            made.columns[band], made.scores[band] = self._made(band, candidates)
            self.progress("rank", int(band[-1]) + 1, len(rows))
        if self.quota is not None:
            self._share(made, gains, _order(names), self.quota)
        made.flat = self._all_flat()
        return made

    def _all_flat(self) -> Rows:
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.flat])

    # --- candidates --------------------------------------------------------------------------------------------------

    def _first(self, rows: Rows, progress: Progress | None = None) -> Lists:
        """The first candidates of rows; rows without a preference lose their history."""
        columns, scores = self._candidates(rows, self.width, progress=progress)
        if self.checks_preference:
            flat = self._without_preference(rows, columns[:, : self.k], scores[:, : self.k])
            if len(flat):
                cold = rows[flat]
                self.flat.append(cold)
                kept = np.arange(self.X.shape[0])
                kept[cold] = -1
                self.X = rows_or_none(self.X, kept)
                columns[flat], scores[flat] = self._candidates(cold, self.width)
        return columns, scores

    def _candidates(
        self, rows: Rows, width: int, lost: csr_array | None = None, progress: Progress | None = None
    ) -> Lists:
        """The best candidates of rows, −1 after the last; `lost` are more items that they may not have."""
        allowed, X, users = self.allowed, self.X, self.users
        if len(rows) < self.X.shape[0]:
            allowed, X, users = allowed.rows(rows), X[rows], None if users is None else users[rows]
        if lost is not None:
            allowed = allowed.without(lost)
        plain = self.factors is None and bool((np.diff(X.indptr) > 0).all())
        scorer = self.base if plain else ListScorer(self.base, self.model._popularity, self.factors)
        return top_k(scorer, X, width, users=users, seen=allowed.excluded, allowed=allowed.only, progress=progress)

    def _without_preference(self, rows: Rows, columns: Rows, scores: Scores) -> Rows:
        """Rows with a history for which all allowed items score the same, or the best of several zero."""
        listed = columns >= 0
        if self.factors is not None:
            scores = unboosted(scores, self.factors[np.maximum(columns, 0)])
        high = np.where(listed, scores, -np.inf).max(axis=1, initial=-np.inf)
        low = np.where(listed, scores, np.inf).min(axis=1, initial=np.inf)
        has_history = np.diff(self.X.indptr)[rows] > 0
        maybe = np.flatnonzero((high == low) & ((high == 0) | (listed.sum(axis=1) > 1)) & has_history)
        if not len(maybe):
            return maybe
        bands = _bands(maybe, band_of(*self.X.shape)[0])
        return np.concatenate([band[self._are_alike(rows[band])] for band in bands])

    def _are_alike(self, rows: Rows) -> NDArray[np.bool_]:
        histories = self.X[rows]
        histories.sort_indices()
        may = self.allowed.rows(rows).mask(len(rows))
        users = self.base._represent(histories, None if self.users is None else self.users[rows])
        high, low = np.full(len(rows), -np.inf, np.float32), np.full(len(rows), np.inf, np.float32)
        width = self.base._block_shape(histories)[1]
        for start in range(0, may.shape[1], width):
            columns = slice(start, min(start + width, may.shape[1]))
            scores = self.base.score_block(users, columns)
            high = np.maximum(high, scores.max(axis=1, where=may[:, columns], initial=-np.inf))
            low = np.minimum(low, scores.min(axis=1, where=may[:, columns], initial=np.inf))
        alike: NDArray[np.bool_] = (may.sum(axis=1) > 1) & ((high == low) | (high == 0))
        return alike

    # --- choosing among them -----------------------------------------------------------------------------------------

    def _made(self, rows: Rows, candidates: Lists, lost: csr_array | None = None) -> Lists:
        """Lists of rows from candidates, and from more of them where these are not enough."""
        columns, scores = candidates
        made = self._chosen(columns, scores)
        width, catalogue = columns.shape[1], self.X.shape[1]
        short = np.flatnonzero((made[0][:, -1] < 0) & (columns[:, -1] >= 0))
        if width < catalogue and len(short):
            deeper = width * DEEPER if width * DEEPER**2 < catalogue else catalogue
            for part in _bands(short, max(1, AT_ONCE // deeper)):
                less = None if lost is None else lost[part]
                more = self._made(rows[part], self._candidates(rows[part], deeper, less), less)
                made[0][part], made[1][part] = more
        return made

    def _chosen(self, columns: Rows, scores: Scores) -> Lists:
        from corml.linalg.choose import choose  # a compiled kernel that plain lists do without
        from corml.linalg.closeness import Closeness

        places = choose(
            columns,
            scores,
            np.zeros(columns.shape, dtype=bool),
            self.k,
            pool=self.pool,
            diversity=self.diversity,
            closeness=self.closeness or Closeness(),
            categories=self.categories,
        )
        at = np.maximum(places, 0)
        items = np.where(places < 0, -1, np.take_along_axis(columns, at, axis=1)).astype(np.int64)
        return items, np.where(places < 0, -np.inf, np.take_along_axis(scores, at, axis=1)).astype(np.float32)

    # --- shares ------------------------------------------------------------------------------------------------------

    def _share(self, made: Made, gains: NDArray[np.float64], order: Rows, quota: int) -> None:
        """Change lists until no item is in more than `quota` of them.

        A greedy rule, in rounds. Each item that is in too many lists stays in those that lose most without it, and is
        then full: no other list may take it up. The lists that lost an item are made again without all full items that
        they do not have; and so on. What a list loses is the lead of the item over the best one that the plain list has
        no room for, as a share of the scores of that list; of equal ones the first by `order` counts.
        """
        full = np.zeros(self.X.shape[1], dtype=bool)
        wanted = int((made.columns >= 0).sum())
        while True:
            value = (made.scores.astype(np.float64) - gains[:, :1]) / gains[:, 1:]
            rows, places = _over(made.columns, value, quota, order)
            self.progress("share", wanted - len(rows), wanted)
            if not len(rows):
                return
            np.add.at(made.lost, rows, 1)
            full[made.columns[rows, places]] = True
            made.columns[rows, places] = -1
            for band in _bands(np.unique(rows), max(1, min(self.height, AT_ONCE // int(full.sum())))):
                lost = self._not_theirs(made.columns[band], full)
                again = self._made(band, self._candidates(band, self.width, lost), lost)
                made.columns[band], made.scores[band] = again

    def _not_theirs(self, columns: Rows, full: NDArray[np.bool_]) -> csr_array:
        """The full items that rows do not have, as a pattern."""
        items, may_not = np.flatnonzero(full), np.ones((len(columns), int(full.sum())), dtype=bool)
        row, place = np.nonzero((columns >= 0) & full[columns])
        may_not[row, np.searchsorted(items, columns[row, place])] = False
        row, column = np.nonzero(may_not)
        cells = np.ones(len(row), dtype=np.float32), (row, items[column])
        return csr_array(cells, shape=(len(columns), len(full)))


def _over(columns: Rows, value: NDArray[np.float64], quota: int, order: Rows) -> tuple[Rows, Rows]:
    """Rows and places that lose their item: of each item with too many, all but those that would lose most by it."""
    listed = columns >= 0
    counts = np.bincount(columns[listed], minlength=1)
    rows, places = np.nonzero(listed & (counts > quota)[np.where(listed, columns, 0)])
    items = columns[rows, places]
    sorting = np.lexsort((order[rows], -value[rows, places], items))
    starts = np.searchsorted(items[sorting], items[sorting])
    lost = np.sort(sorting[np.arange(len(items)) - starts >= quota])
    return rows[lost], places[lost]


def _next_best(scores: Scores, k: int) -> NDArray[np.float64]:
    """Of plain lists, the best score that has no place, and the sum of the scores of the list."""
    plain = scores[:, : k + 1].astype(np.float64)
    there = np.where(np.isfinite(plain), plain, 0.0)
    none_left = there.min(axis=1, initial=0.0)  # without another item the place stays empty
    full = (plain.shape[1] > k) & np.isfinite(plain[:, -1])
    totals = np.abs(there[:, :k]).sum(axis=1)
    return np.stack([np.where(full, there[:, -1], none_left), np.where(totals > 0, totals, 1.0)], axis=1)


def _bands(rows: Rows, size: int) -> Iterator[Rows]:
    return (rows[at : at + size] for at in range(0, len(rows), size))


def _order(names: Sequence[str]) -> Rows:
    """The place of each name among all of them, so that nothing depends on their order in the request."""
    order = np.empty(len(names), dtype=np.int64)
    order[np.argsort(np.array(names, dtype=object), kind="stable")] = np.arange(len(names))
    return order
