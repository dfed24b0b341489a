"""Items without interactions: rows for them in the state of a fitted model, and the items that are similar to them.

Each model uses that in its own way (`Recommender._linked`): in linear models the score of a new item is the weighted
mean of the scores of similar items.

CoRML adds rows of H, of the filter, and a degree for each new item.

With a the weights of the items k similar to a new item j, what an item i of a history adds to the score of j is

    y_ij = Σ_k a_jk y_ik,     y_ik = d_i^{-t} H_ik d_k^t + (the filter's part) for k ≠ i,

and for k = i, where H has nothing, as much as the nearest neighbour of i adds to it. The degree of j, which has no
users yet, is the geometric mean of the degrees of k. From that H and V get their rows and columns for j: H stays
symmetric, hollow and without negative entries, and scores, lists, explanations and files include j.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from corml.data.attributes import Attributes
from corml.data.ids import Ids
from corml.data.labels import Labels
from corml.data.likeness import likeness
from corml.data.strength import Rows
from corml.data.titles import merged
from corml.errors import ModelFileError, UsageError, ascii_line, quoted
from corml.linalg.sparse import Array, Vector, power, scaled
from corml.models.fitted import Fitted, present


def widened(state: Fitted, table: Attributes | None) -> Fitted:
    """The state with a row for each new item of a table; no user has these items yet."""
    about = _about(state, table)
    new = [] if table is None else [label for label in table.items if label not in state.items]
    items = Ids([*state.items, *new]) if new else state.items
    users, added = state.train.shape[0], state.added
    if added is not None:  # its catalogue is that of the model, then the items that wait for the next fit
        waiting = [label for label in added.data.items if label not in items]
        added = replace(added, data=added.data.on(added.data.users, Ids([*items, *waiting])))
    wider = replace(
        state,
        items=items,
        train=_of_shape(state.train, (users, len(items))),
        seen=_wider(state.seen, (users, len(items))),
        negative=_wider(state.negative, (users, len(items))),
        counts=np.append(state.counts, np.zeros(len(new), dtype=state.counts.dtype)),
        attributes=about.on(items),
        titles=merged(items, state.titles, about.titles if table is None else table.titles),
        others=None if state.others is None else state.others.on(state.others.users, items),
        added=added,
        evaluation={},  # figures are of the catalogue they were measured on
    )
    if state.elsewhere is None:
        return wider
    data = present(replace(state, added=None)).on(state.users, items)  # items back in the catalogue have been seen
    pairs: dict[str, Any] = {
        name: one.rows for name, one in (("seen", data.seen), ("negative", data.negative)) if one is not None
    }
    return replace(wider, others=data.others, elsewhere=data.elsewhere, **pairs)


def _wider(rows: Rows | None, shape: tuple[int, int]) -> Rows | None:
    return None if rows is None else replace(rows, pattern=_of_shape(rows.pattern, shape))


def checked_lift(lift: Any) -> float:
    """Refuse a lift that is not a positive number."""
    if isinstance(lift, bool) or not isinstance(lift, int | float) or not 0 < lift < 1e6:
        raise UsageError(f"lift must be a number above 0; got {ascii_line(lift)}.")
    return float(lift)


def link_of(state: Fitted) -> csr_array:
    """For each item without interactions the weights of similar items; there must be some."""
    assert state.attributes is not None
    known, new = np.flatnonzero(state.counts > 0), np.flatnonzero(state.counts == 0)
    if not len(new):
        raise UsageError("There are no new items: the model knows all of these from its interactions.")
    link = likeness(state.attributes, known, new)
    if not link.nnz:
        raise UsageError(
            "No new item shares an attribute with an item that the model knows: its attributes are "
            f"{quoted(state.attributes.names, 12) or 'none'}. The table must describe known items too, or the model "
            "must have been fitted with items= (--items)."
        )
    return link


def check_link(link: Any, counts: Array) -> None:
    """Refuse all but positive weights of new items on items with users, with the sum 1."""
    sums = np.asarray(link.sum(axis=1))
    linked = np.diff(link.indptr) > 0
    sound = (link.data > 0).all() and np.allclose(sums[linked], 1, atol=1e-3) and not counts[linked].any()
    if not sound or not counts[link.indices].all():
        raise ModelFileError("its new items are not weighted means of known ones")


def like(link: csr_array | None, item: int, labels: Labels) -> tuple[tuple[str, float], ...]:
    """The items that are similar to a new item, with their weights, the largest first; none for other items."""
    if link is None:
        return ()
    row = slice(link.indptr[item], link.indptr[item + 1])
    order = np.argsort(-link.data[row], kind="stable")
    return tuple((str(labels[link.indices[row][at]]), float(link.data[row][at])) for at in order)


def padded(array: Any, *shape: int) -> Any:
    """An array or matrix with empty rows, and columns, for new items."""
    if isinstance(array, csr_array):
        return _of_shape(array, (shape[0], shape[1]))
    return np.pad(array, [(0, wide - narrow) for wide, narrow in zip(shape, array.shape, strict=True)])


def as_own_neighbour(weights: Any) -> Any:
    """What items add to the scores of items, where each is to itself what its nearest neighbour is to it.

    A model has no score of an item for itself. But having an item is a reason to like similar ones.
    """
    nearest = weights.max(axis=0)
    if not isinstance(weights, csr_array):
        return weights + np.diag(nearest)
    return csr_array(weights + diags_array(np.asarray(nearest.todense()).reshape(-1)))


def _about(state: Fitted, table: Attributes | None) -> Attributes:
    if table is None:
        return Attributes(state.items) if state.attributes is None else state.attributes
    return table if state.attributes is None else state.attributes.extended(table)


def _of_shape(matrix: csr_array, shape: tuple[int, int]) -> csr_array:
    """The same entries in a wider matrix; rows that are added are empty."""
    indptr = np.append(matrix.indptr, np.full(shape[0] - matrix.shape[0], matrix.indptr[-1], dtype=matrix.indptr.dtype))
    wide = csr_array((matrix.data, matrix.indices, indptr), shape=shape)
    wide.has_sorted_indices = matrix.has_sorted_indices
    return wide


# --- CoRML: functions of the arrays of the fit, which are smaller ----------------------------------------------------


def degrees_with(degrees: Array, link: csr_array) -> Vector:
    """The degrees, of new items as the items they are like have them in the mean."""
    new = np.flatnonzero(np.diff(link.indptr))
    d = np.append(degrees, np.ones(link.shape[0] - len(degrees)))
    d[new] = np.exp(link[new] @ np.log(d))
    return d


def metric_with(H: csr_array, d: Vector, link: csr_array, t: float, lift: float) -> csr_array:
    """H with rows and columns of the new items, these times `lift`; those it had of them are forgotten."""
    new = np.diff(link.indptr) > 0
    old = scaled(padded(H, *link.shape), rows=(~new).astype(np.float64), columns=(~new).astype(np.float64))
    old.eliminate_zeros()
    S = as_own_neighbour(scaled(old, rows=power(d, -t), columns=power(d, t)))
    added = scaled(csr_array(S @ link.T), rows=power(d, t), columns=lift * power(d, -t)).astype(H.dtype)
    both = csr_array(old.astype(H.dtype) + added + added.T)
    both.sort_indices()
    return both


def vectors_with(V: Array, d: Vector, link: csr_array, s: float, lift: float) -> Array:
    """V with rows of the new items, times `lift`."""
    new = np.flatnonzero(np.diff(link.indptr))
    wide: Array = padded(V, len(d), V.shape[1])
    wide[new] = (link[new] @ (wide * power(d, s)[:, None])) * (lift * power(d[new], -s))[:, None]
    return wide
