"""corml fit --checkpoint: interrupted training continues, and a file that must not be written is refused early."""

import os
import subprocess
import sys

import pytest

import corml

pytest.importorskip("torch")

QUICK = ["--model", "bpr-mf", "--set", "epochs=4", "--set", "size=4", "--set", "batch=64"]


@pytest.fixture
def csv(here, shop):
    (here / "ratings.csv").write_text((shop / "ratings.csv").read_text())
    return "ratings.csv"


def interrupt(monkeypatch, *, epoch):
    """Ctrl-C when an epoch begins."""
    from corml.models.neural.training import loop as training

    whole = training._epoch

    def stopped(learner, optimisers, seed, state, *rest):
        if state.epoch + 1 == epoch:
            raise KeyboardInterrupt
        return whole(learner, optimisers, seed, state, *rest)

    monkeypatch.setattr(training, "_epoch", stopped)


def test_ctrl_c_says_after_which_epoch_and_the_same_command_continues(run, here, csv, monkeypatch):
    command = ["fit", csv, "-o", "m.corml", "--checkpoint", "checkpoint", "--split", "ratio", *QUICK]
    with monkeypatch.context() as patched:
        interrupt(patched, epoch=3)
        outcome = run(*command)
    assert outcome.code == 75
    sentence = "Stopped after epoch 2, saved in 'checkpoint'. The same command continues from there."
    assert f"error[interrupted]: {sentence}" in outcome.err
    assert not (here / "m.corml").exists()
    assert run(*command).code == 0
    assert run(*[word if word != "m.corml" else "other.corml" for word in command], "--checkpoint", "new").code == 0
    resumed, whole = corml.read_model("m.corml"), corml.read_model("other.corml")
    assert (resumed.item_ == whole.item_).all()
    assert resumed.fitted_.training.epochs == 4


def test_ctrl_c_in_the_first_epoch_says_so(run, here, csv, monkeypatch):
    interrupt(monkeypatch, epoch=1)
    outcome = run("fit", csv, "-o", "m.corml", "--checkpoint", "checkpoint", *QUICK)
    assert outcome.code == 75
    assert "Stopped before the end of the first epoch: nothing was saved. Run it again." in outcome.err
    assert os.listdir(here) == ["ratings.csv"]


def test_ctrl_c_without_a_checkpoint_says_the_usual(run, here, csv, monkeypatch):
    interrupt(monkeypatch, epoch=3)
    outcome = run("fit", csv, "-o", "m.corml", *QUICK)
    assert outcome.code == 75
    assert "Stopped before the end; every file is whole or as it was. Run it again." in outcome.err


def test_ctrl_c_before_the_checkpoint_was_read_says_that_nothing_was_saved(run, here, csv, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    (here / "checkpoint").write_bytes(b"something else")
    monkeypatch.setattr("corml.models.neural.training.gradient_model.GradientModel.fit", stopped)
    outcome = run("fit", csv, "-o", "m.corml", "--checkpoint", "checkpoint", *QUICK)
    assert outcome.code == 75
    assert "Stopped before the end of the first epoch: nothing was saved. Run it again." in outcome.err


def test_a_plan_has_the_memory_of_a_training(run, here, csv):
    outcome = run("fit", csv, "--plan", "--json", *QUICK)
    assert set(outcome.json) == {"parameters", "batch", "predicted bytes"}


def test_the_outcome_says_how_training_ended(run, here, csv):
    outcome = run("fit", csv, "-o", "m.corml", *QUICK)
    assert "note: trained 4 epochs: all epochs done" in outcome.err
    facts = run("fit", csv, "-o", "m.corml", "--split", "ratio", "--json", *QUICK).json
    assert len(facts["fit"]["training"]["curve"]) == 4


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (
            ["--checkpoint", "checkpoint"],
            "corml is not trained in epochs, so it has no checkpoint: leave out --checkpoint",
        ),
        (["--checkpoint", "checkpoint", "--model", "ease"], "ease is not trained in epochs"),
        (["--checkpoint", "ratings.csv", *QUICK], "is the file to read"),
        (["--checkpoint", "m.corml", *QUICK], "The checkpoint and the model are two files"),
        (["--checkpoint", "./m.corml", *QUICK], "The checkpoint and the model are two files"),
    ],
)
def test_an_impossible_checkpoint_is_refused_before_the_data_are_read(run, here, csv, monkeypatch, flags, fragment):
    monkeypatch.setattr("corml.cli._work.corml.load", lambda *_, **__: pytest.fail("the data were read"))
    outcome = run("fit", csv, "-o", "m.corml", *flags)
    assert outcome.code == 2
    assert fragment in outcome.err


def test_a_damaged_checkpoint_is_one_line_and_stays_as_it_was(run, here, csv):
    (here / "checkpoint").write_bytes(b"nothing of the kind")
    outcome = run("fit", csv, "-o", "m.corml", "--checkpoint", "checkpoint", *QUICK)
    assert outcome.code == 5
    assert "No checkpoint to go on from: 'checkpoint' is not a corml model file" in outcome.err
    assert (here / "checkpoint").read_bytes() == b"nothing of the kind"


def test_a_checkpoint_of_other_settings_or_data_is_refused_like_any_file_that_does_not_fit(run, here, csv):
    command = ["fit", csv, "-o", "m.corml", "--checkpoint", "checkpoint", *QUICK]
    assert run(*command).code == 0
    before = (here / "checkpoint").read_bytes()
    other = run(*command, "--set", "size=5")
    assert other.code == 5
    assert "was trained with size 4, not 5: set it back, or choose another file" in other.err
    (here / "fewer.csv").write_text("\n".join((here / csv).read_text().splitlines()[:-3]))
    fewer = run("fit", "fewer.csv", *command[2:])
    assert fewer.code == 5
    assert "was trained on other data" in fewer.err
    assert (here / "checkpoint").read_bytes() == before


def test_a_checkpoint_is_not_taken_for_a_model(run, here, csv):
    run("fit", csv, "-o", "m.corml", "--checkpoint", "checkpoint", *QUICK)
    outcome = run("recommend", "checkpoint", "--user", "u0")
    assert outcome.code == 5
    assert "is the checkpoint of an unfinished fit of 'bpr-mf'" in outcome.err
    assert "bpr-mf (unfinished) model" in run("inspect", "checkpoint").out


def test_users_without_training_pairs_are_refused_before_the_work(run, here, csv):
    outcome = run("fit", csv, "-o", "m.corml", "--split", "new-users", *QUICK)
    assert outcome.code == 2
    assert "bpr-mf has no vector for 4 users of the test set" in outcome.err
    other = [word if word != "bpr-mf" else "lightgcn" for word in QUICK]
    outcome = run("fit", csv, "-o", "m.corml", "--split", "new-users", *other)
    assert outcome.code == 0
    assert "best after" in outcome.err  # it scores histories, those of the valid part too


def test_a_split_without_a_valid_part_runs_all_epochs(run, here, csv):
    given = ["--split", "ratio", "--split-set", "shares=.8,0,.2"]
    outcome = run("fit", csv, "-o", "m.corml", *given, *QUICK)
    assert outcome.code == 0
    assert "note: trained 4 epochs: all epochs done" in outcome.err


def test_without_pytorch_a_fit_is_one_line(here, csv):
    code = "import sys; sys.modules['torch'] = None\nfrom corml.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "fit", csv, "-o", "m.corml", *QUICK], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "error[usage]: BPRMF learns with PyTorch, which is not installed: pip install 'corml[neural]'. "
        "Fitted models can be read and used without it.\n"
    )
