"""Which executor runs the tasks of a call."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from corml.outofcore.tasks.artefacts import Artefacts
from corml.outofcore.tasks.executor import Executor, Serial

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["executor_on"]


@contextmanager
def executor_on(cluster: "str | Client | None", artefacts: Artefacts) -> Iterator[Executor]:
    """An executor for a client of Dask, the address of a scheduler, or None: this process."""
    if cluster is None:
        yield Serial(artefacts)
        return
    from corml.outofcore.tasks.cluster import Dask, connected  # only who has a cluster waits for it

    if isinstance(cluster, str):
        with connected(cluster) as client:
            yield Dask(artefacts, client)
    else:
        yield Dask(artefacts, cluster)
