"""Kernels of tasks: those of a fit in memory, on a range of users or a block of items of mapped files.

Each row of an item belongs to one block, so the result does not depend on the blocks. Sums over users are computed in
ranges that depend on the data only, and added in their order.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array

from corml._runtime.parallel import each
from corml.linalg.co_occurrence import Ranking, strongest_rows
from corml.linalg.dense_normal import normal_product
from corml.linalg.normal import product_rows, through_users
from corml.linalg.pairs import Support
from corml.models.corml.sparse.pairs import dot_rows, gram_rows
from corml.models.corml.sparse.pricing import Constants, Numbers, PricedFactors, Prices
from corml.outofcore.fit.matrix import sides_of
from corml.outofcore.tasks import Artefact, Draft

ROWS = 4096  # of items, that one thread takes at a time

Inputs = Mapping[str, Artefact]
T = TypeVar("T")


def strongest(inputs: Inputs, out: Draft, *, start: int, stop: int, most: int) -> dict[str, Any]:
    """The candidates of a block of items, with RᵀΩR on them."""
    sides, numbers = sides_of(inputs["matrix"]), inputs["numbers"]
    loss, ranking = numbers["loss"], Ranking(numbers["strength"], np.arange(len(sides.items), dtype=np.int32))
    parts = list(_in_threads(lambda a, b: strongest_rows(sides, loss, ranking, most, a, b), start, stop))
    for column, name in enumerate(("indices", "values", "sizes")):
        out.put(name, np.concatenate([part[column] for part in parts]))
    return {"whole": all(part.whole for part in parts)}


def gram(inputs: Inputs, out: Draft, *, start: int, stop: int) -> None:
    """Rᵀ diag(weights) R on a support, for a block of items."""
    sides, support, weights = sides_of(inputs["matrix"]), support_of(inputs["support"]), inputs["numbers"]["weights"]
    out.put("values", support.filled(lambda o, a, b: gram_rows(sides, weights, support, o, a, b), start, stop))


def product(inputs: Inputs, out: Draft, *, start: int, stop: int, side: str, twice: bool) -> None:
    """NᵀN B for a block B of vectors, over a range of users; of items it is NNᵀ B."""
    sides, factors = sides_of(inputs["matrix"]), inputs["factors"]
    rows, B = sides.users if side == "u" else sides.items, inputs["block"]["block"]
    out.put("product", normal_product(rows, factors["row"], factors["column"], B, start, stop, twice=twice))


def dots(inputs: Inputs, out: Draft, *, start: int, stop: int) -> None:
    """One dot product for each pair of a block of items."""
    support, left, right = support_of(inputs["support"]), inputs["factors"]["left"], inputs["factors"]["right"]
    out.put("values", support.filled(lambda o, a, b: dot_rows(support, left, right, o, a, b), start, stop))


def product_by_rows(inputs: Inputs, out: Draft, *, start: int, stop: int) -> None:
    """A X on the support for a block of items, a row of A at a time."""
    sides, support, numbers = sides_of(inputs["matrix"]), support_of(inputs["support"]), inputs["numbers"]
    weights, x = (numbers["p"], numbers["both"]), inputs["x"]["x"]
    values = support.filled(
        lambda o, a, b: product_rows(sides, weights, support, x, o, (a, b)), start, stop, smallest=16
    )
    out.put("values", values)


def product_by_users(inputs: Inputs, out: Draft, *, start: int, stop: int) -> None:
    """The contribution of a range of users to A X on the support."""
    sides, support, numbers = sides_of(inputs["matrix"]), support_of(inputs["support"]), inputs["numbers"]
    values = np.zeros(len(support), dtype=np.float32)
    through_users(sides.users, (numbers["p"], numbers["both"]), support, inputs["x"]["x"], values, (start, stop))
    out.put("values", values)


def prices(
    inputs: Inputs, out: Draft, *, start: int, stop: int, constants: list[float], per_item: int, alike: bool
) -> None:
    """The excluded pairs of a block of items."""
    sides, H = sides_of(inputs["matrix"]), inputs["H"]
    matrix = csr_array((H["data"], H["indices"], H["indptr"]), shape=(len(sides.items),) * 2)
    numbers = Numbers(*(inputs["numbers"][name] for name in Numbers._fields))
    factors = PricedFactors(*(inputs["factors"][name] for name in PricedFactors._fields))
    given = Prices(sides, matrix, numbers, factors, Constants(*constants), alike, per_item)
    parts = list(_in_threads(given.rows, start, stop))
    for column, name in enumerate(("sums", "first", "second", "violation"), start=1):
        out.put(name, np.concatenate([part[column] for part in parts]))


def support_of(artefact: Artefact) -> Support:
    """A support, mapped; it has no twins, which only the driver needs."""
    return Support(artefact["indptr"], artefact["indices"], np.zeros(0, dtype=np.int32))


def _in_threads(work: Callable[[int, int], T], start: int, stop: int) -> Iterator[T]:
    """The results of `work` for some rows at a time."""
    edges = [*range(start, stop, ROWS), stop]
    return each(lambda at: work(edges[at], edges[at + 1]), len(edges) - 1)
