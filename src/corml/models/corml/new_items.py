"""New items in CoRML: rows of H, of the filter and a degree for each, from the items that are similar to it.

With a the weights of the items k similar to a new item j, what an item i of a history adds to the score of j is

    y_ij = Σ_k a_jk y_ik,     y_ik = d_i^{-t} H_ik d_k^t + (the filter's part) for k ≠ i,

and for k = i, where H has nothing, as much as the nearest neighbour of i adds to it. The degree of j, which nobody has
yet, is the geometric mean of those of k. From that H and V have their rows and columns for j: H stays symmetric, hollow
and without negative entries, and all that scores, lists, explains and saves a CoRML does so for j as well.
"""

import numpy as np
from scipy.sparse import csr_array

from corml.linalg.sparse import Array, Vector, power, scaled
from corml.models.new_items import as_own_neighbour, padded


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
