"""What tasks do: the kernels of a fit in memory, on a range of users or a block of items of mapped files.

Rows of items are owned by one block, so that how they are cut does not show in the answer. What is summed over users is
summed in ranges that are fixed by the data, in their order.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.by_rows import product_rows
from corml.linalg.co_occurrence import strongest_rows
from corml.linalg.dense_normal import normal_product
from corml.linalg.normal import through_users
from corml.linalg.support import Support
from corml.method.out_of_core.matrix import sides_of
from corml.method.sparse.candidates import gram_rows
from corml.method.sparse.cross_term import dot_rows
from corml.method.sparse.pricing import Prices
from corml.parallel import each, over_rows
from corml.tasks import Artefact, Draft

__all__ = ["dots", "gram", "prices", "product", "product_by_rows", "product_by_users", "strongest"]

ROWS = 4096  # of items, that one thread takes at a time

Inputs = Mapping[str, Artefact]


def strongest(inputs: Inputs, out: Draft, *, start: int, stop: int, most: int) -> dict[str, Any]:
    """The candidates of a block of items, with RᵀΩR on them."""
    sides, numbers = sides_of(inputs["matrix"]), inputs["numbers"]
    loss, ranking = numbers["loss"], (numbers["strength"], np.arange(len(sides.items), dtype=np.int32))
    edges = _edges(start, stop)
    parts = list(each(lambda at: strongest_rows(sides, loss, ranking, most, edges[at], edges[at + 1]), len(edges) - 1))
    for column, name in enumerate(("indices", "values", "sizes")):
        out.put(name, np.concatenate([part[column] for part in parts]))
    return {"whole": all(part.whole for part in parts)}


def gram(inputs: Inputs, out: Draft, *, start: int, stop: int, weights: str) -> None:
    """Rᵀ diag(weights) R on a support, for a block of items."""
    sides, support, by_user = sides_of(inputs["matrix"]), support_of(inputs["support"]), inputs["numbers"][weights]
    values, shift = _slice(support, start, stop)
    over_rows(lambda a, b: gram_rows(sides, by_user, support, values, start + a, start + b, shift=shift), stop - start)
    out.put("values", values)


def product(inputs: Inputs, out: Draft, *, start: int, stop: int, side: str, twice: bool) -> None:
    """NᵀN B for a block B of vectors, over a range of users; of items it is NNᵀ B."""
    sides, factors = sides_of(inputs["matrix"]), inputs["factors"]
    rows, B = sides.users if side == "u" else sides.items, inputs["block"]["block"]
    out.put("product", normal_product(rows, factors["row"], factors["column"], B, start, stop, twice=twice))


def dots(inputs: Inputs, out: Draft, *, start: int, stop: int) -> None:
    """One dot product for each pair of a block of items."""
    support, factors = support_of(inputs["support"]), inputs["factors"]
    values, shift = _slice(support, start, stop)
    left, right = factors["left"], factors["right"]
    over_rows(lambda a, b: dot_rows(support, left, right, values, start + a, start + b, shift=shift), stop - start)
    out.put("values", values)


def product_by_rows(inputs: Inputs, out: Draft, *, start: int, stop: int) -> None:
    """A X on the support for a block of items, a row of A at a time."""
    sides, support, numbers = sides_of(inputs["matrix"]), support_of(inputs["support"]), inputs["numbers"]
    values, shift = _slice(support, start, stop)
    p, both, x = numbers["p"], numbers["both"], inputs["x"]["x"]
    over_rows(
        lambda a, b: product_rows(sides, p, both, support, x, values, start + a, start + b, shift=shift),
        stop - start,
        smallest=16,
    )
    out.put("values", values)


def product_by_users(inputs: Inputs, out: Draft, *, start: int, stop: int) -> None:
    """What a range of users adds to A X on the support."""
    sides, support, numbers = sides_of(inputs["matrix"]), support_of(inputs["support"]), inputs["numbers"]
    values = np.zeros(len(support), dtype=np.float32)
    through_users(sides.users, numbers["p"], numbers["both"], support, inputs["x"]["x"], values, start, stop)
    out.put("values", values)


def prices(
    inputs: Inputs, out: Draft, *, start: int, stop: int, constants: list[float], per_item: int, alike: bool
) -> None:
    """The excluded pairs of a block of items."""
    numbers, factors, H = inputs["numbers"], inputs["factors"], inputs["H"]
    n = len(H["indptr"]) - 1
    given = Prices(
        sides_of(inputs["matrix"]),
        csr_array((H["data"], H["indices"], H["indptr"]), shape=(n, n)),
        tuple(numbers[name] for name in ("p", "loss", "both", "curvature")),
        alike,
        (factors["left_right"], factors["own"], factors["heads"]),
        np.array(constants, dtype=np.float32),
        per_item,
    )
    edges = _edges(start, stop)
    parts = list(each(lambda at: given.rows(edges[at], edges[at + 1]), len(edges) - 1))
    for column, name in enumerate(("sums", "first", "second", "violation"), start=1):
        out.put(name, np.concatenate([part[column] for part in parts]))


def support_of(artefact: Artefact) -> Support:
    """A support, mapped; it has no twins, which only the driver needs."""
    return Support(artefact["indptr"], artefact["indices"], np.zeros(0, dtype=np.int32))


def _slice(support: Support, start: int, stop: int) -> tuple[NDArray[np.float32], int]:
    """Room for the entries of some rows, and the first of them."""
    low, high = int(support.indptr[start]), int(support.indptr[stop])
    return np.zeros(high - low, dtype=np.float32), low


def _edges(start: int, stop: int) -> list[int]:
    return [*range(start, stop, ROWS), stop]
