"""The loop: it goes on while it gains, keeps the best it saw, and ends for a reason it tells."""

import math

import numpy as np
import pytest
import torch

from corml.errors import NumericalError
from corml.neural.training import Course, Place, train


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


def course(**given):
    return Course(**({"epochs": 30, "patience": 3, "every": 1, "learning_rate": 0.1, "seed": 0} | given))


def run(learner, course, judge=None, place=None, keep=lambda place: None, progress=lambda *_: None):
    return train(learner, course, judge=judge, place=place or Place(), keep=keep, progress=progress)


def near(target):
    return lambda arrays: -abs(float(arrays["x"][0]) - target)


def test_without_validation_pairs_all_epochs_are_done_and_the_last_parameters_stay():
    learner = Slide()
    told = run(learner, course())
    assert (told["epochs"], told["stopped"]) == (30, "all epochs done")
    assert "best epoch" not in told
    assert learner.x.item() == pytest.approx(3, abs=0.2)


def test_it_stops_when_looks_no_longer_gain_and_ends_with_the_best_parameters():
    learner = Slide()
    told = run(learner, course(), near(1.0))
    assert told["stopped"] == "no better on the validation pairs"
    assert told["epochs"] == told["best epoch"] + 3
    assert learner.x.item() == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_patience_is_how_many_looks_may_gain_nothing(patience):
    told = run(Slide(), course(patience=patience), near(0.5))
    assert told["epochs"] - told["best epoch"] == patience


def test_looks_come_every_so_many_epochs():
    told = run(Slide(), course(every=4, patience=2), near(0.8))
    looks = [row["epoch"] for row in told["curve"] if "valid" in row]
    assert looks == [4, 8, 12, 16]
    assert (told["best epoch"], told["epochs"]) == (8, 16)


def test_the_last_parameters_stay_if_there_was_no_look():
    learner = Slide()
    told = run(learner, course(epochs=3, every=5), near(0.0))
    assert "best epoch" not in told
    assert learner.x.item() == pytest.approx(0.3, abs=0.02)


def test_the_curve_has_a_row_for_each_epoch():
    told = run(Slide(), course(epochs=5), near(10.0))
    assert [row["epoch"] for row in told["curve"]] == [1, 2, 3, 4, 5]
    losses = [row["loss"] for row in told["curve"]]
    assert losses[0] == pytest.approx(100)
    assert losses == sorted(losses, reverse=True)
    values = [row["valid"] for row in told["curve"]]
    assert values == sorted(values)
    seconds = [row["seconds"] for row in told["curve"]]
    assert seconds == sorted(seconds)
    assert told["seconds"] == pytest.approx(seconds[-1], abs=0.06)


def test_a_budget_of_time_is_asked_for_after_each_epoch():
    assert run(Slide(), course(seconds=1e-9))["epochs"] == 1
    told = run(Slide(), course(seconds=100), place=Place(seconds=101.0))
    assert (told["epochs"], told["stopped"]) == (0, "out of time")


def test_no_epochs_leave_the_parameters_as_they_began():
    learner = Slide(start=4.0)
    assert run(learner, course(epochs=0), near(0.0))["stopped"] == "all epochs done"
    assert learner.x.item() == 4


def test_a_loss_that_is_not_finite_ends_it_with_advice_and_keeps_nothing_of_it():
    kept = []
    with pytest.raises(NumericalError, match="The loss of epoch 3 is not finite at step 1: lower learning_rate"):
        run(Slide(spoil=2), course(), keep=lambda place: kept.append({name: a.copy() for name, a in place.now.items()}))
    assert len(kept) == 2
    assert all(np.isfinite(array).all() for place in kept for array in place.values())


def test_each_epoch_has_numbers_of_its_own_that_seed_and_epoch_decide():
    one, two, other = Slide(), Slide(), Slide()
    run(one, course(epochs=5))
    run(two, course(epochs=5))
    run(other, course(epochs=5, seed=1))
    assert one.seen == two.seen != other.seen
    assert len(set(one.seen)) == 5


@pytest.mark.parametrize("first", [1, 4, 9])
def test_going_on_from_a_place_is_as_if_it_had_never_stopped(first):
    whole = Slide()
    run(whole, course(epochs=10), near(0.4))
    place = Place()
    run(Slide(), course(epochs=first), near(0.4), place=place)
    later = Slide(start=-99.0)  # what it begins with does not matter
    told = run(later, course(epochs=10), near(0.4), place=place)
    assert torch.equal(later.x, whole.x)
    assert told["epochs"] == len(told["curve"])


def test_the_place_of_the_best_and_the_place_of_now_are_two():
    place = Place()
    learner = Slide()
    run(learner, course(epochs=7, patience=100), near(0.3), place=place)
    assert float(place.kept["x"][0]) == pytest.approx(0.3, abs=0.06)
    assert float(place.now["x"][0]) == pytest.approx(0.7, abs=0.06)
    assert {"x", "x.step", "x.exp_avg", "x.exp_avg_sq"} == set(place.now)


def test_progress_counts_the_steps_of_all_epochs():
    told = []
    run(Slide(), course(epochs=3), near(9.0), progress=lambda *words: told.append(words))
    assert [done for _, done, _ in told] == [0, 1, 1, 2, 2, 3]
    assert {total for _, _, total in told} == {3}
    assert told[0][0] == "epoch 1"
    assert told[-1][0].startswith("epoch 3, valid -")
