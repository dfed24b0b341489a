"""The loop: it goes on while validation gains, keeps the best parameters, and says why it stopped."""

import math

import numpy as np
import pytest
import torch

from corml.errors import NumericalError
from corml.models.neural.training.loop import Schedule, TrainingState, array_shapes, train


class Slide:
    """One number that slides towards 10, by about the step length a step."""

    steps = 1

    def __init__(self, start=0.0, spoil=math.inf):
        self.x = torch.tensor([start], requires_grad=True)
        self.spoil, self.seen = spoil, []

    def groups(self):
        return {"all": {"x": self.x}}

    def epoch(self, rng):
        self.seen.append(int(rng.integers(1000)))
        loss = (self.x - 10).square().sum()
        yield "all", loss * math.nan if len(self.seen) > self.spoil else loss

    def arrays(self):
        return {"x": self.x.detach().numpy().copy()}


def schedule(**given):
    return Schedule(**({"epochs": 30, "patience": 3, "every": 1, "learning_rate": 0.1, "seed": 0} | given))


def run(learner, schedule, validate=None, state=None, save=lambda state: None, progress=lambda *_: None):
    return train(learner, schedule, validate=validate, state=state or TrainingState(), save=save, progress=progress)


def near(target):
    return lambda arrays: -abs(float(arrays["x"][0]) - target)


def test_without_validation_pairs_all_epochs_are_done_and_the_last_parameters_stay():
    learner = Slide()
    training = run(learner, schedule())
    assert (training.epochs, training.stopped) == (30, "all epochs done")
    assert training.best_epoch is None
    assert learner.x.item() == pytest.approx(3, abs=0.2)


def test_it_stops_when_validation_no_longer_gains_and_ends_with_the_best_parameters():
    learner = Slide()
    training = run(learner, schedule(), near(1.0))
    assert training.stopped == "no better on the validation pairs"
    assert training.epochs == training.best_epoch + 3
    assert learner.x.item() == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_patience_is_how_many_evaluations_may_gain_nothing(patience):
    training = run(Slide(), schedule(patience=patience), near(0.5))
    assert training.epochs - training.best_epoch == patience


def test_evaluations_come_every_so_many_epochs():
    training = run(Slide(), schedule(every=4, patience=2), near(0.8))
    assert [point.epoch for point in training.curve if point.valid is not None] == [4, 8, 12, 16]
    assert (training.best_epoch, training.epochs) == (8, 16)


def test_the_last_parameters_stay_if_there_was_no_evaluation():
    learner = Slide()
    training = run(learner, schedule(epochs=3, every=5), near(0.0))
    assert training.best_epoch is None
    assert learner.x.item() == pytest.approx(0.3, abs=0.02)


def test_the_curve_has_a_point_for_each_epoch():
    training = run(Slide(), schedule(epochs=5), near(10.0))
    assert [point.epoch for point in training.curve] == [1, 2, 3, 4, 5]
    losses = [point.loss for point in training.curve]
    assert losses[0] == pytest.approx(100)
    assert losses == sorted(losses, reverse=True)
    values = [point.valid for point in training.curve]
    assert values == sorted(values)
    seconds = [point.seconds for point in training.curve]
    assert seconds == sorted(seconds)
    assert training.seconds == pytest.approx(seconds[-1], abs=0.06)


def test_a_budget_of_time_is_checked_after_each_epoch():
    assert run(Slide(), schedule(seconds=1e-9)).epochs == 1
    training = run(Slide(), schedule(seconds=100), state=TrainingState(seconds=101.0))
    assert (training.epochs, training.stopped) == (0, "out of time")


def test_no_epochs_leave_the_parameters_as_they_began():
    learner = Slide(start=4.0)
    assert run(learner, schedule(epochs=0), near(0.0)).stopped == "all epochs done"
    assert learner.x.item() == 4


def test_a_loss_that_is_not_finite_ends_it_with_advice_and_nothing_of_it_is_saved():
    saved = []

    def save(state):
        saved.append({name: array.copy() for name, array in state.current.items()})

    with pytest.raises(NumericalError, match="The loss of epoch 3 is not finite at step 1: lower learning_rate"):
        run(Slide(spoil=2), schedule(), save=save)
    assert len(saved) == 2
    assert all(np.isfinite(array).all() for arrays in saved for array in arrays.values())


def test_each_epoch_has_numbers_of_its_own_that_seed_and_epoch_decide():
    first, again, other = Slide(), Slide(), Slide()
    run(first, schedule(epochs=5))
    run(again, schedule(epochs=5))
    run(other, schedule(epochs=5, seed=1))
    assert first.seen == again.seen != other.seen
    assert len(set(first.seen)) == 5


@pytest.mark.parametrize("first", [1, 4, 9])
def test_resuming_from_a_state_is_as_if_it_had_never_stopped(first):
    whole = Slide()
    run(whole, schedule(epochs=10), near(0.4))
    state = TrainingState()
    run(Slide(), schedule(epochs=first), near(0.4), state=state)
    later = Slide(start=-99.0)  # what it begins with does not matter
    training = run(later, schedule(epochs=10), near(0.4), state=state)
    assert torch.equal(later.x, whole.x)
    assert training.epochs == len(training.curve)


def test_the_best_and_the_current_parameters_are_two():
    state, learner = TrainingState(), Slide()
    run(learner, schedule(epochs=7, patience=100), near(0.3), state=state)
    assert float(state.best_parameters["x"][0]) == pytest.approx(0.3, abs=0.06)
    assert float(state.current["x"][0]) == pytest.approx(0.7, abs=0.06)
    parameters, moments = array_shapes(learner)
    assert parameters == {"x": (1,)}
    assert {**parameters, **moments} == {name: array.shape for name, array in state.current.items()}


def test_progress_counts_the_steps_of_all_epochs():
    reports = []
    run(Slide(), schedule(epochs=3), near(9.0), progress=lambda *words: reports.append(words))
    assert [done for _, done, _ in reports] == [0, 1, 1, 2, 2, 3]
    assert {total for _, _, total in reports} == {3}
    assert reports[0][0] == "epoch 1"
    assert reports[-1][0].startswith("epoch 3, valid -")
