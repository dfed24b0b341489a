"""A split as one file: all of it comes back, and what is damaged, foreign or inconsistent is refused."""

import numpy as np
import pytest
from safetensors.numpy import save

import corml
from corml.data.interactions import Interactions
from corml.data.saved.pairs import encode_ids
from corml.errors import DataError, ModelFileError, UsageError
from corml.persistence import container
from corml.splits import Split, read_split, split


@pytest.fixture(scope="module")
def content(sample, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "sample.split"
    split(sample, "new-users").save(path)
    return path.read_bytes()


@pytest.fixture
def saved(content, tmp_path):
    path = tmp_path / "sample.split"
    path.write_bytes(content)
    return path


def rewritten(path, *, arrays=None, facts=None):
    """Change a file as a forger would: with a digest that fits the new content."""
    contents = container.read(path, container.SPLIT)
    changed = {name: array for name, array in (contents.arrays | (arrays or {})).items() if array is not None}
    path.write_bytes(container.pack(changed, contents.meta | (facts or {}), container.SPLIT))


def test_everything_comes_back(saved, sample, contents):
    parts, read = split(sample, "new-users"), read_split(saved)
    assert contents(read) == contents(parts)
    assert read.counts() == parts.counts()
    assert (read.fingerprint, read.procedure) == (parts.fingerprint, parts.procedure)
    assert (read.train.users, read.train.titles, read.train.source) == (sample.users, sample.titles, sample.source)
    assert read.test.times_by_row.tolist() == parts.test.times_by_row.tolist()
    assert read.history.users is read.train.users
    facts = container.read(saved, container.SPLIT).meta  # which can be read without the pairs
    assert (facts["split"]["name"], facts["split"]["data"]) == ("new-users", sample.fingerprint)
    assert (facts["parts"]["train"], facts["counts"]) == (read.train.fingerprint, parts.counts())


def test_equal_splits_are_equal_files(content, sample, tmp_path):
    for _ in range(3):
        split(sample, "new-users").save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == content
    read_split(tmp_path / "again").save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == content


def test_odd_labels_missing_times_and_titles_without_a_pair_come_back(tmp_path, contents):
    odd = ["007", "7", "NA", "\ud800", "😀", "a\nb", "ñ", "n\u0303"]
    parts = split(Interactions.from_pairs(odd, odd[::-1], titles={"7": "", "later": "A title"}))
    parts.save(tmp_path / "s")
    read = read_split(tmp_path / "s")
    assert contents(read) == contents(parts)
    assert (read.train.times, read.train.titles) == (None, {"7": "", "later": "A title"})
    data = Interactions.from_pairs("aab", "xyz", times=[1, float("nan"), 3])
    Split(train=data).save(tmp_path / "s")
    assert np.array_equal(read_split(tmp_path / "s").train.times, data.times, equal_nan=True)


def test_nothing_but_ids_comes_back(sample, tmp_path):
    Split(train=sample.where([])).save(tmp_path / "s")
    assert read_split(tmp_path / "s").train.shape == sample.shape


def test_only_plain_facts_are_kept_in_a_folder_that_exists(sample, tmp_path):
    with pytest.raises(UsageError, match="A split file keeps only plain facts"):
        Split(train=sample, procedure={"name": "mine", "by": object()}).save(tmp_path / "s")
    with pytest.raises(DataError, match="does not exist: create it first"):
        split(sample).save(tmp_path / "no" / "s")


def test_any_changed_byte_and_a_cut_file_are_noticed(saved, content):
    for at in np.linspace(0, len(content) - 1, 100).astype(int):
        damaged = bytearray(content)
        damaged[at] ^= 0x55
        saved.write_bytes(damaged)
        with pytest.raises(DataError, match="make and save it again"):
            read_split(saved)
    for keep in (0, 5, 100, -1):
        saved.write_bytes(content[:keep])
        with pytest.raises(DataError, match=r"is damaged.*make and save it again"):
            read_split(saved)


@pytest.mark.parametrize(
    "other",
    [
        b"user,item\n1,2\n",
        save({"a": np.zeros(3)}),
        save({"a": np.zeros(3)}, metadata={"corml": "[]"}),
        save({"a": np.zeros(3)}, metadata={"corml": '{"manifest": "{}", "sha256": ""}'}),
    ],
)
def test_other_files_are_refused(tmp_path, other):
    (tmp_path / "other").write_bytes(other)
    with pytest.raises(DataError, match=r"other' is not a corml split file, or .*: make and save it again"):
        read_split(tmp_path / "other")


def test_a_model_is_no_split_and_a_split_no_model(saved, sample, tmp_path):
    corml.Popularity().fit(sample).save(tmp_path / "model")
    with pytest.raises(DataError, match=r"model' is a model file, not a split file: read it with corml\.read_model"):
        read_split(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"split' is a split file, not a model file: read it with corml\.read"):
        corml.read_model(saved)


def test_a_missing_file_a_folder_and_one_too_large_for_memory_are_refused(saved, tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"Cannot read the split .*nowhere': No such file"):
        read_split(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"Cannot read the split|is not a regular file"):
        read_split(tmp_path)
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 100)
    with pytest.raises(corml.errors.ResourceError, match=r"Reading the split .* needs"):
        read_split(saved)


def pairs(*rows, users=120, dtype=np.int32, **more):
    """The arrays of a train set with these rows of items."""
    starts = np.cumsum([0, *map(len, rows), *[0] * (users - len(rows))])
    columns = [item for row in rows for item in row]
    return {
        "train.indptr": starts.astype(dtype),
        "train.indices": np.array(columns, dtype),
        "train.times": None,
        **more,
    }


@pytest.mark.parametrize(
    "arrays",
    [
        pairs([0], users=7),
        pairs([99]),
        pairs([-1]),
        pairs([1, 1]),
        pairs([0], dtype=np.float64),
        {"train.times": np.zeros(3)},
        {"train.indptr": None},
        {"train.indices": None},
        {"test.indptr": None},
        {"train.indptr": np.array(0, np.int32)},
        encode_ids("titles", []),
        {"users.offsets": np.array([0, 3, 2, 9])},
        {"users.offsets": np.array([0.5])},
        {"items.bytes": np.frombuffer(b"\xff\xfe", np.uint8), "items.offsets": np.array([0, 1, 2])},
        encode_ids("items", ["a", "a"]),
        {"items.bytes": None},
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(saved, arrays):
    rewritten(saved, arrays=arrays)
    with pytest.raises(DataError, match=r"is inconsistent \(labels, rows and facts do not fit together\): make"):
        read_split(saved)


@pytest.mark.parametrize("value", [7, None])
def test_a_fact_of_the_wrong_type_is_refused(saved, content, value):
    for fact in container.SPLIT_FACTS:
        saved.write_bytes(content)
        rewritten(saved, facts={fact: value})
        with pytest.raises(DataError, match=f"has no valid {fact}. Make and save it again"):
            read_split(saved)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"parts": {}}, "labels, rows and facts do not fit together"),
        ({"parts": {"train": "", "soup": ""}}, "labels, rows and facts do not fit together"),
        ({"parts": {"train": "", "valid": "", "test": ""}}, "do not have the recorded fingerprint"),
        ({"fingerprint": "0"}, "do not have the recorded fingerprint"),
    ],
)
def test_facts_that_do_not_fit_the_sets_are_refused(saved, facts, message):
    rewritten(saved, facts=facts)
    with pytest.raises(DataError, match=message):
        read_split(saved)


@pytest.mark.parametrize("part", ["train", "valid_history"])
def test_each_set_has_the_fingerprint_recorded_for_it(saved, part):
    prints = container.read(saved, container.SPLIT).meta["parts"]
    rewritten(saved, facts={"parts": prints | {part: prints["test"]}})
    with pytest.raises(DataError, match="do not have the recorded fingerprint"):
        read_split(saved)


def test_moved_pairs_do_not_have_the_recorded_fingerprint(saved):
    arrays = container.read(saved, container.SPLIT).arrays
    swap = {
        f"{part}.{column}": arrays[f"{other}.{column}"]
        for part, other in (("test", "valid"), ("valid", "test"))
        for column in ("indptr", "indices", "times")
    }
    rewritten(saved, arrays=swap)
    with pytest.raises(DataError, match="do not have the recorded fingerprint"):
        read_split(saved)
