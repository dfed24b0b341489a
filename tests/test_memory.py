import resource
import subprocess
import sys
from pathlib import Path

import pytest

from corml._runtime import memory
from corml.errors import ResourceError, UsageError


def test_the_budget_is_a_share_of_the_least_limit(monkeypatch):
    monkeypatch.setattr(memory, "_available", lambda: 1000)
    monkeypatch.setattr(memory, "_container", lambda: 500)
    monkeypatch.setattr(memory, "_address_space", lambda: None)
    assert memory.budget() == 400


def test_work_that_does_not_fit_is_refused_in_a_sentence():
    with pytest.raises(ResourceError, match=r"^It needs 2\.0 GiB, the budget is 1\.0 GiB; do less\.$"):
        memory.require(2 << 30, what="It", instead="do less.", limit=1 << 30)
    memory.require(1, what="It", instead="do less.", limit=1 << 30)


@pytest.mark.parametrize(
    ("count", "text"), [(12, "12 B"), (2048, "2.0 KiB"), (5 << 20, "5.0 MiB"), (46 << 30, "46.0 GiB")]
)
def test_sizes_are_for_people(count, text):
    assert memory.size(count) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8GB", 8 << 30),
        ("8 GiB", 8 << 30),
        ("512mib", 512 << 20),
        ("1e9", 10**9),
        ("1.5k", 1536),
        ("7b", 7),
        ("2T", 2 << 40),
    ],
)
def test_sizes_are_read_as_people_write_them(text, count):
    assert memory.read_size(text) == count


@pytest.mark.parametrize("text", ["", "lots", "GB", "8 elephants"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UsageError, match="write it like 8GB"):
        memory.read_size(text)


def test_a_limit_on_address_space_counts():
    code = "from corml._runtime import memory; print(memory.budget())"
    limit = 3 << 30
    made = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert 0 < int(made.stdout) <= memory.SHARE * limit


def files_holding(texts):
    """A stand-in for Path that knows a few files only."""

    class Fake(type(Path())):
        def read_text(self, *args, **kwargs):
            for ending, text in texts.items():
                if str(self).endswith(ending):
                    return text
            raise FileNotFoundError(str(self))

    return Fake


def test_a_container_limit_counts_what_is_used_already(monkeypatch):
    monkeypatch.setattr(memory, "Path", files_holding({"memory.max": "1000\n", "memory.current": "300\n"}))
    assert memory._container() == 700
    monkeypatch.setattr(memory, "Path", files_holding({"memory.max": "max\n", "memory.current": "300\n"}))
    assert memory._container() is None
    monkeypatch.setattr(memory, "Path", files_holding({}))
    assert memory._container() is None


def test_without_the_kernels_word_physical_memory_is_asked_then_a_small_laptop_assumed(monkeypatch):
    monkeypatch.setattr(memory, "Path", files_holding({"meminfo": "MemAvailable: 5 kB\n"}))
    assert memory._available() == 5 * 1024
    monkeypatch.setattr(memory, "Path", files_holding({}))
    assert memory._available() > memory.GIB / 2
    monkeypatch.setattr(memory.os, "sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert memory._available() == 8 * memory.GIB


def test_all_of_the_budget_may_be_taken_and_not_a_byte_more(monkeypatch):
    monkeypatch.setattr(memory, "budget", lambda: 100)
    memory.require(100, what="This", instead="take less.")
    memory.require(200, what="This", instead="take less.", limit=200)
    for needed, limit in ((101, None), (201, 200)):
        with pytest.raises(ResourceError, match="This needs"):
            memory.require(needed, what="This", instead="take less.", limit=limit)
