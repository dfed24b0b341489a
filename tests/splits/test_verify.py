import dataclasses

import numpy as np
import pytest

from corml.errors import DataError
from corml.splits import Split, ready_made, split, verify_split


def with_record(parts, **changes):
    return dataclasses.replace(parts, procedure={**parts.procedure, **changes})


def test_a_split_of_these_data_is_confirmed(sample):
    verify_split(split(sample, seed=3), sample)
    split(sample, "k-fold", fold=2).verify(sample)


def test_other_data_are_named(sample):
    fewer = sample.where(np.arange(len(sample)) > 0)
    with pytest.raises(DataError, match="The data are not those the split was made from"):
        split(sample).verify(fewer)


def test_another_seed_in_the_record_is_noticed_in_the_parts(sample):
    with pytest.raises(DataError, match="The sets train, valid, test are not what the recorded procedure makes"):
        with_record(split(sample), seed=1).verify(sample)


def test_a_moved_pair_is_noticed_and_its_parts_named(sample):
    parts = split(sample)
    n = len(parts.test)
    thinner = dataclasses.replace(parts, test=parts.test.where(np.arange(n) > 0))
    with pytest.raises(DataError, match="The sets test are not"):
        thinner.verify(sample)


def test_a_part_too_many_is_named(sample):
    parts = split(sample)
    with pytest.raises(DataError, match="The sets history are not"):
        dataclasses.replace(parts, history=parts.train).verify(sample)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"name": "soup"}, "The recorded procedure cannot be run: There is no split 'soup'"),
        ({"name": 7}, "The recorded procedure cannot be run"),
        ({"seed": -1}, "The recorded procedure cannot be run: seed of the split 'ratio' must be"),
        ({"sed": 1}, "The procedure differs from its record in 'sed'"),
    ],
)
def test_a_record_that_cannot_be_followed_says_why(sample, record, message):
    with pytest.raises(DataError, match=message):
        with_record(split(sample), **record).verify(sample)


def test_parts_made_elsewhere_cannot_be_made_again(sample):
    with pytest.raises(DataError, match=r"\('ready-made'\) cannot be run again"):
        ready_made(sample).verify(sample)
    with pytest.raises(DataError, match="cannot be run again"):
        Split(train=sample).verify(sample)
