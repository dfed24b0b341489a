"""Stores of random interactions, in several shards; tasks cut small, so that there are many."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

import corml
from corml.outofcore.fit import files as cuts
from support import random_interactions, with_weights

SMALL = {"PAIRS": 3000, "VISITS": 60_000, "GATHERS": 400_000}
KINDS = {
    "plain": lambda data: data,
    "timed": lambda data: replace(data, times=np.random.default_rng(3).random(len(data)) * 1e6),
    "weighted": with_weights,
}


def made(kind, tmp_path_factory):
    """12,000 pairs of 1,500 users with 600 items."""
    folder, data = tmp_path_factory.mktemp(kind), KINDS[kind](random_interactions(0, 1500, 600, 8))
    data.to_frame().write_parquet(folder / "pairs.parquet")
    options = {} if data.weights is None else {"weight": "weight"}
    store = corml.build_store(folder / "pairs.parquet", folder / "pairs.store", memory="1MB", **options)
    assert len(store.manifest.user_starts) > 2
    return store


@pytest.fixture(scope="session", params=list(KINDS))
def any_store(request, tmp_path_factory):
    """With and without times and weights."""
    return made(request.param, tmp_path_factory)


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """Without times and weights."""
    return made("plain", tmp_path_factory)


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch):
    for name, size in SMALL.items():
        monkeypatch.setattr(cuts, name, size)


@pytest.fixture(scope="session")
def digest():
    """A hash of what a model learned."""

    def of(model):
        arrays = [model.V_, model.H_.indptr, model.H_.indices, model.H_.data]
        return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()

    return of


@pytest.fixture(scope="session")
def simple():
    """A model whose fit has every stage but filter selection."""
    return lambda **settings: corml.CoRML(**{"adapt": False, "candidates": 25, "rank": 32, **settings})


@pytest.fixture(scope="session")
def learned(store, simple, digest):
    """The hash of that fit, undisturbed."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, size in SMALL.items():
            monkeypatch.setattr(cuts, name, size)
        return digest(corml.fit_store(simple(), store))
