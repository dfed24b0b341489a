"""The state of a model that was fitted on a store."""

import os
from dataclasses import replace

from corml.fitted import Fitted, Settings
from corml.method.out_of_core.fit import fit_store
from corml.method.out_of_core.folder import working_in
from corml.method.out_of_core.plan import refuse_unknown
from corml.progress import Progress
from corml.store import Store
from corml.tasks import Serial

__all__ = ["fitted"]


def fitted(store: Store, settings: Settings, work: str | os.PathLike[str] | None, progress: Progress) -> Fitted:
    """Fit, and put together what the model knows."""
    refuse_unknown(settings)
    with working_in(work, store) as artefacts:
        learned = fit_store(store, settings, Serial(artefacts), progress)
        state = Fitted.on(store.interactions(), settings)
    return replace(
        state,
        arrays={"H": learned.H, "V": learned.V, "degrees": learned.degrees},
        plan=learned.plan,
        certificates=learned.certificates,
    )
