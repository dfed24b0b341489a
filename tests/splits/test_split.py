import pickle

import pytest

from corml.errors import UsageError
from corml.interactions import Interactions
from corml.splits import Split, split

TRAIN = Interactions.from_pairs(["ann", "ann", "bob"], ["a", "b", "c"])


def test_only_a_train_part_is_needed():
    made = Split(train=TRAIN)
    assert (len(made.valid), len(made.test), made.history, made.valid_history) == (0, 0, None, None)
    assert made.test.items is TRAIN.items
    assert dict(made.procedure) == dict(made.dropped) == {}


def test_parts_of_one_data_set_lose_nothing_and_items_without_train_pairs_stay(sample):
    few = sample.where(sample.user < 2)
    rest = sample.where(sample.user >= 2)
    made = Split(train=few, test=rest)
    assert made.test is rest
    assert made.dropped == {}
    assert made.counts()["cold items"] == len(sample.items) - len(few.compact().items)


def test_strangers_are_left_out_and_counted():
    test = Interactions.from_pairs(["bob", "bob", "cem", "cem"], ["a", "z", "a", "z"])
    made = Split(train=TRAIN, test=test)
    assert made.dropped == {"test": {"unknown users": 2, "unknown items": 1}}
    assert made.test.users is TRAIN.users
    assert (made.test.user.tolist(), made.test.item.tolist()) == ([1], [0])


def test_users_of_a_history_are_known_users(pairs):
    history = Interactions.from_pairs(["cem", "dee"], ["a", "z"])
    valid_history = Interactions.from_pairs(["eve"], ["b"])
    test = Interactions.from_pairs(["cem", "fay"], ["b", "b"])
    made = Split(train=TRAIN, test=test, history=history, valid_history=valid_history)
    assert pairs(made.train) == pairs(TRAIN)
    assert pairs(made.test) == {("cem", "b")}
    assert pairs(made.history) == {("cem", "a")}
    assert made.train.users.labels.tolist() == ["ann", "bob", "cem", "dee", "eve"]
    assert made.dropped == {
        "test": {"unknown users": 1, "unknown items": 0},
        "history": {"unknown users": 0, "unknown items": 1},
    }
    assert all(part.users is made.train.users and part.items is TRAIN.items for part in made.parts().values())


def test_the_same_ids_in_another_order_are_moved_without_loss(pairs):
    test = Interactions.from_pairs(["bob", "ann"], ["b", "c"])
    made = Split(train=TRAIN, test=test)
    assert pairs(made.test) == {("bob", "b"), ("ann", "c")}
    assert made.dropped == {}


def test_a_model_is_told_train_and_must_not_recommend_train_or_valid(sample, pairs):
    made = split(sample)
    told, mask, targets = made.part("valid")
    assert (told, mask, targets) == (made.train, made.train, made.valid)
    told, mask, targets = made.part("test")
    assert (told, targets) == (made.train, made.test)
    assert pairs(mask) == pairs(made.train) | pairs(made.valid)
    assert len(mask) == len(made.train) + len(made.valid)


def test_a_history_is_told_instead_of_train(sample, pairs):
    made = split(sample, "new-users", shares=(0.5, 0.25, 0.25))
    told, mask, targets = made.part("valid")
    assert (told, mask, targets) == (made.valid_history, made.valid_history, made.valid)
    told, mask, targets = made.part("test")
    assert (told, targets) == (made.history, made.test)
    assert pairs(mask) == pairs(made.history) | pairs(made.valid)


def test_without_a_valid_part_only_train_is_masked(sample):
    made = split(sample, shares=(0.8, 0.2))
    assert made.part("test") == (made.train, made.train, made.test)


def test_a_pair_in_train_and_valid_is_masked_once():
    made = Split(train=TRAIN, valid=TRAIN, test=TRAIN)
    assert made.part("test")[1].matrix.sum() == len(TRAIN)


def test_other_parts_cannot_be_evaluated():
    with pytest.raises(UsageError, match=r"no part 'train' .*: choose 'valid' or 'test'"):
        Split(train=TRAIN).part("train")


def test_counts_tell_what_each_part_reaches():
    data = Interactions.from_pairs(["ann", "ann", "bob"], ["a", "b", "c"])
    made = Split(train=data.where([0]), test=data.where([1, 2]))
    assert made.counts() == {
        "train": {"users": 1, "items": 1, "pairs": 1},
        "valid": {"users": 0, "items": 0, "pairs": 0},
        "test": {"users": 2, "items": 2, "pairs": 2},
        "cold items": 2,
        "users without train rows": 1,
        "users without test rows": 0,
    }


def test_the_fingerprint_tells_parts_apart_but_not_rows(sample):
    one, other = sample.where(sample.user < 20), sample.where(sample.user >= 20)
    made = Split(train=one, test=other)
    assert Split(train=one.where(slice(None, None, -1)), test=other).fingerprint == made.fingerprint
    prints = {
        Split(**parts).fingerprint
        for parts in (
            {"train": one, "test": other},
            {"train": other, "test": one},
            {"train": one, "valid": other},
            {"train": one, "history": other},
            {"train": one, "valid_history": other},
        )
    }
    assert len(prints) == 5


def test_it_introduces_itself_and_travels_between_processes(sample):
    made = split(sample, "leave-last")
    assert repr(made).startswith("Split(leave-last: ")
    assert repr(Split(train=TRAIN)) == "Split(ready-made: 3 train, 0 valid, 0 test)"
    assert pickle.loads(pickle.dumps(made)).fingerprint == made.fingerprint


def test_it_does_not_change():
    with pytest.raises(AttributeError):
        Split(train=TRAIN).train = TRAIN
