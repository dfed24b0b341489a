"""Whatever the bytes, the answer is interactions or a sentence."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corml.data import load
from corml.data.interactions import Interactions
from corml.errors import CormlError

pieces = st.sampled_from(
    [b"user", b"item", b"rating", b"time", b",", b"\t", b";", b"::", b'"', b"\n", b"\r", b" ", b"#", b"7", b"a",
     b"\xc3", b"\xa9", b"\0", b"-1", b"1e999", b"2020-01-01", b"\xef\xbb\xbf", b":token",
     b"PK\x03\x04", b"\x1f\x8b", b"PAR1"]
)  # fmt: skip
shuffled = st.lists(pieces, max_size=30).map(b"".join)
headed = shuffled.map(lambda tail: b"user,item,rating\na,x,1\n" + tail)


def outcome(path):
    """What loading says: a description, or a refusal; any other exception is a fault of ours."""
    try:
        return repr(load(path))
    except CormlError as refusal:
        return str(refusal)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.inter", "a.txt", "a.csv.gz", "a.zip", "a.parquet", "a.npz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=shuffled | headed | st.binary(max_size=200))
def test_any_bytes_give_interactions_or_a_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert "\n" not in outcome(tmp_path / name)


@given(
    at=st.integers(0, 10_000),
    flip=st.integers(1, 255),
    name=st.sampled_from(["a.parquet", "a.npz", "a.zip", "a.csv.gz"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_flipped_byte_gives_interactions_or_a_sentence(tmp_path, packed, at, flip, name):
    content = bytearray(packed[name])
    content[at % len(content)] ^= flip
    (tmp_path / name).write_bytes(content)
    assert "\n" not in outcome(tmp_path / name)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    import gzip
    import zipfile

    from corml.data import write

    folder = tmp_path_factory.mktemp("packed")
    data = Interactions.from_pairs(["a", "b", "ü"], ["x", "y", "x"], times=[1, 2, 3])
    for suffix in ("csv", "parquet", "npz"):
        write(data, folder / f"a.{suffix}")
    (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(folder / "a.csv", "a.csv")
    return {path.name: path.read_bytes() for path in folder.iterdir()}
