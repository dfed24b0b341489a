"""Keeping one's place: an interrupted fit goes on as if nothing had happened, and nothing foreign is believed."""

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml.errors import DataError, ModelFileError, UsageError
from corml.neural.checkpoint import Checkpoint
from corml.neural.training import Place
from corml.storage import container
from support import random_interactions

SMALL = {
    "bpr-mf": {"size": 6, "batch": 50},
    "dpcml": {"size": 4, "batch": 50, "negatives": 3},
    "recvae": {"size": 4, "hidden": 8, "batch": 16, "turns": 2},
}


@pytest.fixture(scope="module")
def parts():
    return corml.split(random_interactions(5, 50, 20, mean=8), "ratio")


@pytest.fixture
def place(tmp_path):
    return tmp_path / "place.corml"


def make(name="bpr-mf", **settings):
    return models.make(name, {"epochs": 6, "learning_rate": 0.02, **SMALL[name], **settings})


def stop_in(epoch, step=1):
    """A progress callback that is Ctrl-C in the middle of an epoch."""

    def progress(stage, done, total):
        if stage.split(",")[0] == f"epoch {epoch}" and done % (total // 6) == step:
            raise KeyboardInterrupt

    return progress


def assert_same(one, other):
    for name in one.STATE:
        np.testing.assert_array_equal(getattr(one, name + "_"), getattr(other, name + "_"))


def without_times(curve):
    return [{name: value for name, value in row.items() if name in ("epoch", "loss", "valid")} for row in curve]


@pytest.mark.parametrize("judged", [True, False], ids=["with valid", "without"])
@pytest.mark.parametrize("name", SMALL)
def test_an_interrupted_fit_that_goes_on_equals_one_that_never_stopped(name, judged, parts, place):
    valid = parts.valid if judged else None
    whole = make(name).fit(parts.train, valid=valid)
    with pytest.raises(KeyboardInterrupt):
        make(name).fit(parts.train, valid=valid, checkpoint=place, progress=stop_in(4))
    assert container.read(place).meta["notes"]["place"]["epoch"] == 3  # only the epoch it was in is lost
    resumed = make(name).fit(parts.train, valid=valid, checkpoint=place)
    assert_same(resumed, whole)
    told, expected = resumed.notes_["training"], whole.notes_["training"]
    assert without_times(told["curve"]) == without_times(expected["curve"])
    assert told["stopped"] == expected["stopped"]


def test_a_fit_may_be_interrupted_again_and_again(parts, place):
    whole = make().fit(parts.train, valid=parts.valid)
    for epoch in range(1, 6):
        with pytest.raises(KeyboardInterrupt):
            make().fit(parts.train, valid=parts.valid, checkpoint=place, progress=stop_in(epoch, step=2))
    assert_same(make().fit(parts.train, valid=parts.valid, checkpoint=place), whole)


def test_a_finished_fit_is_not_done_again(parts, place):
    first = make().fit(parts.train, checkpoint=place)
    before, stages = place.read_bytes(), []
    again = make().fit(parts.train, checkpoint=place, progress=lambda *words: stages.append(words))
    assert stages == []
    assert place.read_bytes() == before
    assert_same(again, first)


def test_more_epochs_may_be_asked_for_later(parts, place):
    make(epochs=2).fit(parts.train, valid=parts.valid, checkpoint=place)
    longer = make(epochs=6).fit(parts.train, valid=parts.valid, checkpoint=place)
    assert_same(longer, make(epochs=6).fit(parts.train, valid=parts.valid))
    assert longer.notes_["training"]["epochs"] == 6


def test_how_long_and_where_to_learn_may_change_and_nothing_else(parts, place):
    make(epochs=1).fit(parts.train, checkpoint=place)
    make(epochs=2, patience=3, every=2, minutes=5.0, device="cpu").fit(parts.train, checkpoint=place)
    before = place.read_bytes()
    for change in ({"size": 7}, {"learning_rate": 0.1}, {"batch": 51}, {"seed": 1}, {"l2": 0.5}):
        (name,) = change
        with pytest.raises(UsageError, match=f"was trained with {name} .*: set it back, or choose another file"):
            make(**change).fit(parts.train, checkpoint=place)
    assert place.read_bytes() == before


def test_other_data_are_refused(parts, place):
    make(epochs=1).fit(parts.train, valid=parts.valid, checkpoint=place)
    before = place.read_bytes()
    for train, valid in ((parts.test, parts.valid), (parts.train, parts.test), (parts.train, None)):
        with pytest.raises(UsageError, match="was trained on other data, or on these in another order: choose"):
            make(epochs=2).fit(train, valid=valid, checkpoint=place)
    assert place.read_bytes() == before


def test_the_same_pairs_in_another_order_are_refused(parts, place):
    """What a checkpoint keeps is numbered by rows: in another order the rows are those of other people."""
    make(epochs=1).fit(parts.train, checkpoint=place)
    labels = parts.train.users.labels[parts.train.user], parts.train.items.labels[parts.train.item]
    order = np.random.default_rng(0).permutation(len(parts.train))
    shuffled = Interactions.from_pairs(*(column[order] for column in labels))
    as_it_was = Interactions(parts.train.users, parts.train.items, parts.train.user, parts.train.item)
    assert shuffled.fingerprint == as_it_was.compact().fingerprint
    make(epochs=2).fit(as_it_was, checkpoint=place)
    with pytest.raises(UsageError, match="or on these in another order"):
        make(epochs=2).fit(shuffled, checkpoint=place)


def test_all_of_a_place_is_kept(place):
    one = np.arange(3, dtype=np.float32)
    before = Place(5, 70.5, 60.25, 0.125, 3, [{"epoch": 1, "loss": 0.5}], {"E": one}, {"E": one + 1, "E.step": one[:1]})
    file = Checkpoint(place, "bpr-mf", {"size": 4}, {"train": "x"})
    file.write(before)
    after = file.read()
    for name in ("epoch", "seconds", "cpu", "best", "best_epoch", "curve"):
        assert getattr(after, name) == getattr(before, name)
    for part in ("kept", "now"):
        np.testing.assert_equal(getattr(after, part), getattr(before, part))


def test_an_interrupted_fit_stops_where_it_would_have_stopped(parts, place):
    given = {"epochs": 200, "patience": 2, "learning_rate": 0.1}
    whole = make(**given).fit(parts.train, valid=parts.valid)
    last = whole.notes_["training"]["epochs"]
    assert whole.notes_["training"]["stopped"] == "no better on the validation pairs"

    def stop(stage, done, total):
        if stage.split(",")[0] == f"epoch {last}":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(**given).fit(parts.train, valid=parts.valid, checkpoint=place, progress=stop)
    resumed = make(**given).fit(parts.train, valid=parts.valid, checkpoint=place)
    assert resumed.notes_["training"]["epochs"] == last
    assert_same(resumed, whole)


def test_fewer_epochs_than_were_learned_are_refused(parts, place):
    make(epochs=3).fit(parts.train, checkpoint=place)
    with pytest.raises(
        UsageError, match="is 3 epochs on and epochs is 2: set it to as many or more, or choose another"
    ):
        make(epochs=2).fit(parts.train, checkpoint=place)


def test_the_place_of_another_model_and_a_finished_model_are_refused(parts, place, tmp_path):
    model = make("dpcml", epochs=1).fit(parts.train, checkpoint=place)
    with pytest.raises(UsageError, match="is no checkpoint of bpr-mf but a checkpoint of 'dpcml': choose another file"):
        make().fit(parts.train, checkpoint=place)
    model.save(tmp_path / "model.corml")
    before = (tmp_path / "model.corml").read_bytes()
    with pytest.raises(UsageError, match="is no checkpoint of dpcml but a finished model, 'dpcml'"):
        make("dpcml").fit(parts.train, checkpoint=tmp_path / "model.corml")
    assert (tmp_path / "model.corml").read_bytes() == before


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda whole: b"user,item\na,x\n", "not a corml model file"),
        (lambda whole: b"", "not a corml model file"),
        (lambda whole: whole[:100], "damaged"),
        (lambda whole: whole[:-1], "damaged"),
        (lambda whole: whole[:-9] + b"\x01" + whole[-8:], "damaged"),
    ],
    ids=["text", "empty", "beginning", "truncated", "one byte"],
)
def test_what_is_damaged_is_refused_and_left_alone(spoil, sentence, parts, place):
    make(epochs=1).fit(parts.train, checkpoint=place)
    spoilt = spoil(place.read_bytes())
    place.write_bytes(spoilt)
    with pytest.raises(ModelFileError, match=f"No checkpoint to go on from: .*{sentence}.* Choose another file"):
        make().fit(parts.train, checkpoint=place)
    assert place.read_bytes() == spoilt


def test_a_checkpoint_without_its_parts_is_refused(parts, place):
    make(epochs=1).fit(parts.train, checkpoint=place)
    found = container.read(place)
    meta = {name: value for name, value in found.meta.items() if name != "format"}
    arrays = {name: array for name, array in found.arrays.items() if name != "now:E"}
    place.write_bytes(container.pack(arrays, meta))
    with pytest.raises(ModelFileError, match=r"does not hold a place in training \('now:E'\): delete it"):
        make().fit(parts.train, checkpoint=place)


def changed(place, arrays=None, **meta):
    found = container.read(place)
    kept = {name: value for name, value in found.meta.items() if name != "format"}
    place.write_bytes(container.pack(found.arrays | (arrays or {}), kept | meta))


def test_a_checkpoint_of_another_layout_is_refused(parts, place):
    make(epochs=1).fit(parts.train, checkpoint=place)
    changed(place, made_with={"layout": 0})
    with pytest.raises(UsageError, match="is a checkpoint of another version of corml: choose another file"):
        make().fit(parts.train, checkpoint=place)


def test_arrays_that_do_not_fit_are_refused(parts, place):
    make(epochs=1).fit(parts.train, checkpoint=place)
    changed(place, {"now:E": np.zeros((3, 6), dtype=np.float32)})
    with pytest.raises(ModelFileError, match="is of another model, its E does not fit: choose another file"):
        make().fit(parts.train, checkpoint=place)


def test_where_no_file_can_be_is_said_before_any_work(parts, tmp_path):
    for path, sentence in ((tmp_path, "is a folder"), (tmp_path / "none" / "place", "does not exist: create it first")):
        with pytest.raises(DataError, match=sentence):
            make().fit(parts.train, checkpoint=path, progress=lambda *_: pytest.fail("it began"))


def test_a_checkpoint_is_no_model_and_says_so(parts, place):
    make(epochs=1).fit(parts.train, checkpoint=place)
    with pytest.raises(ModelFileError, match="is the checkpoint of an unfinished fit of 'bpr-mf': run that fit again"):
        corml.read_model(place)
