"""The large data sets, where CORML_DATA points to them."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from corml.data import known, load
from corml.data.catalog._known import get, present

pytestmark = pytest.mark.large

SIZES = {
    "gowalla": (29_858, 40_981, 1_027_370),
    "yelp2018": (31_668, 38_048, 1_561_406),
    "pinterest": (55_187, 9_916, 1_463_581),
}


def available(name):
    if not os.environ.get("CORML_DATA"):
        pytest.skip("CORML_DATA is not set: the large data sets are not here")
    if not present(get(name)):
        pytest.skip(f"{name} is not in the folder CORML_DATA")


@pytest.mark.parametrize("name", SIZES)
def test_a_large_set_has_its_published_size_and_loads_in_seconds(name):
    available(name)
    start = time.monotonic()
    data = load(name)
    assert (*data.shape, len(data)) == SIZES[name]
    assert time.monotonic() - start < 20
    assert name in known()


@pytest.mark.parametrize("name", SIZES)
def test_a_split_file_beside_it_lists_the_same_pairs_in_the_same_order(name):
    available(name)
    path = Path(os.environ["CORML_DATA"]) / "splits" / f"{name}-seed2026.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in the folder CORML_DATA")
    data, split = load(name), load(path)
    assert data.fingerprint == split.fingerprint
    with np.load(path) as arrays:
        assert np.array_equal(data.items.labels[data.item], arrays["item"].astype(str))
