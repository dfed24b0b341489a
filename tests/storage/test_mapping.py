"""The arrays of a model file are pages of the file; whoever replaces it does not disturb whoever uses it."""

import gc
import mmap
import os
import tracemalloc

import numpy as np
import pytest

import corml
from corml import models
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.persistence import container, mapping
from corml.service import served
from support import random_interactions

MANY = 100_000


@pytest.fixture(scope="module")
def fitted():
    return [models.make("corml", rank=2).fit(random_interactions(seed)) for seed in (1, 2)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.corml"


def is_mapped(array):
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return isinstance(array, mmap.mmap)


def answers(model):
    return model.recommend(history=[model.items_.labels[:3].tolist()], k=5).items.tolist()


def test_arrays_and_ids_of_an_opened_model_are_pages_of_its_file(fitted, path):
    fitted[0].save(path)
    contents = container.read(path, mapped=True)
    assert all(is_mapped(array) for array in contents.arrays.values() if array.size)
    assert not any(is_mapped(array) for array in container.read(path, mapped=False).arrays.values())
    model = corml.read_model(path, mapped=True)
    assert is_mapped(model.users_.labels.data)
    assert is_mapped(model.train_.indices)
    assert answers(model) == answers(fitted[0])


def test_a_large_local_file_is_mapped_and_a_small_one_is_read(fitted, path, monkeypatch):
    fitted[0].save(path)
    assert not is_mapped(corml.read_model(path).counts_)
    monkeypatch.setattr(mapping, "WORTH_IT", 1)
    assert is_mapped(corml.read_model(path).counts_)
    assert not is_mapped(corml.read_model(path, mapped=False).counts_)


@pytest.mark.parametrize(("kind", "expected"), [("ext4", True), ("nfs4", False), ("fuse.sshfs", False)])
def test_a_file_on_another_machine_is_read(fitted, path, tmp_path, monkeypatch, kind, expected):
    fitted[0].save(path)
    device = path.stat().st_dev
    mounts = tmp_path / "mounts"
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /here rw,noatime shared:1 - {kind} server:/there rw\n"
    mounts.write_text("24 1 0:1 / / rw - nfs a:/b rw\n" + line)
    monkeypatch.setattr(mapping, "MOUNTS", str(mounts))
    monkeypatch.setattr(mapping, "WORTH_IT", 1)
    assert is_mapped(corml.read_model(path).counts_) == expected


def test_a_file_that_is_replaced_stays_as_it_was_for_those_who_opened_it(fitted, path):
    fitted[0].save(path)
    model = corml.read_model(path, mapped=True)
    before = [array.copy() for array in (model.train_.indices, model.counts_)]
    fitted[1].save(path)
    os.unlink(path)
    assert answers(model) == answers(fitted[0])
    assert all(map(np.array_equal, before, (model.train_.indices, model.counts_)))
    model.save(path)
    assert container.read(path).digest != ""
    assert answers(corml.read_model(path)) == answers(fitted[0])


def test_a_model_can_be_saved_over_the_file_it_is_mapped_from(fitted, path):
    fitted[0].save(path)
    data = path.read_bytes()
    corml.read_model(path, mapped=True).save(path)
    assert path.read_bytes() == data


def test_writing_to_an_array_changes_no_file(fitted, path):
    fitted[0].save(path)
    data = path.read_bytes()
    contents = container.read(path, mapped=True)
    contents.arrays["counts"][:] = 0
    assert path.read_bytes() == data
    assert container.read(path).digest == contents.digest


def test_what_is_read_and_what_is_served_does_not_depend_on_the_file_any_more(fitted, path, monkeypatch):
    monkeypatch.setattr(mapping, "WORTH_IT", 1)
    fitted[0].save(path)
    read, answering = corml.read_model(path, mapped=False), served.load("m", str(path))
    assert not is_mapped(answering.model.counts_)
    os.truncate(path, 10)
    assert answers(read) == answers(answering.model) == answers(fitted[0])


def test_a_file_that_is_cut_off_while_it_is_read_is_damaged(fitted, path, monkeypatch):
    fitted[0].save(path)
    whole = mapping.content

    def cut(file, size, *, mapped):
        os.truncate(path, size - 8)
        return whole(file, size, mapped=mapped)

    monkeypatch.setattr(mapping, "content", cut)
    with pytest.raises(corml.errors.ModelFileError, match="damaged"):
        container.read(path, mapped=False)


@pytest.fixture(scope="module")
def crowd():
    """A model of which the ids of users are most."""
    users = Ids((f"u{row:011d}" for row in range(MANY)), kind="user")
    user = np.arange(MANY, dtype=np.int32)
    return models.make("popularity").fit(Interactions(users, Ids(range(50)), user, user % 50))


def traced(work):
    gc.collect()
    tracemalloc.start()
    try:
        done = work()
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return done, kept, peak


def test_opening_takes_what_is_made_of_the_arrays_and_not_the_arrays(crowd, path):
    crowd.save(path)
    size = path.stat().st_size
    corml.read_model(path)
    model, kept, peak = traced(lambda: corml.read_model(path, mapped=True))
    assert model.users_ == crowd.users_
    assert kept < 20 * MANY  # a table of 8 bytes a user, and 4 for each pair
    assert peak < size
    _, kept, peak = traced(lambda: corml.read_model(path, mapped=False))
    assert size < kept < size + 20 * MANY
    assert peak < 2 * size  # which is asked for before it is taken
