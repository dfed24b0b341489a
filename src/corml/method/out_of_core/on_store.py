"""The state of a model that was fitted on a store."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from corml.fitted import Fitted, Settings
from corml.method.out_of_core.fit import fit_store
from corml.method.out_of_core.folder import working_in
from corml.method.out_of_core.plan import refuse_unknown
from corml.progress import Progress
from corml.store import Store
from corml.tasks import Artefacts, Executor, Serial

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["fitted"]


def fitted(
    store: Store,
    settings: Settings,
    work: str | os.PathLike[str] | None,
    cluster: "str | Client | None",
    progress: Progress,
) -> Fitted:
    """Fit, and put together what the model knows; `cluster` is a client of Dask, or the address of a scheduler."""
    refuse_unknown(settings)
    with working_in(work, store) as artefacts, _executor(artefacts, cluster) as executor:
        learned = fit_store(store, settings, executor, progress)
        files = learned.files
        return replace(
            Fitted.on(store.without_pairs(), settings),
            train=files.pattern(),  # mapped: the system keeps the files of an open map, though they are removed
            counts=files.sides.items.degrees,
            times=files.times,
            weights=files.weights,
            fingerprint=store.fingerprint,
            arrays={"H": learned.H, "V": learned.V, "degrees": learned.degrees},
            plan=learned.plan,
            certificates=learned.certificates,
        )


@contextmanager
def _executor(artefacts: Artefacts, cluster: "str | Client | None") -> Iterator[Executor]:
    if cluster is None:
        yield Serial(artefacts)
        return
    from corml.tasks.cluster import Dask, connected  # only who has a cluster waits for it

    if isinstance(cluster, str):
        with connected(cluster) as client:
            yield Dask(artefacts, client)
    else:
        yield Dask(artefacts, cluster)
