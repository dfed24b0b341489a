"""Two versions of one small model, as files."""

import os
from pathlib import Path

import pytest

import corml
from support import random_interactions


def fitted(seed, **settings):
    return corml.CoRML(rank=4, **settings).fit(random_interactions(seed, users=30, items=12))


@pytest.fixture(scope="session")
def old():
    return fitted(1)


@pytest.fixture(scope="session")
def new():
    return fitted(1, mix=0.5)


@pytest.fixture(scope="session")
def other():
    return fitted(2)


@pytest.fixture
def path(tmp_path, old) -> Path:
    """A folder with the old version of a model in it."""
    made = tmp_path / "m.corml"
    old.save(made)
    return made


@pytest.fixture
def content(tmp_path):
    """Turn a model into the bytes of its file."""

    def of(model):
        model.save(tmp_path / "content.corml")
        made = (tmp_path / "content.corml").read_bytes()
        os.unlink(tmp_path / "content.corml")
        return made

    return of
