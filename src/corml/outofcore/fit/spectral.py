"""V of a matrix in files: block Lanczos here, whose products with NᵀN are tasks over ranges of rows.

    N = D_U^{-a} R D^{-b}

As in memory, vectors have the length of the smaller side, and rows are those of the larger one. Where these are one
range, V has the bytes that it has in memory; of several ranges, what they give is added in their order.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corml._runtime.parallel import blas
from corml.linalg.dense_normal import scaled_product
from corml.linalg.sparse import Rows, normalised, power
from corml.linalg.svd import (
    BLOCK,
    fixed_signs,
    is_small_shape,
    right_from_left,
    right_singular_vectors,
    right_singular_vectors_of,
    rough_right_vectors,
)
from corml.models.corml.problem import Norms
from corml.outofcore.fit import files as cuts
from corml.outofcore.fit.files import Files

NOTHING = 1e-4  # singular values below this share of the largest are rounding errors

Matrix = NDArray[np.float32]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class NormalProduct:
    """B ↦ NᵀN B, or RᵀN B if not `twice`, by tasks over rows of users; over rows of items it is NNᵀ."""

    files: Files
    users: Vector
    items: Vector
    twice: bool = True
    over_users: bool = True

    @property
    def size(self) -> int:
        """The length of vectors."""
        return len(self.items if self.over_users else self.users)

    @property
    def _rows(self) -> Rows:
        return self.files.sides.users if self.over_users else self.files.sides.items

    @cached_property
    def _given(self) -> tuple[str, list[cuts.Range]]:
        row, column = (self.users, self.items) if self.over_users else (self.items, self.users)
        return self.files.artefacts.keep(row=row, column=column), cuts.ranges(self._rows.degrees, cuts.PAIRS)

    def __call__(self, block: Matrix) -> Matrix:
        """The product with a block of vectors."""
        files, (factors, ranges) = self.files, self._given
        given = {"block": files.scratch(block=np.ascontiguousarray(block)), "factors": factors}
        side, total = "u" if self.over_users else "i", np.zeros(block.shape, dtype=np.float32)
        tasks = list(files.run("product", given, ranges, durable=False, side=side, twice=self.twice))
        for task in tasks:
            total += files.artefacts.open(task.key)["product"]
        files.artefacts.discard(given["block"], *(task.key for task in tasks))
        return total

    def right(self, vectors: Matrix, s: Vector) -> Matrix:
        """Right singular vectors from those of the smaller side."""
        if self.over_users:
            return vectors
        return right_from_left(lambda left: scaled_product(self._rows, self.items, self.users, left), vectors, s)


def singular_vectors(files: Files, rank: int, norms: Norms, *, rough: bool = False) -> tuple[Matrix, Vector]:
    """V of the degree-normalised interactions and its singular values; kept, so that they are made once."""
    made = files.made_once(
        files.key("V", rank, list(norms), rough),
        lambda: dict(zip("Vs", _singular_vectors(files, rank, norms, rough=rough), strict=True)),
    )
    return made["V"], made["s"]


def _singular_vectors(files: Files, rank: int, norms: Norms, *, rough: bool) -> tuple[Matrix, Vector]:
    users, items = files.sides.shape
    scales = power(files.user_degrees, -norms[0]), power(files.d, -norms[1])
    normal = NormalProduct(files, *scales, over_users=items <= users)
    rank = min(rank, users, items)
    if is_small_shape((users, items), rank):
        few = items <= users
        V, s = _through_gram(normal, rank) if few else right_singular_vectors(normalised(files.X, *norms), rank)
    elif rough:
        with blas(1):
            V, s = rough_right_vectors(normal, rank)
    else:
        V, s = right_singular_vectors_of(normal, rank)
    V = np.ascontiguousarray(V, dtype=np.float32)
    V[files.sides.items.degrees == 0] = 0
    return V, s


def _through_gram(normal: NormalProduct, rank: int) -> tuple[Matrix, Vector]:
    """All of NᵀN, for few items, a block of columns at a time; its eigenvectors."""
    n = normal.size
    gram = np.empty((n, n))
    for start in range(0, n, BLOCK):
        block = np.zeros((n, BLOCK), dtype=np.float32)
        width = min(BLOCK, n - start)
        block[np.arange(start, start + width), np.arange(width)] = 1
        gram[:, start : start + width] = normal(block)[:, :width]
    with blas(1):
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    s = np.sqrt(np.maximum(values[::-1][:rank], 0))
    kept = int((s > NOTHING * s[0]).sum())
    return fixed_signs(vectors[:, ::-1][:, :kept]), s[:kept]
