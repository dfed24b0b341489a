"""V of a matrix in files: block Lanczos here, whose products with NᵀN are tasks over ranges of users.

    NᵀN B = D^{-b} Rᵀ D_U^{-2a} R D^{-b} B

What the ranges give is added in their order.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corml.linalg.lanczos import rough_right_vectors
from corml.linalg.scaling import normalised, power
from corml.linalg.svd import fixed_signs, is_small_shape, right_singular_vectors, right_singular_vectors_of
from corml.method.out_of_core import cuts
from corml.method.out_of_core.files import Files
from corml.method.spectral import Norms
from corml.parallel import blas

__all__ = ["NormalProduct", "singular_vectors"]

PARTS = 8  # of a range of users, summed in order: as many threads can work on it
COLUMNS = 16  # multiplied at a time where the whole of NᵀN is made
NOTHING = 1e-4  # singular values below this share of the largest are rounding

Matrix = NDArray[np.float32]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class NormalProduct:
    """B ↦ S Rᵀ Φ R S' B by tasks, for weights Φ of users and S, S' of items."""

    files: Files
    numbers: str  # artefact with the weights of users
    weights: str  # their name in it
    before: Vector
    after: Vector

    @property
    def size(self) -> int:
        """The length of vectors."""
        return len(self.before)

    @cached_property
    def _ranges(self) -> list[cuts.Range]:
        return cuts.ranges(self.files.sides.users.degrees, cuts.PAIRS)

    def __call__(self, block: Matrix) -> Matrix:
        """The product with a block of vectors."""
        files = self.files
        given = files.scratch(block=np.ascontiguousarray(self.before[:, None] * block, dtype=np.float32))
        tasks = [
            files.task("normal_product", {"block": given, "numbers": self.numbers}, durable=False,
                       start=start, stop=stop, parts=PARTS, weights=self.weights)
            for start, stop in self._ranges
        ]  # fmt: skip
        total = np.zeros(block.shape, dtype=np.float32)
        for task in files.finished(tasks):
            total += files.artefacts.open(task.key)["product"]
        files.drop(given, *(task.key for task in tasks))
        total *= self.after[:, None].astype(np.float32)
        return total

    def right(self, vectors: Matrix, _: Vector) -> Matrix:
        """The right singular vectors: these."""
        return vectors


def singular_vectors(files: Files, rank: int, norms: Norms, *, rough: bool = False) -> tuple[Matrix, Vector]:
    """V of the degree-normalised interactions and its singular values; kept, so that they are made once."""
    key = files.key("V", rank, list(norms), rough)
    found = files.artefacts.find(key)
    if found is None:
        V, s = _singular_vectors(files, rank, norms, rough=rough)
        files.artefacts.write(key, durable=True, V=V, s=s)
        found = files.artefacts.open(key)
    return found["V"], found["s"]


def _singular_vectors(files: Files, rank: int, norms: Norms, *, rough: bool) -> tuple[Matrix, Vector]:
    users, items = files.user_degrees, files.d
    numbers = files.keep(twice=power(users, -2 * norms[0]).astype(np.float32))
    scale = power(items, -norms[1])
    normal = NormalProduct(files, numbers, "twice", scale, scale)
    rank = min(rank, *files.sides.shape)
    if is_small_shape(files.sides.shape, rank):
        few_items = normal.size <= len(files.sides.users)
        V, s = _through_gram(normal, rank) if few_items else right_singular_vectors(normalised(files.X, *norms), rank)
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
    for start in range(0, n, COLUMNS):
        block = np.zeros((n, COLUMNS), dtype=np.float32)
        width = min(COLUMNS, n - start)
        block[np.arange(start, start + width), np.arange(width)] = 1
        gram[:, start : start + width] = normal(block)[:, :width]
    with blas(1):
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    s = np.sqrt(np.maximum(values[::-1][:rank], 0))
    found = int((s > NOTHING * s[0]).sum())
    return fixed_signs(vectors[:, ::-1][:, :found]), s[:found]
