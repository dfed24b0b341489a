"""A journal keeps every trial: a search resumes after a kill, processes share it, and other work is refused.

CORML_KILLS sets how many kills (1 by default).
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import corml
from corml.errors import DataError, UsageError
from support import random_interactions

KILLS = int(os.environ.get("CORML_KILLS", "1"))
TRIALS = 16

# Tunes with a journal; each trial takes some milliseconds more, so that two processes meet and a kill hits one.
TUNER = """
import json, sys, time
import corml
from corml import models
import corml.experiments.tuning
from support import random_interactions

KNN = models.get("item-knn")
fit = KNN.fit

def slow(self, *data, **how):
    time.sleep(0.03)
    return fit(self, *data, **how)

KNN.fit = slow
data = random_interactions(3, users=120, items=60, mean=9)
print("begun", flush=True)
tuned = corml.tune("item-knn", corml.split(data, "ratio"), trials=int(sys.argv[2]), journal=sys.argv[1])
print(json.dumps([[t.number, t.settings, t.score, t.state] for t in tuned.trials]))
"""


def start(journal):
    command = [sys.executable, "-c", TUNER, str(journal), str(TRIALS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CORML_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout.readline() == "begun\n"
    return process


def finished(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(out)


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def outcomes(tuned):
    return [(trial.number, trial.settings, trial.score, trial.state) for trial in tuned.trials]


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


def same_search(journal=None):
    """The search of the other processes, in this one."""
    split = corml.split(random_interactions(3, users=120, items=60, mean=9), "ratio")
    tuned = corml.tune("item-knn", split, trials=TRIALS, journal=journal)
    return [[trial.number, dict(trial.settings), trial.score, trial.state] for trial in tuned.trials]


@pytest.mark.thorough
def test_a_search_killed_at_any_moment_resumes_to_the_same_numbers(journal):
    moments, running = random.Random(0), 0
    for _ in range(KILLS):
        process = start(journal)
        time.sleep(moments.uniform(0.3, 0.8))
        kill(process)
        running += any(json.loads(path.read_text())["state"] == "running" for path in journal.glob("runs/*.json"))
    assert running > 0
    assert same_search(journal) == same_search()


@pytest.mark.thorough
def test_two_processes_share_the_trials_of_a_search(journal):
    process = start(journal)
    time.sleep(0.3)
    both = same_search(journal)
    assert both == finished(process)
    assert [number for number, *_ in both] == list(range(TRIALS))
    assert len({json.dumps(settings) for _, settings, *_ in both}) == TRIALS


def test_two_threads_share_a_search_as_two_processes_do(split, journal):
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(corml.tune, "ease", split, trials=6, journal=journal) for _ in range(2)]
    first, second = (outcomes(one.result()) for one in both)
    assert first == second
    assert [number for number, *_ in first] == list(range(6))
    assert {path.suffix for path in journal.rglob("*.*")} == {".json"}  # no lock is left


def test_a_longer_search_resumes_a_shorter_one(split, journal):
    begun = corml.tune("ease", split, trials=5, journal=journal)
    continued = corml.tune("ease", split, trials=13, journal=journal)
    assert continued.trials[:5] == begun.trials
    assert outcomes(continued) == outcomes(corml.tune("ease", split, trials=13))


def test_a_finished_search_is_read_without_a_fit(split, journal, monkeypatch):
    begun = corml.tune("ease", split, trials=3, journal=journal)
    monkeypatch.setattr("corml.models.linear.ease.EASE.fit", None)
    assert corml.tune("ease", split, trials=3, journal=journal).trials == begun.trials
    assert len(corml.tune("ease", split, trials=50, seconds=begun.seconds, journal=journal).trials) == 3


def test_an_interrupted_trial_is_run_again_under_its_number(split, journal, monkeypatch):
    calls, evaluate = [], corml.evaluate

    def interrupted(*given, **how):
        calls.append(given)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(*given, **how)

    monkeypatch.setattr("corml.experiments.tuning.objective.evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        corml.tune("ease", split, trials=6, journal=journal)
    expected = outcomes(corml.tune("ease", split, trials=6))
    assert outcomes(corml.tune("ease", split, trials=6, journal=journal)) == expected


@pytest.mark.parametrize("missing", [0, 2, 3])
def test_a_search_without_some_of_its_trials_makes_them_again(split, journal, missing):
    expected = outcomes(corml.tune("ease", split, trials=4, journal=journal))
    (journal / f"runs/trial-{missing:04}.json").unlink()
    assert outcomes(corml.tune("ease", split, trials=4, journal=journal)) == expected


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"model": "item-knn"}, "another model ('ease', not 'item-knn')"),
        ({"metric": "mrr@10"}, "another metric ('ndcg@10', not 'mrr@10')"),
        ({"seed": 1}, "another seed"),
        ({"folds": 3}, "another data"),
        ({"data": corml.Interactions.from_pairs([*"aabb"] * 3, [*"xyzxyzxyzxyz"])}, "another data"),
        ({"settings": {"l2": 3.0}}, "another settings"),
        ({"space": {"l2": (1.0, 5.0)}}, "another space"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_journal_of_another_search_is_refused(split, journal, other, what):
    corml.tune("ease", split, trials=1, journal=journal)
    before = {path: path.read_bytes() for path in journal.rglob("*.json")}
    with pytest.raises(UsageError) as refused:
        corml.tune(**{"model": "ease", "data": split, "trials": 2, "journal": journal, **other})
    assert what in str(refused.value)
    assert {path: path.read_bytes() for path in journal.rglob("*.json")} == before


@pytest.mark.parametrize("plan", ["{}", "[1]", '{"search": 3}', '{"search": {"model": ' + "[" * 60 + "]" * 60 + "}}"])
def test_a_folder_that_is_no_journal_is_refused_and_left_alone(split, journal, plan):
    journal.mkdir()
    (journal / "study.json").write_text(plan)
    with pytest.raises(DataError, match="is not a journal of corml tune: choose another"):
        corml.tune("ease", split, trials=1, journal=journal)
    assert (journal / "study.json").read_text() == plan
    assert not list(journal.glob("runs/*"))


def test_a_file_is_no_journal(split, tmp_path):
    (tmp_path / "ratings.csv").write_text("user,item\n1,2\n")
    with pytest.raises(DataError, match="Cannot make the folder"):
        corml.tune("ease", split, trials=1, journal=tmp_path / "ratings.csv")
    assert (tmp_path / "ratings.csv").read_text() == "user,item\n1,2\n"


DAMAGED = {
    "no settings": ("settings", None),
    "settings of another form": ("settings", [1]),
    "a point of another form": ("point", 5),
    "a point beyond the space": ("point", {"neighbours": 10**9}),
    "seconds that are text": ("seconds", "1"),
    "seconds without an end": ("seconds", float("inf")),
    "a reason that is no text": ("reason", 3),
    "a gain that is no interval": ("gain", [0.1]),
    "a gain of text": ("gain", ["0", "1"]),
    "no score": ("score", None),
    "an unknown state": ("state", "done"),
    "another number": ("number", 7),
    "an unknown fact": ("colour", 7),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_trial_that_no_search_wrote_is_refused(split, journal, what):
    corml.tune("item-knn", split, trials=2, journal=journal)
    path = journal / "runs/trial-0001.json"
    name, value = DAMAGED[what]
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(DataError, match=r"trial-0001\.json' is damaged: delete it, and run again"):
        corml.tune("item-knn", split, trials=3, journal=journal)


def test_a_file_without_json_is_refused(split, journal):
    corml.tune("item-knn", split, trials=1, journal=journal)
    for name in ("study.json", "runs/trial-0000.json"):
        (journal / name).write_text("{half")
        with pytest.raises(DataError, match="is damaged: delete it, and run again"):
            corml.tune("item-knn", split, trials=1, journal=journal)
        (journal / name).unlink()
