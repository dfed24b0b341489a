"""Fail every system call of a save in turn: a clean error, the old model or the new one, and nothing left beside it."""

import errno
import os
import subprocess
import sys

import pytest

import corml
from corml.errors import CormlError, DataError
from corml.persistence import atomic, container

CALLS = ("open", "write", "chmod", "fsync", "replace", "close", "stat", "listdir")


class FaultyOS:
    """The module `os`, but the k-th of its calls that a save makes goes wrong."""

    def __init__(self, k, fault):
        self.k, self.fault, self.made = k, fault, []

    def __getattr__(self, name):
        return self.wrapped(name) if name in CALLS else getattr(os, name)

    def wrapped(self, name):
        def call(*args):
            self.made.append(name)
            if len(self.made) != self.k or (self.fault == "short" and name != "write"):
                return getattr(os, name)(*args)
            if self.fault == "short":
                return os.write(args[0], args[1][: len(args[1]) // 2])
            if name == "write":
                os.write(args[0], args[1][: len(args[1]) // 3])  # some of it was written when the disk was full
            if name == "close":  # the system lets go of a file even where closing it fails
                os.close(*args)
            raise OSError(self.fault, os.strerror(self.fault))

        return call


def digest(path):
    return container.read(path).digest


def saved_with_fault(monkeypatch, model, path, k, fault):
    """The calls made, and the error if there was one."""
    broken = FaultyOS(k, fault)
    with monkeypatch.context() as injected:
        injected.setattr(atomic, "os", broken)
        try:
            model.save(path)
        except CormlError as error:
            return broken.made, error
    return broken.made, None


@pytest.mark.parametrize(("fault", "stray"), [(errno.ENOSPC, False), (errno.EINTR, True), (errno.EACCES, False)])
def test_whichever_call_fails_the_model_is_the_old_or_the_new_one(path, old, new, content, monkeypatch, fault, stray):
    before = {digest(path): "old"}
    new.save(path)
    before[digest(path)] = "new"
    monkeypatch.setattr(atomic, "CHUNK", len(content(new)) // 3)
    failed, k = [], 0
    while True:
        k += 1
        old.save(path)
        if stray:
            path.with_name(".m.corml.0123456789abcdef.tmp").write_bytes(b"half")
        made, error = saved_with_fault(monkeypatch, new, path, k, fault)
        now = before[digest(path)]  # reads it whole: it is one of the two
        strays = [name for name in os.listdir(path.parent) if name.endswith(".tmp")]
        assert len(strays) <= stray
        if error is None:
            assert now == "new"
        else:
            assert isinstance(error, DataError)
            assert os.strerror(fault) in str(error)
            assert ("is unchanged" in str(error)) == (now == "old")
            assert ("is written and complete" in str(error)) == (now == "new")
            failed.append(made[k - 1])
        if len(made) < k:
            break
    assert {"open", "write", "chmod", "fsync", "replace", "close", "stat"} <= set(failed)
    assert failed.count("write") >= 3


def test_a_first_save_that_fails_leaves_nothing(tmp_path, new, monkeypatch):
    k = 0
    while True:
        k += 1
        path = tmp_path / f"{k}" / "m.corml"
        path.parent.mkdir()
        made, error = saved_with_fault(monkeypatch, new, path, k, errno.ENOSPC)
        if error and "is written and complete" not in str(error):
            assert os.listdir(path.parent) == []
        else:
            assert os.listdir(path.parent) == ["m.corml"]
            corml.read_model(path)
        if len(made) < k:
            break


def test_short_writes_are_continued(path, new, content, monkeypatch):
    expected = content(new)
    for k in range(1, 12):
        _, error = saved_with_fault(monkeypatch, new, path, k, "short")
        assert error is None
        assert path.read_bytes() == expected


def test_a_disk_that_is_full_from_some_byte_on_leaves_the_old_model(path, new, monkeypatch):
    """Even where the temporary file cannot be removed, the error is clean and the model the old one."""
    before = path.read_bytes()
    broken = FaultyOS(1, errno.ENOSPC)
    broken.k = 5

    def refuse(name):
        raise OSError(errno.EROFS, "read-only")

    broken.unlink = refuse
    monkeypatch.setattr(atomic, "os", broken)
    with pytest.raises(DataError, match="Could not write"):
        new.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert len(os.listdir(path.parent)) == 2
    new.save(path)
    assert os.listdir(path.parent) == ["m.corml"]


FULL_DISK = """
import resource, sys
from dataclasses import replace
import numpy as np
import corml
from corml.errors import DataError

model = corml.read_model(sys.argv[1])
arrays = {**model.fitted_.arrays, "V": np.ones((len(model.items_), 5000), dtype=np.float32)}
model.fitted_ = replace(model.fitted_, arrays=arrays)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    model.save(sys.argv[1])
except DataError as fault:
    print(fault)
else:
    print("saved")
"""


def test_a_file_larger_than_the_system_allows_leaves_the_old_model(path):
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", FULL_DISK, path], capture_output=True, text=True, check=True)
    fault = f"Could not write '{path}': {os.strerror(errno.EFBIG)}. What was there before is unchanged."
    assert run.stdout == f"{fault} The model is still in memory and can be saved in another place.\n"
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["m.corml"]


def test_a_path_below_a_file_leaves_the_old_model(path, new):
    before = path.read_bytes()
    with pytest.raises(DataError, match="is not a folder"):
        new.save(path / "m.corml")
    assert path.read_bytes() == before


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere; tests/test_files.py asks the same of root")
def test_a_folder_that_is_read_only_leaves_the_old_model(path, new):
    before = path.read_bytes()
    path.parent.chmod(0o555)
    try:
        with pytest.raises(DataError, match="No permission"):
            new.save(path)
    finally:
        path.parent.chmod(0o755)
    assert path.read_bytes() == before
