"""Work on a store: which fits are done in files, and who does the work."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import corml
from corml.errors import UsageError
from corml.method.estimator import CoRML
from corml.recommender import Recommender
from corml.store import Store, is_store

__all__ = ["check_cluster", "check_options", "cluster", "store_of"]


def store_of(source: str, recommender: Recommender, loading: dict[str, Any], splitting: dict[str, Any]) -> Store | None:
    """The store to fit on in files; None where data are loaded into memory, which options of loading ask for."""
    in_files = is_store(source) and type(recommender) is CoRML and not loading and not splitting
    return corml.Store(source) if in_files else None


def check_options(
    store: Store | None, work: str | None, workers: int | None, address: str | None, *, insecure: bool
) -> None:
    """Refuse options of fits on stores that would be ignored, before anything is read."""
    given = {"--work": work, "--workers": workers, "--cluster": address, "--insecure-cluster": insecure or None}
    named = [name for name, value in given.items() if value is not None]
    if store is None and named:
        raise UsageError(
            f"{named[0]} is for a fit of corml on a store, without --split and options of loading: make one with corml "
            "data store."
        )
    check_cluster(workers, address, insecure=insecure)


def check_cluster(workers: int | None, address: str | None, *, insecure: bool) -> None:
    """Refuse options of a cluster that contradict each other."""
    if workers is not None and address is not None:
        raise UsageError("--workers starts a cluster here and --cluster names one that runs: give one of them.")
    if insecure and address is None:
        raise UsageError("--insecure-cluster says something of --cluster ADDRESS: give it, or leave both out.")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers takes a number of at least 1; got {workers}.")


@contextmanager
def cluster(workers: int | None, address: str | None, *, insecure: bool) -> Iterator[Any]:
    """A client of the cluster that was asked for, or None."""
    if workers is None and address is None:
        yield None
        return
    from corml.tasks.cluster import connected, local_workers  # only who asks for it waits for Dask

    if address is not None:
        with connected(address, insecure=insecure) as client:
            yield client
        return
    assert workers is not None
    with local_workers(workers) as client:
        yield client
