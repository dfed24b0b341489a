"""Step 2, allowed items: which items each list may have, whatever their scores."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import memory
from corml.data.ids import Ids, is_one_id
from corml.data.requested_ids import rows_or_warn
from corml.data.strength import only_positive
from corml.errors import DataError, UsageError
from corml.linalg.sparse import rows_of
from corml.recommend import query as sizes
from corml.recommend.conditions import is_by_attribute, mask_of
from corml.recommend.options import ListOptions
from corml.recommend.query import Query, pattern_of
from corml.recommend.seen import SeenRule

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

PER_LIMIT = 24  # bytes of an item that a list may not have, while that is put together

Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class Allowed:
    """What each row may not have (`excluded`), and, where it is limited, the only items it may (`only`).

    Where either has a single row, that holds for all: a condition on items costs the same for any number of users.
    """

    excluded: csr_array
    only: csr_array | None = None

    def rows(self, at: NDArray[np.integer]) -> "Allowed":
        """What some of the rows may have."""
        return Allowed(_rows(self.excluded, at), None if self.only is None else _rows(self.only, at))

    def mask(self, rows: int) -> Masks:
        """The same as an array of rows × items."""
        may = np.ones((rows, self.excluded.shape[1]), dtype=bool)
        if self.only is not None:
            listed = np.zeros(self.only.shape, dtype=bool)
            listed[rows_of(self.only), self.only.indices] = True
            may &= listed  # a single row holds for all
        if self.excluded.shape[0] == rows:
            may[rows_of(self.excluded), self.excluded.indices] = False
        else:
            may[:, self.excluded.indices] = False
        return may

    def without(self, pairs: csr_array) -> "Allowed":
        """Allowed items except some pairs of rows and items."""
        return Allowed(_union(self.excluded, pairs), self.only)

    def count(self, row: int) -> int | None:
        """How many items `only` lets a row have, where there is such a limit."""
        if self.only is None:
            return None
        line = min(row, self.only.shape[0] - 1)
        return int(self.only.indptr[line + 1] - self.only.indptr[line])


def rule_of(options: ListOptions) -> SeenRule:
    """What happens to known items."""
    return SeenRule(options["seen"], options["exclude_recent"], options["hide_events"])


def allowed_items(model: "Recommender", query: Query, options: ListOptions) -> Allowed:
    """The items that each list of a query may have."""
    items, rows = model.items_, len(query.names)
    rule, only, exclude = rule_of(options), options["only"], options["exclude"]
    limited = only is not None or exclude is not None or options["now"] is not None
    mask = mask_of(model.attributes_, only, exclude, options["now"]) if limited else None
    excluded = rule.kept_out(query.known, only_positive(query.matrix))
    if exclude is not None and not is_by_attribute(exclude):
        excluded = _union(excluded, _lists(items, exclude, rows, "exclude"))
    listed = None if only is None or is_by_attribute(only) else _lists(items, only, rows, "only")
    if mask is not None:
        listed = pattern_of([np.flatnonzero(mask)], len(items)) if listed is None else _masked(listed, mask)
    return Allowed(excluded, rule.let_in(query.known, listed))


def _lists(items: Ids, given: Any, rows: int, name: str) -> csr_array:
    """One list for all, or one per row, as a pattern of known items; `only` for all is a single row."""
    whole = is_one_id(given) or hasattr(given, "tolist") or not isinstance(given, Iterable)
    values = given if whole else list(given)
    nested = [] if whole else [value is not None and not is_one_id(value) for value in values]
    if any(nested) and not all(nested):
        raise UsageError(f"{name} takes one list of item ids for all, or one list per row: not a mixture.")
    if not any(nested):
        (shared,), times = rows_or_warn(items, [values], name), 1 if name == "only" else rows
        if len(shared) * times > sizes.FEW:
            memory.require(
                PER_LIMIT * len(shared) * times,
                what=f"{name} with {len(shared):,} items for each of {times:,} lists",
                instead="ask for some users at a time, or choose items by a condition on attributes.",
            )
        return pattern_of([shared[shared >= 0]] * times, len(items))
    if len(values) != rows:
        raise DataError(f"{name} has {len(values)} lists for {rows} rows: give one list for all, or one per row.")
    return pattern_of([row[row >= 0] for row in rows_or_warn(items, values, name)], len(items))


def _rows(matrix: csr_array, at: NDArray[np.integer]) -> csr_array:
    if matrix.shape[0] == 1:  # holds for all
        return matrix
    some = matrix[at]
    some.sort_indices()
    return some


def _masked(pattern: csr_array, mask: Masks) -> csr_array:
    keep = mask[pattern.indices]
    indptr = np.append(0, np.cumsum(keep))[pattern.indptr]
    kept = csr_array((pattern.data[keep], pattern.indices[keep], indptr), shape=pattern.shape)
    kept.has_sorted_indices = True
    return kept


def _union(left: csr_array, right: csr_array) -> csr_array:
    both = (left + right).tocsr()
    both.sort_indices()
    return both
