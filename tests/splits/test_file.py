import numpy as np
import pytest
from safetensors.numpy import save

import corml
from corml.data.interactions import Interactions
from corml.errors import DataError, ModelFileError, UsageError
from corml.persistence import container
from corml.splits import Split, read_split, split


@pytest.fixture
def saved(sample, tmp_path):
    path = tmp_path / "sample.split"
    split(sample, "new-users").save(path)
    return path


def rewritten(path, *, arrays=None, facts=None):
    """Change a file as a forger would: with a digest that fits the new content."""
    contents = container.read(path, container.SPLIT)
    changed = {name: array for name, array in (contents.arrays | (arrays or {})).items() if array is not None}
    known = {name: fact for name, fact in (contents.meta | (facts or {})).items() if name != "format"}
    path.write_bytes(container.pack(changed, known, container.SPLIT))


def test_everything_comes_back(saved, sample, contents):
    parts, read = split(sample, "new-users"), read_split(saved)
    assert contents(read) == contents(parts)
    assert read.fingerprint == parts.fingerprint
    assert read.procedure == parts.procedure
    assert read.counts() == parts.counts()
    assert read.train.users == sample.users
    assert read.train.titles == sample.titles
    assert read.train.source == sample.source
    assert read.test.times.tolist() == parts.test.times.tolist()
    assert read.history.users is read.train.users


def test_equal_splits_are_equal_files(saved, sample, tmp_path):
    for _ in range(5):
        split(sample, "new-users").save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_labels_of_any_script_and_parts_without_times_come_back(tmp_path, contents):
    odd = ["007", "7", "NA", "\ud800", "😀", "a\nb", "ñ", "n\u0303"]
    parts = split(Interactions.from_pairs(odd, odd[::-1]))
    parts.save(tmp_path / "s")
    assert contents(read_split(tmp_path / "s")) == contents(parts)
    assert read_split(tmp_path / "s").train.times is None


def test_nothing_but_ids_comes_back(sample, tmp_path):
    Split(train=sample.where([])).save(tmp_path / "s")
    assert read_split(tmp_path / "s").train.shape == sample.shape


def test_pairs_without_a_time_come_back(tmp_path):
    data = Interactions.from_pairs("aab", "xyz", times=[1, float("nan"), 3])
    Split(train=data).save(tmp_path / "s")
    assert np.array_equal(read_split(tmp_path / "s").train.times, data.times, equal_nan=True)


def test_titles_of_items_that_no_pair_has_come_back(tmp_path):
    data = Interactions.from_pairs("a", "x", titles={"x": "", "later": "A title"})
    Split(train=data).save(tmp_path / "s")
    assert read_split(tmp_path / "s").train.titles == data.titles


def test_the_facts_can_be_read_without_the_parts(saved, sample):
    facts = container.read(saved, container.SPLIT).meta
    assert facts["split"]["name"] == "new-users"
    assert facts["split"]["data"] == sample.fingerprint
    assert facts["parts"]["train"] == read_split(saved).train.fingerprint
    assert facts["counts"] == split(sample, "new-users").counts()


def test_only_plain_facts_are_kept(sample, tmp_path):
    with pytest.raises(UsageError, match="A split file keeps only plain facts"):
        Split(train=sample, procedure={"name": "mine", "by": object()}).save(tmp_path / "s")


def test_any_changed_byte_is_noticed(saved):
    content = bytearray(saved.read_bytes())
    for at in np.linspace(0, len(content) - 1, 150).astype(int):
        damaged = content.copy()
        damaged[at] ^= 0x55
        saved.write_bytes(damaged)
        with pytest.raises(DataError, match=r"make and save it again|upgrade corml"):
            read_split(saved)


@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_a_cut_file_is_noticed(saved, keep):
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"is damaged.*make and save it again"):
        read_split(saved)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other"
    for content in (
        b"user,item\n1,2\n",
        save({"a": np.zeros(3)}),
        save({"a": np.zeros(3)}, metadata={"corml": "[]"}),
        save({"a": np.zeros(3)}, metadata={"corml": '{"manifest": "{}", "sha256": ""}'}),  # of an early corml
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"other' is not a corml split file, or .*: make and save it again"):
            read_split(path)


def test_a_model_is_no_split_and_a_split_no_model(saved, sample, tmp_path):
    corml.Popularity().fit(sample).save(tmp_path / "model")
    with pytest.raises(DataError, match=r"model' is a model file, not a split file: read it with corml\.read_model"):
        read_split(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"split' is a split file, not a model file: read it with corml\.read"):
        corml.read_model(saved)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(DataError, match=r"Cannot read the split .*nowhere': No such file"):
        read_split(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"Cannot read the split|is not a regular file"):
        read_split(tmp_path)


def test_a_file_that_does_not_fit_in_memory_is_refused(saved, monkeypatch):
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 100)
    with pytest.raises(corml.errors.ResourceError, match=r"Reading the split .* needs"):
        read_split(saved)


def test_a_folder_to_save_in_must_exist(sample, tmp_path):
    with pytest.raises(DataError, match="does not exist: create it first"):
        split(sample).save(tmp_path / "no" / "s")


def test_a_newer_file_is_refused_by_its_format(saved):
    now = container.FORMAT
    saved.write_bytes(saved.read_bytes().replace(f'format\\": {now},'.encode(), b'format\\": 9,', 1))
    with pytest.raises(DataError, match=f"has format 9, newer than the {now} this corml reads: upgrade corml"):
        read_split(saved)


@pytest.mark.parametrize(
    "arrays",
    [
        {"train.user": np.array([0, 10**6], np.int32), "train.item": np.array([0, 1], np.int32), "train.times": None},
        {"train.user": np.array([0, -1], np.int32), "train.item": np.array([0, 1], np.int32), "train.times": None},
        {"train.user": np.array([0], np.int32), "train.item": np.array([99], np.int32), "train.times": None},
        {"train.user": np.array([0, 0], np.int32), "train.item": np.array([1, 1], np.int32), "train.times": None},
        {"train.user": np.array([0.5]), "train.item": np.array([0], np.int32), "train.times": None},
        {"train.user": np.array([0, 1], np.int32), "train.item": np.array([0], np.int32), "train.times": None},
        {"train.times": np.zeros(3)},
        {"train.user": None},
        {"train.item": None},
        {"train.user": np.array(0, np.int32), "train.item": np.array(0, np.int32), "train.times": None},
        {"titles.bytes": np.zeros(0, np.uint8), "titles.offsets": np.zeros(1, np.int64)},
        {"users.offsets": np.array([0, 3, 2, 9])},
        {"users.offsets": np.array([0.5])},
        {"items.bytes": np.frombuffer(b"\xff\xfe", np.uint8), "items.offsets": np.array([0, 1, 2])},
        {"items.bytes": np.frombuffer(b"aa", np.uint8), "items.offsets": np.array([0, 1, 2])},
        {"items.bytes": None},
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(saved, arrays):
    rewritten(saved, arrays=arrays)
    with pytest.raises(DataError, match=r"is inconsistent \(labels, rows and facts do not fit together\): make"):
        read_split(saved)


@pytest.mark.parametrize("fact", sorted(container.SPLIT_FACTS))
@pytest.mark.parametrize("value", [7, None])
def test_a_fact_of_the_wrong_kind_is_refused(saved, fact, value):
    rewritten(saved, facts={fact: value})
    with pytest.raises(DataError, match=f"does not say its {fact}. Make and save it again"):
        read_split(saved)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"parts": {}}, "is inconsistent .it has no train part"),
        ({"parts": {"train": "", "soup": ""}}, "labels, rows and facts do not fit together"),
        ({"parts": {"train": "", "valid": "", "test": ""}}, "do not have the recorded fingerprint"),
        ({"fingerprint": "0"}, "do not have the recorded fingerprint"),
    ],
)
def test_facts_that_do_not_fit_the_parts_are_refused(saved, facts, message):
    rewritten(saved, facts=facts)
    with pytest.raises(DataError, match=message):
        read_split(saved)


@pytest.mark.parametrize("part", ["train", "valid_history"])
def test_each_part_has_the_fingerprint_recorded_for_it(saved, part):
    prints = container.read(saved, container.SPLIT).meta["parts"]
    rewritten(saved, facts={"parts": prints | {part: prints["test"]}})
    with pytest.raises(DataError, match="do not have the recorded fingerprint"):
        read_split(saved)


def test_moved_pairs_do_not_have_the_recorded_fingerprint(saved):
    arrays = container.read(saved, container.SPLIT).arrays
    swap = {
        f"{part}.{column}": arrays[f"{other}.{column}"]
        for part, other in (("test", "valid"), ("valid", "test"))
        for column in ("user", "item", "times")
    }
    rewritten(saved, arrays=swap)
    with pytest.raises(DataError, match="do not have the recorded fingerprint"):
        read_split(saved)
