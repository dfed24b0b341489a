"""Items held out: none of their pairs is learned from, and mixed lists have targets of both sorts."""

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.errors import SettingError
from corml.splits import split


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return Interactions.from_pairs(rng.integers(0, 30, 900), rng.integers(0, 50, 900))


def test_an_item_is_in_one_part(data):
    parts = split(data, "new-items")
    items = [set(getattr(parts, name).item.tolist()) for name in ("train", "valid", "test")]
    assert [len(one) for one in items] == [30, 10, 10]
    assert not items[0] & items[1]
    assert not (items[0] | items[1]) & items[2]


def test_new_items_stay_in_the_catalogue(data):
    assert split(data, "new-items").train.items == data.items


def test_with_known_a_share_of_the_other_pairs_is_held_out_too(data):
    parts = split(data, "new-items", known=0.2)
    plain = split(data, "new-items")
    old = np.isin(parts.test.item, plain.train.item)
    assert 0.15 < old.sum() / len(plain.train) < 0.25
    assert set(parts.test.item[~old].tolist()) == set(plain.test.item.tolist())
    assert not np.isin(plain.test.item, parts.train.item).any()


def test_another_seed_holds_out_other_items(data):
    first, second = (set(split(data, "new-items", seed=seed).test.item.tolist()) for seed in (1, 2))
    assert first != second


def test_a_share_of_known_pairs_must_leave_some_to_learn_from(data):
    with pytest.raises(SettingError, match=r"known of the split 'new-items' must be a number from 0 to 0.4; got '0.5'"):
        split(data, "new-items", known=0.5)


def test_text_is_read_as_a_command_line_brings_it(data):
    assert split(data, "new-items", known="0.2").fingerprint == split(data, "new-items", known=0.2).fingerprint
