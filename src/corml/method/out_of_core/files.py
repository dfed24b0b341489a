"""One matrix in files, who works on it, and the tasks on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml.linalg.co_occurrence import reached
from corml.linalg.sides import Sides
from corml.method.out_of_core.matrix import sides_of
from corml.progress import Progress, silent
from corml.tasks import Artefacts, Executor, Task, key_of

__all__ = ["Files"]

ONE_THREAD = {"product_by_users"}  # kernels that use no more
KERNELS = "corml.method.out_of_core.kernels"
_number = count()


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
        """The matrix with mapped arrays; where all values are one they take no room."""
        ptr, indices, values = self.sides.users
        data = np.broadcast_to(np.float32(1), indices.shape) if values is None else values
        matrix = csr_array((data, indices.view(np.int32), ptr), shape=self.sides.shape)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    @property
    def times(self) -> NDArray[np.float64] | None:
        """The moments of the pairs in the order of the rows of users, mapped; None if they are not known."""
        return self.artefacts.open(self.matrix).get("u_times")

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """The weights of the pairs as they were given, likewise."""
        return self.artefacts.open(self.matrix).get("u_weights")

    def pattern(self) -> csr_array:
        """The binary matrix with arrays of its own, all of them mapped."""
        key, size = "scratch-ones", len(self.sides.users.indices)
        self.artefacts.discard(key)
        self.artefacts.make(key, lambda out: out.create("ones", (size,), np.float32).fill(np.float32(1)), durable=False)
        ones = self.artefacts.open(key)["ones"]
        matrix = csr_array((ones, self.X.indices, self.X.indptr), shape=self.X.shape)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

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

    def keep(self, **arrays: NDArray[Any]) -> str:
        """Keep arrays for tasks and for a later run."""
        return self.artefacts.keep(**arrays)

    def scratch(self, **arrays: NDArray[Any]) -> str:
        """Keep arrays for the tasks of this run."""
        return self.artefacts.write(f"scratch-{next(_number)}", durable=False, **arrays)

    def task(self, kernel: str, inputs: dict[str, str], *, durable: bool = True, **params: Any) -> Task:
        """A task on the matrix."""
        one_thread = kernel in ONE_THREAD
        return Task(
            f"{KERNELS}:{kernel}", {"matrix": self.matrix, **inputs}, params, durable=durable, one_thread=one_thread
        )

    def finished(self, tasks: Sequence[Task], stage: str | None = None) -> Iterator[Task]:
        """The tasks in their order, when all are done."""

        def report(done: int, total: int) -> None:
            if stage is not None:
                self.progress(stage, done, total)

        self.executor.run(tasks, report)
        return iter(tasks)

    def drop(self, *keys: str) -> None:
        """Forget scratch."""
        for key in keys:
            self.artefacts.discard(key)
