"""Checkpoints with a right digest and a wrong content: a sentence for each, never PyTorch's memory.

Adam is given its moments as they are: with another shape or type than their parameter it writes outside of them.
"""

import copy
import json
import math
import re
from itertools import product
from unittest import mock

import numpy as np
import pytest

import corml
from corml import models
from corml.errors import ModelFileError, UsageError, ascii_line
from corml.models.neural.training.checkpoint import epochs_in
from corml.persistence import container
from support import random_interactions

TABLE = {"bpr-mf": "E", "recvae": "first"}  # a parameter of a model with one group of them, and of one with two
NEURAL = tuple(TABLE)
PARTS = corml.split(random_interactions(5, 30, 15, mean=6), "ratio")


def make(name, epochs=3):
    small = {"hidden": 6, "turns": 1} if name == "recvae" else {}
    return models.make(name, {"size": 3, "batch": 64, "epochs": epochs, "learning_rate": 0.02, **small})


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A checkpoint of two epochs of each model."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for name in NEURAL:
        make(name, epochs=2).fit(PARTS.train, valid=PARTS.valid, checkpoint=folder / name)
    return {name: container.read(folder / name) for name in NEURAL}


def forge(path, contents, change):
    """Write a checkpoint with changed arrays and facts, unchecked, and the digest that belongs to them."""
    arrays = {name: array.copy() for name, array in contents.arrays.items()}
    meta = {name: copy.deepcopy(value) for name, value in contents.meta.items() if name != "format"}
    change(arrays, meta["notes"]["state"])
    with (
        mock.patch.object(container, "_json", lambda meta, kind: json.dumps(meta)),
        mock.patch.object(container, "_check_arrays"),
    ):
        path.write_bytes(container.pack(arrays, meta))


@pytest.fixture(params=NEURAL)
def name(request):
    return request.param


@pytest.fixture
def forged(name, honest, tmp_path):
    """A function that forges a checkpoint and asserts that it is refused with a sentence, and left as it is."""

    def assert_refused_when(change, sentence):
        path = tmp_path / "ck"
        forge(path, honest[name], change)
        before = path.read_bytes()
        with pytest.raises(ModelFileError, match=sentence):
            make(name).fit(PARTS.train, valid=PARTS.valid, checkpoint=path)
        assert path.read_bytes() == before
        return epochs_in(path, name)

    return assert_refused_when


# --- arrays ----------------------------------------------------------------------------------------------------------

OTHER = {
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.concatenate([array, array]),
    "transposed": lambda array: array.T,
    "a number": lambda array: np.float32(1),
    "an axis more": lambda array: array[None],
    "empty": lambda array: array[:0],
    "double": lambda array: array.astype(np.float64),
    "whole numbers": lambda array: np.ones(array.shape, dtype=np.int32),
    "bytes": lambda array: np.ones(array.shape, dtype=np.uint8),
}
KEYS, STEP = ("current:{}", "current:{}.exp_avg", "current:{}.exp_avg_sq", "best:{}"), "current:{}.step"
OF_STEP = ("an axis more", "double", "whole numbers", "bytes")


def filled(key, value):
    return lambda arrays, facts: arrays.update({key: np.full(arrays[key].shape, value, dtype=np.float32)})


def test_arrays_of_another_shape_or_type_are_refused(forged, name):
    for key, other in [*product(KEYS, OTHER), *product([STEP], OF_STEP)]:
        key = key.format(TABLE[name])

        def change(arrays, facts, key=key, other=other):
            arrays[key] = np.array(OTHER[other](arrays[key]), order="C")

        forged(
            change, rf"array '{key}' is \w+ of shape \(.*\), not float32 of shape \(.*\)\): delete it, and fit again"
        )


def test_numbers_that_adam_does_not_make_are_refused(forged, name):
    for moment, value in (("step", -1), ("step", 0), ("step", 1.5), ("exp_avg_sq", -1e-3)):
        key = f"current:{TABLE[name]}.{moment}"
        forged(filled(key, value), f"its array '{key}' has numbers that Adam does not make")


def test_numbers_that_are_not_finite_are_refused(forged, name):
    for key, value in product([*KEYS, STEP], (math.nan, math.inf)):
        key = key.format(TABLE[name])
        forged(filled(key, value), f"No checkpoint to go on from: .* numbers in '{key}' that are not finite")


def test_missing_and_unknown_arrays_are_refused(forged, name):
    for key in [key.format(TABLE[name]) for key in (*KEYS, STEP)]:
        forged(lambda arrays, facts, key=key: arrays.pop(key), rf"\(its array '{key}' is missing\): delete it")
    for part in ("current:", "best:", ""):

        def change(arrays, facts, part=part):
            for key in [key for key in arrays if key.startswith(part)]:
                del arrays[key]

        forged(change, r"state of training \(its array '.*' is missing\): delete it")
    for key in ("current:other", "current:E.max_exp_avg_sq", "best:E.exp_avg", "now:E", "current", "a\nline", ":"):
        one = {key: np.zeros(3, dtype=np.float32)}
        sentence = re.escape(f"(its array {ascii_line(key)} is unknown): delete it")
        forged(lambda arrays, facts, one=one: arrays.update(one), sentence)


# --- facts -----------------------------------------------------------------------------------------------------------

ODD = {
    "epoch": [-1, 0, 1, 3, True, 2.0, "2", None, [2], {}, 10**30, 10**400],
    "seconds": [-1.0, True, "1", None, [], math.nan, math.inf, 10**400],
    "cpu": [-1.0, False, "1", None, [], math.nan, -math.inf, 10**400],
    "best": [None, True, "0.5", [], math.nan, math.inf, -math.inf, 7.0, 10**400],
    "best_epoch": [-1, 0, 3, True, 1.0, "1", None, 10**30],
    "curve": [None, [], {}, "curve", [1, 2], [{}, {}], [None, None]],
    "surprise": [1],
}
POINTS = {
    "twice": lambda first, last: [first, first],
    "backwards": lambda first, last: [last, first],
    "short": lambda first, last: [first],
    "long": lambda first, last: [first, last, {**last, "epoch": 3}],
    "an epoch of text": lambda first, last: [{**first, "epoch": "1"}, last],
    "a true epoch": lambda first, last: [{**first, "epoch": True}, last],
    "a loss of text": lambda first, last: [{**first, "loss": "low"}, last],
    "no loss": lambda first, last: [without(first, "loss"), last],
    "an infinite loss": lambda first, last: [{**first, "loss": math.inf}, last],
    "a value that is no number": lambda first, last: [{**first, "valid": math.nan}, last],
    "negative seconds": lambda first, last: [{**first, "seconds": -1.0}, last],
    "an unknown fact": lambda first, last: [{**first, "accuracy": 1.0}, last],
    "no validation": lambda first, last: [without(first, "valid"), without(last, "valid")],
    "a better epoch": lambda first, last: [{**first, "valid": 0.98}, {**last, "valid": 0.99}],
}
SENTENCE = r"does not hold a state of training \(its .*\): delete it, and fit again\.$"


def without(point, fact):
    return {name: value for name, value in point.items() if name != fact}


@pytest.mark.parametrize("fact", ODD)
def test_odd_facts_are_refused(fact, forged):
    for value in ODD[fact]:
        assert forged(lambda arrays, facts, value=value: facts.update({fact: value}), SENTENCE) == 0


def test_odd_curves_are_refused(forged):
    for odd in POINTS.values():
        forged(lambda arrays, facts, odd=odd: facts.update(curve=odd(*facts["curve"])), SENTENCE)


def test_a_file_without_facts_is_refused(name, honest, tmp_path):
    meta = without(honest[name].meta, "format")
    for notes in ({}, {"state": None}, {"state": [1]}, {"state": {}}):
        (tmp_path / "ck").write_bytes(container.pack(honest[name].arrays, meta | {"notes": notes}))
        with pytest.raises(ModelFileError, match=SENTENCE):
            make(name).fit(PARTS.train, valid=PARTS.valid, checkpoint=tmp_path / "ck")


def test_parameters_of_a_best_epoch_without_one_are_refused(forged):
    def change(arrays, facts):
        facts.update(best=None, best_epoch=0, curve=[without(point, "valid") for point in facts["curve"]])

    forged(change, "it has parameters of a best epoch, and no such epoch")


def test_an_unchanged_state_is_accepted(name, honest, tmp_path):
    """So it is the change that the tests above see refused; and fewer epochs are a wrong setting, not a wrong file."""
    forge(tmp_path / "ck", honest[name], lambda arrays, facts: None)
    assert epochs_in(tmp_path / "ck", name) == 2
    with pytest.raises(UsageError, match="is 2 epochs on and epochs is 1"):
        make(name, epochs=1).fit(PARTS.train, valid=PARTS.valid, checkpoint=tmp_path / "ck")
    resumed = make(name).fit(PARTS.train, valid=PARTS.valid, checkpoint=tmp_path / "ck")
    straight = make(name).fit(PARTS.train, valid=PARTS.valid)
    for array in straight._declared_arrays():
        np.testing.assert_array_equal(resumed.fitted_.arrays[array], straight.fitted_.arrays[array])
