"""Files of lines `user item item …`: what is in them, on ids that all parts share, and what is refused."""

import gzip

import pytest

import corml
from corml.data import load_item_lists
from corml.errors import DataError, ResourceError


def written(folder, name, text):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def pairs(data):
    return {(data.users.labels[u], data.items.labels[i]) for u, i in zip(data.user, data.item, strict=True)}


def test_each_part_has_its_pairs_on_the_ids_of_all(tmp_path):
    train = written(tmp_path, "train.txt.gz", "0 7 8\n1 7\n")
    test = written(tmp_path, "test.txt", "0 9\n1 8\r\n2\n")
    first, second = load_item_lists(train, test)
    assert pairs(first) == {("0", "7"), ("0", "8"), ("1", "7")}
    assert pairs(second) == {("0", "9"), ("1", "8")}
    assert first.users == second.users
    assert set(first.items.labels) == {"7", "8", "9"}
    assert first.items == second.items
    assert first.source["from"] == str(train)


def test_an_item_that_only_test_has_is_missed_not_dropped(tmp_path):
    parts = [written(tmp_path, "train.txt", "a x y\nb x\nc y w\n"), written(tmp_path, "test.txt", "a z\nb y\n")]
    train, test = load_item_lists(*parts)
    split = corml.Split(train=train, test=test)
    assert split.dropped == {}
    result = corml.evaluate(corml.Popularity().fit(train), split, ["recall@1"])
    assert len(result.users) == 2
    assert result["recall@1"] == 0.5


def test_a_pair_that_stands_twice_counts_once(tmp_path):
    (data,) = load_item_lists(written(tmp_path, "train.txt", "a x x y\na y\n"))
    assert len(data) == 2


@pytest.mark.parametrize(("text", "says"), [("", "no items"), ("a\nb\n", "no items"), ("PK\x03\x04", "ZIP")])
def test_what_has_no_lists_is_refused(tmp_path, text, says):
    with pytest.raises(DataError, match=f"(?i){says}|not text"):
        load_item_lists(written(tmp_path, "train.txt", text))


def test_a_table_of_ratings_is_not_taken_for_lists(tmp_path):
    table = "".join(f"{n} {n + 1} 5\n" for n in range(200))
    with pytest.raises(DataError, match=r"has 3 words: that is a table"):
        load_item_lists(written(tmp_path, "train.txt", table))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no file .*absent\.txt"):
        load_item_lists(tmp_path / "absent.txt")


def test_one_long_id_does_not_make_all_as_long(tmp_path):
    """A megabyte with one long id asked for seven gigabytes, and ended in a traceback."""
    path = written(tmp_path, "train.txt", f"a {'i' * 500_000}\n" + "b x y z\n" * 2_000)
    with pytest.raises(DataError, match="is an id longer than"):
        load_item_lists(path)


def test_words_that_would_not_fit_are_refused_before_they_are_told_apart(tmp_path, monkeypatch):
    path = written(tmp_path, "train.txt", "a" + " x" * 100_000 + "\n")
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 5_000_000)
    with pytest.raises(ResourceError, match=r"Reading .*train\.txt' needs .* leave out users, or add memory"):
        load_item_lists(path)
