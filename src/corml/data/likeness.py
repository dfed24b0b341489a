"""Weights of known items that are similar to a new item, from attributes alone.

An item's features are its categories, the words of its texts, and its numbers and times by tenths of the known items.
A feature that many known items have says little: it counts log((1 + n) / (1 + items with it)). Each column is brought
to length 1, then the whole, so that no column outweighs another. Of the known items that share most with a new item the
weights a are those of a ridge regression of its features f, none below zero, and then brought to the sum 1:

    minimise  ½‖f − Σ_k a_k f_k‖² + ridge/2·‖a‖²     subject to  a ≥ 0.

So two known items that are alike both get weight, and an item that shares nothing more with the new one gets none.
"""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, hstack

from corml.data.attributes import Attributes, Categories, Column, Texts
from corml.linalg.sparse import scaled

RIDGE = 2.0  # best on held-out items of two data sets: benchmarks/new_items.py
CANDIDATES = 100  # known items that a new one may be like
BINS = 10  # of numbers and times, with as many known items each
BAND = 256  # new items compared with all known ones at a time

Rows = NDArray[np.int64]


def likeness(table: Attributes, known: Rows, new: Rows, *, ridge: float = RIDGE, most: int = CANDIDATES) -> csr_array:
    """Items × items: the row of a new item has the weights of the known items it is like; all others are empty."""
    every = features(table, known)
    among, rows, columns, values = every[known], [], [], []
    for band in (new[at : at + BAND] for at in range(0, len(new), BAND)):
        for item, shared in zip(band, (every[band] @ among.T).toarray(), strict=True):
            nearest = np.argsort(-shared, kind="stable")[:most]
            nearest = nearest[shared[nearest] > 0]
            weights = _weights(among[nearest], shared[nearest], ridge)
            rows.append(np.full(len(nearest), item))
            columns.append(known[nearest])
            values.append(weights)
    entries = [np.concatenate([np.zeros(0), *parts]) for parts in (values, rows, columns)]
    where = entries[1].astype(np.int32), entries[2].astype(np.int32)
    link = csr_array(coo_array((entries[0].astype(np.float32), where), shape=(len(table), len(table))))
    link.eliminate_zeros()
    link.sort_indices()
    return link


def _weights(items: csr_array, shared: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    """The regression on the features of some items, whose products with those of the new one are `shared`."""
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import nnls

    if not len(shared):
        return shared
    root = cholesky((items @ items.T).toarray() + ridge * np.eye(len(shared)), lower=True)
    weights, _ = nnls(root.T, solve_triangular(root, shared, lower=True), maxiter=30 * len(shared))
    return np.asarray(weights / weights.sum())


# --- features --------------------------------------------------------------------------------------------------------


def features(table: Attributes, known: Rows) -> csr_array:
    """Items × features, each row of length 1 (or 0); what a feature counts is measured on the known items."""
    columns = [_of_length_one(_weighed(_counted(column, known), known)) for column in table.columns.values()]
    if not columns:
        return csr_array((len(table), 1))
    return _of_length_one(csr_array(hstack(columns)))


def _counted(column: Column, known: Rows) -> csr_array:
    if isinstance(column, Categories):
        return column.matrix.astype(np.float64)
    if isinstance(column, Texts):
        return _from_rows([sorted(set(words(text))) for text in column.texts])
    return _binned(column.values, known)


def words(text: str) -> Iterator[str]:
    """The words of a text, capitals aside; a number is a word."""
    return (match[0] for match in re.finditer(r"\w+", text.casefold()))


def _from_rows(rows: list[list[str]]) -> csr_array:
    column: dict[str, int] = {}
    indices = [column.setdefault(word, len(column)) for row in rows for word in row]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(rows), max(len(column), 1)))


def _binned(values: NDArray[np.float64], known: Rows) -> csr_array:
    """One for the bin of a number, a half for the bins beside it, so that what is near is alike."""
    there = np.isfinite(values)
    some = values[known][there[known]]
    if not len(some):
        return csr_array((len(values), 1))
    edges = np.unique(np.quantile(some, np.arange(1, BINS) / BINS))
    at = np.searchsorted(edges, values[there], side="right")
    rows, width = np.flatnonzero(there), len(edges) + 3  # a bin beyond either end, so that each has two beside it
    spread = [(rows, at + 1 + step, np.full(len(rows), share)) for step, share in ((-1, 0.5), (0, 1.0), (1, 0.5))]
    row, column, share = (np.concatenate(parts) for parts in zip(*spread, strict=True))
    return csr_array(coo_array((share, (row, column)), shape=(len(values), width)))


def _weighed(counts: csr_array, known: Rows) -> csr_array:
    """Features by how few known items have them; those that none has are left out."""
    having = np.bincount(counts[known].indices, minlength=counts.shape[1])
    worth = np.where(having > 0, np.log((1 + len(known)) / (1 + having)), 0)
    return scaled(counts, columns=worth)


def _of_length_one(rows: csr_array) -> csr_array:
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)))
    return scaled(rows, rows=1 / np.where(lengths > 0, lengths, 1))
