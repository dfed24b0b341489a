"""Readers that load while a writer saves always get one whole version."""

import os
import subprocess
import sys
import time

import pytest

from corml import read_model
from corml.persistence import container

SECONDS = float(os.environ.get("CORML_SECONDS", "2"))

WRITER = """
import sys
import corml

versions = [corml.read_model(path) for path in sys.argv[1:3]]
print("ready", flush=True)
while True:
    for version in versions:
        version.save(sys.argv[3])
"""


@pytest.fixture
def versions(tmp_path, old, other):
    folder = tmp_path / "versions"
    folder.mkdir()
    for name, model in (("old", old), ("other", other)):
        model.save(folder / name)
    return [folder / "old", folder / "other"]


def test_a_reader_beside_a_writer_never_fails_and_never_sees_a_mixture(path, versions):
    expected = {
        container.read(version).digest: read_model(version).recommend(history=[["i1"]]).items for version in versions
    }
    seen = dict.fromkeys(expected, 0)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, *versions, path], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout.readline() == "ready\n"
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = container.read(path)
            seen[found.digest] += 1
            model = read_model(path)
            answer = model.recommend(history=[["i1"]]).items
            assert any((answer == items).all() for items in expected.values())
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()
    assert min(seen.values()) > 0


def test_a_reader_that_has_opened_the_old_file_reads_it_to_the_end(path, new):
    with path.open("rb") as reader:
        head = reader.read(100)
        new.save(path)
        data = head + reader.read()
    assert container.unpack(data).digest != container.read(path).digest
