"""The state of a model that was fitted on a store."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from corml.fitted import Fitted, Settings
from corml.lazy_polars import refuse_after_fork
from corml.method.out_of_core.estimate import plan_of_store
from corml.method.out_of_core.fit import fit_store
from corml.method.out_of_core.plan import refuse_unknown
from corml.progress import Progress
from corml.store import Store
from corml.tasks import executor_on, working_in

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["fitted"]

FOLDER = "fit"  # inside the store, unless another is given


def fitted(
    store: Store,
    settings: Settings,
    work: str | os.PathLike[str] | None,
    cluster: "str | Client | None",
    progress: Progress,
) -> Fitted:
    """Fit, and put together what the model knows; `cluster` is a client of Dask, or the address of a scheduler."""
    refuse_after_fork()
    refuse_unknown(settings)
    place = store.path / FOLDER if work is None else Path(work)
    with working_in(place, "a fit") as artefacts, executor_on(cluster, artefacts) as executor:
        executor.require(lambda cores: plan_of_store(store, settings, cores).worker_bytes)
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
