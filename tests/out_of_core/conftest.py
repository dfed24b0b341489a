"""Stores of random interactions, in several parts; tasks cut small, so that there are many."""

from dataclasses import replace

import numpy as np
import pytest

import corml
from corml.outofcore.fit import files as cuts
from support import random_interactions, with_weights


def build(folder, data, *, memory="1MB", **options):
    """A store of some interactions."""
    frame = data.to_frame()
    if data.weights is not None:
        options["weight"] = "weight"
    path = folder / "pairs.parquet"
    frame.write_parquet(path)
    return corml.build_store(path, folder / "pairs.store", memory=memory, **options)


def timed(data, seed=3):
    """The same pairs at random moments."""
    return replace(data, times=np.random.default_rng(seed).random(len(data)) * 1e6)


KINDS = {"plain": lambda data: data, "timed": timed, "weighted": with_weights}


def made(kind, tmp_path_factory):
    """12,000 pairs of 1,500 users with 600 items."""
    store = build(tmp_path_factory.mktemp(kind), KINDS[kind](random_interactions(0, 1500, 600, 8)))
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
    monkeypatch.setattr(cuts, "PAIRS", 3000)
    monkeypatch.setattr(cuts, "VISITS", 60_000)
    monkeypatch.setattr(cuts, "GATHERS", 400_000)
