"""Small models, parts of a few users, and what is in a folder."""

import pytest

import corml
from corml.outofcore.lists import sizes
from support import random_interactions


@pytest.fixture(scope="session")
def model():
    """40 users, two of them new to the model, so that some lists have a reason."""
    data = random_interactions(0)
    learned = corml.CoRML(rank=4, max_steps=20, tol=0).fit(data)
    return learned.update(corml.Interactions.from_pairs(["late", "later"], ["i1", "never seen"]))


@pytest.fixture(scope="session")
def other():
    return corml.CoRML(rank=4, max_steps=20, tol=0, mix=0.3).fit(random_interactions(0))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Three users ranked at a time, and lists of two pieces in a part."""
    monkeypatch.setattr(sizes, "PIECE", 3)
    monkeypatch.setattr(sizes, "PIECES", 2)


@pytest.fixture
def contents():
    """All files of a folder, hidden ones too, with their bytes."""
    return lambda folder: {path.name: path.read_bytes() for path in folder.iterdir()}
