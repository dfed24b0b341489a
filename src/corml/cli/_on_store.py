"""Fits on a store: which of them are done in files."""

from collections.abc import Mapping
from typing import Any

import corml
from corml.cli._cluster import named
from corml.cli._options import Given
from corml.data.store import Store, is_store
from corml.errors import UsageError
from corml.models.corml.estimator import CoRML
from corml.models.recommender import Recommender
from corml.persistence.atomic import writable_folder


def store_of(source: str, recommender: Recommender, loading: Given, splitting: Given) -> Store | None:
    """The store to fit on in files; None where data are loaded into memory, which options of loading ask for."""
    in_files = is_store(source) and type(recommender) is CoRML and not loading and not splitting
    return corml.Store(source) if in_files else None


def check_options(store: Store | None, work: str | None, cluster: Mapping[str, Any]) -> None:
    """Refuse options of fits on stores that would be ignored, before anything is read."""
    given = [*(["--work"] if work is not None else []), *named(cluster)]
    if store is None and given:
        raise UsageError(
            f"{given[0]} is for a fit of corml on a store, without --split and options of loading: make one with corml "
            "data store."
        )
    if work is not None:
        writable_folder(work)
