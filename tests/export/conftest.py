"""Helpers of these tests, importable by name, and small models."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from corml import models
from support import random_interactions

SETTINGS = {
    "corml": {"rank": 4, "adapt": False},
    "corml-dial": {"item_norms": (-0.2, 0.0, 0.2), "of": {"rank": 4, "adapt": False}},
    "gf-cf": {"rank": 4},
    "item-knn": {"neighbours": 3},
}


@pytest.fixture(scope="session")
def small():
    """A fitted model by name and settings, on 60 users and 30 items."""
    fitted = {}

    def model(name="corml", **settings):
        key = name, tuple(sorted(settings.items()))
        if key not in fitted:
            fitted[key] = models.make(name, {**SETTINGS.get(name, {}), **settings}).fit(random_interactions(3, 60, 30))
        return fitted[key]

    return model
