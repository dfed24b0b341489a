"""An NPZ archive is refused for what its arrays say they grow to, before they are read."""

import io
import zipfile

import numpy as np
import pytest

from corml.data import load
from corml.errors import DataError, ResourceError


def archive(path, kind, length, values=b""):
    """An archive whose arrays say how long they are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in ("user", "item"):
            head = io.BytesIO()
            np.lib.format.write_array_header_1_0(head, {"descr": kind, "fortran_order": False, "shape": (length,)})
            packed.writestr(f"{name}.npy", head.getvalue() + values)
    return path


@pytest.fixture
def _no_array_is_read(monkeypatch):
    def read(*_, **__):
        raise AssertionError("an array was read")

    monkeypatch.setattr("corml.data.formats.npz._array", read)


@pytest.mark.usefixtures("_no_array_is_read")
@pytest.mark.parametrize("kind", ["<U0", "|S0", "|V0", "<i8"])
def test_an_array_that_is_shorter_than_it_says_is_not_read(tmp_path, kind):
    """462 bytes became 8.6 GB: texts of no width need no bytes in a file."""
    with pytest.raises(DataError, match="an array is shorter than it says"):
        load(archive(tmp_path / "a.npz", kind, 600_000_000))


@pytest.mark.usefixtures("_no_array_is_read")
@pytest.mark.parametrize("kind", ["<U1", "|S1", "|V1"])
def test_short_texts_count_as_the_objects_they_become(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 1_000_000)
    values = b"a\0\0\0" * (100_000 if kind == "<U1" else 25_000)
    with pytest.raises(DataError, match="expands more than 200-fold"):
        load(archive(tmp_path / "a.npz", kind, 100_000, values))


@pytest.mark.usefixtures("_no_array_is_read")
def test_arrays_that_may_expand_must_still_fit_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 1_000_000)
    path = archive(tmp_path / "a.npz", "<U1", 100_000, b"a\0\0\0" * 100_000)
    with pytest.raises(ResourceError, match=r"Reading .*a.npz' needs 13\.0 MiB"):
        load(path, allow_expansion=True)


@pytest.mark.parametrize("unit", ["s", "D", "W", "ms", "ns"])
def test_lengths_of_time_are_refused_as_times_in_a_sentence(tmp_path, unit):
    times = np.array([1, 2]).astype(f"timedelta64[{unit}]")
    np.savez(tmp_path / "a.npz", user=[1, 2], item=[3, 4], time=times)
    with pytest.raises(DataError, match="the time column holds Duration"):
        load(tmp_path / "a.npz")
