from corml.data.interactions import Interactions
from corml.splits import read_split, ready_made, split

TRAIN = Interactions.from_pairs(["ann", "ann", "bob"], ["a", "b", "a"], times=[1, 2, 3])


def test_parts_that_fit_are_kept_as_they_are(sample, contents):
    parts = split(sample)
    again = ready_made(parts.train, parts.valid, parts.test)
    assert contents(again) == contents(parts)
    assert again.fingerprint == parts.fingerprint
    assert again.dropped == {}


def test_pairs_seen_earlier_are_left_out_and_counted(pairs):
    valid = Interactions.from_pairs(["bob", "ann"], ["b", "a"])
    test = Interactions.from_pairs(["ann", "bob", "bob", "cem"], ["b", "b", "z", "a"])
    parts = ready_made(TRAIN, valid, test)
    assert pairs(parts.valid) == {("bob", "b")}
    assert pairs(parts.test) == set()
    assert parts.dropped == {
        "valid": {"already in an earlier part": 1},
        "test": {"unknown users": 1, "unknown items": 1, "already in an earlier part": 2},
    }


def test_train_alone_is_enough():
    parts = ready_made(TRAIN)
    assert (len(parts.train), len(parts.valid), len(parts.test)) == (3, 0, 0)


def test_what_was_left_out_is_remembered_by_the_file(tmp_path):
    parts = ready_made(TRAIN, test=Interactions.from_pairs(["cem"], ["a"]))
    parts.save(tmp_path / "s")
    assert read_split(tmp_path / "s").dropped == parts.dropped == {"test": {"unknown users": 1, "unknown items": 0}}
