import pickle

import polars as pl
import pytest

import corml
from corml.data.interactions import Interactions
from corml.errors import UsageError
from corml.splits import Split, read_split, split

TRAIN = Interactions.from_pairs(["ann", "ann", "bob"], ["a", "b", "c"])


def test_only_a_train_part_is_needed():
    parts = Split(train=TRAIN)
    assert (len(parts.valid), len(parts.test), parts.history, parts.valid_history) == (0, 0, None, None)
    assert parts.test.items is TRAIN.items
    assert dict(parts.procedure) == dict(parts.dropped) == {}


def test_parts_of_one_data_set_lose_nothing_and_items_without_train_pairs_stay(sample):
    few = sample.where(sample.user < 2)
    rest = sample.where(sample.user >= 2)
    parts = Split(train=few, test=rest)
    assert parts.test is rest
    assert parts.dropped == {}
    assert parts.counts()["cold items"] == len(sample.items) - len(few.compact().items)


def test_pairs_of_unknown_users_and_items_are_dropped_and_counted():
    test = Interactions.from_pairs(["bob", "bob", "cem", "cem"], ["a", "z", "a", "z"])
    parts = Split(train=TRAIN, test=test)
    assert parts.dropped == {"test": {"unknown users": 2, "unknown items": 1}}
    assert parts.test.users is TRAIN.users
    assert (parts.test.user.tolist(), parts.test.item.tolist()) == ([1], [0])


def test_users_of_a_history_are_known_users(pairs):
    history = Interactions.from_pairs(["cem", "dee"], ["a", "z"])
    valid_history = Interactions.from_pairs(["eve"], ["b"])
    test = Interactions.from_pairs(["cem", "fay"], ["b", "b"])
    parts = Split(train=TRAIN, test=test, history=history, valid_history=valid_history)
    assert pairs(parts.train) == pairs(TRAIN)
    assert pairs(parts.test) == {("cem", "b")}
    assert pairs(parts.history) == {("cem", "a")}
    assert parts.train.users.labels.tolist() == ["ann", "bob", "cem", "dee", "eve"]
    assert parts.dropped == {
        "test": {"unknown users": 1, "unknown items": 0},
        "history": {"unknown users": 0, "unknown items": 1},
    }
    assert all(part.users is parts.train.users and part.items is TRAIN.items for part in parts.parts().values())


def test_the_same_ids_in_another_order_are_moved_without_loss(pairs):
    test = Interactions.from_pairs(["bob", "ann"], ["b", "c"])
    parts = Split(train=TRAIN, test=test)
    assert pairs(parts.test) == {("bob", "b"), ("ann", "c")}
    assert parts.dropped == {}


def test_the_history_is_train_and_train_and_valid_are_not_recommended(sample, pairs):
    parts = split(sample)
    history, mask, targets = parts.part("valid")
    assert (history, mask, targets) == (parts.train, parts.train, parts.valid)
    history, mask, targets = parts.part("test")
    assert (history, targets) == (parts.train, parts.test)
    assert pairs(mask) == pairs(parts.train) | pairs(parts.valid)
    assert len(mask) == len(parts.train) + len(parts.valid)


def test_a_history_takes_the_place_of_train(sample, pairs):
    parts = split(sample, "new-users", shares=(0.5, 0.25, 0.25))
    history, mask, targets = parts.part("valid")
    assert (history, mask, targets) == (parts.valid_history, parts.valid_history, parts.valid)
    history, mask, targets = parts.part("test")
    assert (history, targets) == (parts.history, parts.test)
    assert pairs(mask) == pairs(parts.history) | pairs(parts.valid)


def test_without_a_valid_part_only_train_is_masked(sample):
    parts = split(sample, shares=(0.8, 0.2))
    assert parts.part("test") == (parts.train, parts.train, parts.test)


def test_a_pair_in_train_and_valid_is_masked_once():
    parts = Split(train=TRAIN, valid=TRAIN, test=TRAIN)
    assert parts.part("test")[1].matrix.sum() == len(TRAIN)


def test_other_parts_cannot_be_evaluated():
    with pytest.raises(UsageError, match=r"no part 'train' .*: choose 'valid' or 'test'"):
        Split(train=TRAIN).part("train")


def test_counts_tell_what_each_part_reaches():
    data = Interactions.from_pairs(["ann", "ann", "bob"], ["a", "b", "c"])
    parts = Split(train=data.where([0]), test=data.where([1, 2]))
    assert parts.counts() == {
        "train": {"users": 1, "items": 1, "pairs": 1},
        "valid": {"users": 0, "items": 0, "pairs": 0},
        "test": {"users": 2, "items": 2, "pairs": 2},
        "cold items": 2,
        "users without train rows": 1,
        "users without test rows": 0,
    }


@pytest.mark.parametrize("how", ["ratio", "new-users", "temporal"])
def test_all_parts_together_are_the_data_with_times_weights_and_types_of_events(how):
    rows = [(f"u{n % 7}", f"i{n % 11}", ("view", "buy")[n % 2], n) for n in range(77)]
    events = pl.DataFrame(rows, schema=["user", "item", "event", "time"], orient="row")
    data = corml.load(events, event="event", weights={"view": 1, "buy": 5})
    whole = split(data, how).whole()
    assert whole.fingerprint == data.fingerprint  # of pairs, times and weights
    by_pair = [one.to_frame().sort("user", "item") for one in (whole, data)]
    assert by_pair[0].equals(by_pair[1])
    assert "kind" in by_pair[0].columns


def test_the_fingerprint_tells_parts_apart_but_not_rows(sample):
    early, late = sample.where(sample.user < 20), sample.where(sample.user >= 20)
    parts = Split(train=early, test=late)
    assert Split(train=early.where(slice(None, None, -1)), test=late).fingerprint == parts.fingerprint
    prints = {
        Split(**given).fingerprint
        for given in (
            {"train": early, "test": late},
            {"train": late, "test": early},
            {"train": early, "valid": late},
            {"train": early, "history": late},
            {"train": early, "valid_history": late},
        )
    }
    assert len(prints) == 5


def test_it_introduces_itself_and_travels_between_processes(sample):
    parts = split(sample, "leave-last")
    assert repr(parts).startswith("Split(leave-last: ")
    assert repr(Split(train=TRAIN)) == "Split(ready-made: 3 train, 0 valid, 0 test)"
    assert pickle.loads(pickle.dumps(parts)).fingerprint == parts.fingerprint


def test_its_name_in_a_file_cannot_move_the_cursor(tmp_path):
    Split(train=TRAIN, procedure={"name": "\x1b[2Jratio\n\u202e"}).save(tmp_path / "s.corml-split")
    shown = repr(read_split(tmp_path / "s.corml-split"))
    assert shown.isprintable()
    assert "ratio" in shown


def test_it_does_not_change():
    with pytest.raises(AttributeError):
        Split(train=TRAIN).train = TRAIN
