"""A matrix in files, its executor, and how work on it is divided into tasks.

Tasks depend on the data alone, never on threads, workers or memory, so that the results are byte-identical. A task
should take a second or more, so that its overhead is small, and there should be enough of them for many machines.
Ranges of users and blocks of items have about equal work.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count as counter
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.progress import Progress, silent
from corml.linalg.co_occurrence import reached
from corml.linalg.sparse import Sides
from corml.outofcore.fit.matrix import sides_of
from corml.outofcore.tasks import Artefact, Artefacts, Executor, Task, key_of

PAIRS = 1 << 24  # interactions of a range of users that are multiplied with a block of vectors
VISITS = 1 << 28  # items of users of items, of a block whose co-occurring pairs are found or priced
GATHERS = 1 << 30  # numbers read in one step of the solver
MOST = 10_000  # tasks of a stage
ONE_THREAD = {"product_by_users"}  # kernels that use no more
KERNELS = "corml.outofcore.fit.kernels"
_number = counter()

Range = tuple[int, int]


def ranges(work: NDArray[Any], of_one: float) -> list[Range]:
    """Consecutive ranges of rows with about `of_one` work each; at least one, at most MOST."""
    total = np.concatenate([[0.0], np.cumsum(work, dtype=np.float64)])
    pieces = count(total[-1], of_one, len(work))
    edges = np.searchsorted(total, total[-1] * np.arange(1, pieces) / pieces)
    edges = np.unique(np.concatenate([[0], edges, [len(work)]]))
    return [(int(a), int(b)) for a, b in pairwise(edges)]


def count(work: float, of_one: float, rows: int) -> int:
    """The number of ranges, if no row has more work than one range."""
    return int(np.clip(np.ceil(work / of_one), 1, min(MOST, max(rows, 1))))


@dataclass(frozen=True)
class Files:
    """A matrix, by the key of its artefact, and the executor of its tasks."""

    executor: Executor
    matrix: str
    progress: Progress = field(default=silent, repr=False)

    @property
    def artefacts(self) -> Artefacts:
        """Where everything is kept."""
        return self.executor.artefacts

    @cached_property
    def sides(self) -> Sides:
        """Both sides of the matrix, mapped."""
        return sides_of(self.artefacts.open(self.matrix))

    @cached_property
    def X(self) -> csr_array:  # noqa: N802 (the paper's letter)
        """The matrix with mapped arrays; where all values are one they take no memory."""
        values = self.sides.users.values
        return self._with(np.broadcast_to(np.float32(1), (self.sides.nnz,)) if values is None else values)

    def pattern(self) -> csr_array:
        """The binary matrix with arrays of its own, all of them mapped."""
        key, size = "scratch-ones", self.sides.nnz
        self.artefacts.discard(key)
        self.artefacts.make(key, lambda out: out.create("ones", (size,), np.float32).fill(np.float32(1)), durable=False)
        return self._with(self.artefacts.open(key)["ones"])

    def _with(self, values: NDArray[Any]) -> csr_array:
        ptr, indices, _ = self.sides.users
        matrix = csr_array((values, indices.view(np.int32), ptr), shape=self.sides.shape)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def of_pairs(self, name: str) -> NDArray[Any] | None:
        """The times or weights of the pairs in the order of the rows of users, as given, mapped; None without."""
        return self.artefacts.open(self.matrix).get(f"u_{name}")

    @cached_property
    def d(self) -> NDArray[np.float64]:
        """Users of each item, one at least."""
        return np.maximum(self.sides.items.degrees.astype(np.float64), 1.0)

    @cached_property
    def user_degrees(self) -> NDArray[np.float64]:
        """Items of each user, one at least."""
        return np.maximum(self.sides.users.degrees.astype(np.float64), 1.0)

    @cached_property
    def visits(self) -> NDArray[np.int64]:
        """The work of finding what each item co-occurs with."""
        return reached(self.sides)

    def key(self, *about: Any) -> str:
        """A name for what depends on the matrix and these values alone."""
        return key_of(self.matrix, *about)

    def made_once(self, key: str, make: Callable[[], dict[str, NDArray[Any]]]) -> Artefact:
        """Arrays by their key; they are made and kept if they are not there."""
        if self.artefacts.find(key) is None:
            self.artefacts.write(key, durable=True, **make())
        return self.artefacts.open(key)

    def scratch(self, **arrays: NDArray[Any]) -> str:
        """Keep arrays for the tasks of this run."""
        return self.artefacts.write(f"scratch-{next(_number)}", durable=False, **arrays)

    def run(
        self,
        kernel: str,
        inputs: dict[str, str],
        cut: Sequence[Range],
        *,
        stage: str | None = None,
        durable: bool = True,
        **params: Any,
    ) -> Iterator[Task]:
        """Run a kernel on the matrix, a task for each range; the tasks in their order, when all are done."""
        given, one_thread = {"matrix": self.matrix, **inputs}, kernel in ONE_THREAD
        tasks = [
            Task(
                f"{KERNELS}:{kernel}", given, {"start": a, "stop": b, **params}, durable=durable, one_thread=one_thread
            )
            for a, b in cut
        ]
        self.executor.run(tasks, None if stage is None else lambda done, total: self.progress(stage, done, total))
        return iter(tasks)
