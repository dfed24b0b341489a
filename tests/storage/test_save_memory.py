"""A save writes arrays from where they are: it takes a few MiB beside the model, so a plan need not count it."""

import tracemalloc

import numpy as np

from corml.data.interactions import Interactions
from corml.data.saved.pairs import NO_TIME, SLICE
from corml.data.saved.pairs import _encode_times as encode_times
from corml.models.linear.ease import EASE

MIB = 1 << 20


def test_a_save_takes_no_copy_of_the_model(tmp_path):
    rng = np.random.default_rng(0)
    users, items = np.repeat(np.arange(20_000), 20), (rng.random(400_000) ** 2 * 1500).astype(int)
    times = rng.integers(10**9, 2 * 10**9, 400_000).astype(float)
    model = EASE(route="dense").fit(Interactions.from_pairs(users, items, times=times))
    model.save(tmp_path / "first.corml")
    tracemalloc.start()
    model.save(tmp_path / "a.corml")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "a.corml").stat().st_size > 11 * MIB
    assert peak < 8 * 400_000 + 2 * MIB


def test_times_are_encoded_alike_however_many_there_are(monkeypatch):
    times = np.array([1.0, np.nan, 3.0, 4.0, np.nan])
    whole, halves = encode_times(times), encode_times(times + 0.5)
    monkeypatch.setattr("corml.data.saved.pairs.SLICE", 2)
    for found, expected, kind in ((encode_times(times), whole, "i"), (encode_times(times + 0.5), halves, "f")):
        assert found.dtype == expected.dtype
        assert found.dtype.kind == kind
        np.testing.assert_array_equal(found, expected)
        assert (found[[1, 4]] == NO_TIME[kind]).all()
    assert SLICE > 2
