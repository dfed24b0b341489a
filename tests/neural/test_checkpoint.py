"""Checkpoints: an interrupted fit resumes as if nothing had happened, and nothing foreign is believed."""

import numpy as np
import pytest

import corml
from corml import Interactions, models
from corml.errors import DataError, ModelFileError, UsageError
from corml.models.fitted import Epoch
from corml.models.neural.training.checkpoint import Checkpoint, epochs_in
from corml.models.neural.training.loop import TrainingState
from corml.persistence import container
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
def path(tmp_path):
    return tmp_path / "training.ck"


def make(name="bpr-mf", **settings):
    return models.make(name, {"epochs": 6, "learning_rate": 0.02, **SMALL[name], **settings})


def stop_in(epoch, step=1):
    """A progress callback that is Ctrl-C in the middle of an epoch."""

    def progress(stage, done, total):
        if stage.split(",")[0] == f"epoch {epoch}" and done % (total // 6) == step:
            raise KeyboardInterrupt

    return progress


def assert_same(model, other):
    for name in model._declared_arrays():
        np.testing.assert_array_equal(model.fitted_.arrays[name], other.fitted_.arrays[name])


def without_times(curve):
    return [(point.epoch, point.loss, point.valid) for point in curve]


@pytest.mark.parametrize("validated", [True, False], ids=["with valid", "without"])
@pytest.mark.parametrize("name", SMALL)
def test_a_resumed_fit_equals_one_that_never_stopped(name, validated, parts, path):
    valid = parts.valid if validated else None
    whole = make(name).fit(parts.train, valid=valid)
    with pytest.raises(KeyboardInterrupt):
        make(name).fit(parts.train, valid=valid, checkpoint=path, progress=stop_in(4))
    assert epochs_in(path, name) == 3  # only the epoch it was in is lost
    with pytest.raises(KeyboardInterrupt):
        make(name).fit(parts.train, valid=valid, checkpoint=path, progress=stop_in(5, step=2))
    resumed = make(name).fit(parts.train, valid=valid, checkpoint=path)
    assert_same(resumed, whole)
    training, expected = resumed.fitted_.training, whole.fitted_.training
    assert without_times(training.curve) == without_times(expected.curve)
    assert (training.stopped, training.best_epoch) == (expected.stopped, expected.best_epoch)


def test_a_finished_fit_is_not_done_again(parts, path):
    first = make().fit(parts.train, checkpoint=path)
    before, stages = path.read_bytes(), []
    again = make().fit(parts.train, checkpoint=path, progress=lambda *words: stages.append(words))
    assert stages == []
    assert path.read_bytes() == before
    assert_same(again, first)


def test_more_epochs_may_be_asked_for_later(parts, path):
    make(epochs=2).fit(parts.train, valid=parts.valid, checkpoint=path)
    longer = make(epochs=6).fit(parts.train, valid=parts.valid, checkpoint=path)
    assert_same(longer, make(epochs=6).fit(parts.train, valid=parts.valid))
    assert longer.fitted_.training.epochs == 6


def test_how_long_and_where_to_learn_may_change_and_nothing_else(parts, path):
    make(epochs=1).fit(parts.train, checkpoint=path)
    make(epochs=2, patience=3, every=2, minutes=5.0, device="cpu").fit(parts.train, checkpoint=path)
    before = path.read_bytes()
    for change in ({"size": 7}, {"learning_rate": 0.1}, {"batch": 51}, {"seed": 1}, {"l2": 0.5}):
        (name,) = change
        with pytest.raises(ModelFileError, match=f"was trained with {name} .*: set it back, or choose another file"):
            make(**change).fit(parts.train, checkpoint=path)
    assert path.read_bytes() == before


def test_other_data_and_the_same_in_another_order_are_refused(parts, path):
    make(epochs=1).fit(parts.train, valid=parts.valid, checkpoint=path)
    before = path.read_bytes()
    for train, valid in ((parts.test, parts.valid), (parts.train, parts.test), (parts.train, None)):
        with pytest.raises(ModelFileError, match="was trained on other data, or on these in another order: choose"):
            make(epochs=2).fit(train, valid=valid, checkpoint=path)
    assert path.read_bytes() == before
    # Rows are numbered: in another order they are those of other users.
    labels = parts.train.users.labels[parts.train.user], parts.train.items.labels[parts.train.item]
    order = np.random.default_rng(0).permutation(len(parts.train))
    shuffled = Interactions.from_pairs(*(column[order] for column in labels))
    as_it_was = Interactions(parts.train.users, parts.train.items, parts.train.user, parts.train.item)
    assert shuffled.fingerprint == as_it_was.compact().fingerprint
    make(epochs=2).fit(as_it_was, valid=parts.valid, checkpoint=path)
    with pytest.raises(ModelFileError, match="or on these in another order"):
        make(epochs=2).fit(shuffled, valid=parts.valid, checkpoint=path)


def test_all_of_a_state_is_kept(path):
    E = np.arange(3, dtype=np.float32)
    curve = [Epoch(epoch=n, loss=1 / n, seconds=float(n), valid=0.125 if n == 2 else None) for n in (1, 2, 3)]
    before = TrainingState(3, 70.5, 60.25, 0.1250001, 2, curve, {"E": E}, {"E": E + 1, "E.step": np.float32(4)})
    file = Checkpoint(path, "bpr-mf", {"size": 4}, {"train": "x"})
    assert (file.read(), epochs_in(path, "bpr-mf")) == (TrainingState(), 0)  # without a file training begins
    file.write(before)
    after = file.read()
    for name in ("epoch", "seconds", "cpu", "best", "best_epoch", "curve"):
        assert getattr(after, name) == getattr(before, name)
    for part in ("best_parameters", "current"):
        np.testing.assert_equal(getattr(after, part), getattr(before, part))


def test_an_interrupted_fit_stops_where_it_would_have_stopped(parts, path):
    given = {"epochs": 200, "patience": 2, "learning_rate": 0.1}
    whole = make(**given).fit(parts.train, valid=parts.valid)
    last = whole.fitted_.training.epochs
    assert whole.fitted_.training.stopped == "no better on the validation pairs"

    def stop(stage, done, total):
        if stage.split(",")[0] == f"epoch {last}":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(**given).fit(parts.train, valid=parts.valid, checkpoint=path, progress=stop)
    resumed = make(**given).fit(parts.train, valid=parts.valid, checkpoint=path)
    assert resumed.fitted_.training.epochs == last
    assert_same(resumed, whole)


def test_fewer_epochs_than_were_learned_are_refused(parts, path):
    make(epochs=3).fit(parts.train, checkpoint=path)
    with pytest.raises(
        UsageError, match="is 3 epochs on and epochs is 2: set it to as many or more, or choose another"
    ):
        make(epochs=2).fit(parts.train, checkpoint=path)


def test_the_checkpoint_of_another_model_and_a_finished_model_are_refused(parts, path, tmp_path):
    model = make("dpcml", epochs=1).fit(parts.train, checkpoint=path)
    with pytest.raises(
        ModelFileError, match="is no checkpoint of bpr-mf but a checkpoint of 'dpcml': choose another file"
    ):
        make().fit(parts.train, checkpoint=path)
    model.save(tmp_path / "model.corml")
    before = (tmp_path / "model.corml").read_bytes()
    with pytest.raises(ModelFileError, match="is no checkpoint of dpcml but a finished model, 'dpcml'"):
        make("dpcml").fit(parts.train, checkpoint=tmp_path / "model.corml")
    assert (tmp_path / "model.corml").read_bytes() == before
    with pytest.raises(ModelFileError, match="is the checkpoint of an unfinished fit of 'dpcml': run that fit again"):
        corml.read_model(path)
    assert epochs_in(path, "dpcml") == 1
    assert epochs_in(path, "bpr-mf") == epochs_in(tmp_path / "model.corml", "dpcml") == 0


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
def test_what_is_damaged_is_refused_and_left_alone(spoil, sentence, parts, path):
    make(epochs=1).fit(parts.train, checkpoint=path)
    spoilt = spoil(path.read_bytes())
    path.write_bytes(spoilt)
    with pytest.raises(ModelFileError, match=f"No checkpoint to go on from: .*{sentence}.* Choose another file"):
        make().fit(parts.train, checkpoint=path)
    assert path.read_bytes() == spoilt


@pytest.mark.parametrize("made_with", [{"layout": 1}, {"layout": 3}, {}], ids=str)
def test_a_checkpoint_of_another_layout_is_refused(made_with, parts, path):
    make(epochs=1).fit(parts.train, checkpoint=path)
    contents = container.read(path)
    meta = {name: value for name, value in contents.meta.items() if name != "format"}
    path.write_bytes(container.pack(contents.arrays, meta | {"made_with": made_with}))
    with pytest.raises(ModelFileError, match="is a checkpoint of another version of corml: choose another file"):
        make().fit(parts.train, checkpoint=path)
    assert epochs_in(path, "bpr-mf") == 0


def test_where_no_file_can_be_is_said_before_any_work(parts, tmp_path):
    missing = tmp_path / "none" / "training.ck"
    for target, sentence in ((tmp_path, "is a folder"), (missing, "does not exist: create it first")):
        with pytest.raises(DataError, match=sentence):
            make().fit(parts.train, checkpoint=target, progress=lambda *_: pytest.fail("it began"))


def test_data_without_a_negative_have_no_moments_and_resume_all_the_same(path):
    """Every user has every item: no pair has a negative, an epoch has no step, and Adam has no state."""
    data = Interactions.from_pairs("aabb", "xyxy")
    make(epochs=1).fit(data, checkpoint=path)
    assert set(container.read(path).arrays) == {"current:E"}
    assert make(epochs=3).fit(data, checkpoint=path).fitted_.training.epochs == 3


def test_a_setting_of_any_length_in_a_checkpoint_is_told_in_a_line(parts, path):
    make(epochs=1).fit(parts.train, checkpoint=path)
    contents = container.read(path)
    meta = {name: value for name, value in contents.meta.items() if name != "format"}
    settings = {**meta["settings"], "size": "\x1b[31m" + "x" * 5000}
    path.write_bytes(container.pack(contents.arrays, {**meta, "settings": settings}))
    with pytest.raises(ModelFileError, match="was trained with size") as fault:
        make().fit(parts.train, checkpoint=path)
    assert str(fault.value).isprintable()
    assert len(str(fault.value)) < 500
