"""A journal keeps every trial: a search goes on after a kill, processes share it, and other work is refused.

CORML_KILLS sets how many kills (6 by default).
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

KILLS = int(os.environ.get("CORML_KILLS", "6"))
TRIALS = 24

# Tunes with a journal; each trial takes some milliseconds more, so that two processes meet and a kill hits one.
TUNER = """
import json, sys, time
import optuna
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


def start(journal, trials=TRIALS):
    command = [sys.executable, "-c", TUNER, str(journal), str(trials)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CORML_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout.readline() == "begun\n"
    return process


def finished(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(out)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return finished(start(tmp_path_factory.mktemp("uninterrupted") / "journal"))


def outcomes(tuned):
    return [(trial.number, trial.settings, trial.score, trial.state) for trial in tuned.trials]


@pytest.mark.thorough
def test_killed_at_any_moment_a_search_goes_on_to_the_same_numbers(tmp_path, uninterrupted):
    moments, journal, running = random.Random(0), tmp_path / "journal", 0
    for _ in range(KILLS):
        process = start(journal)
        time.sleep(moments.uniform(0, 4.0 / KILLS))  # so that the last kills still hit a search
        process.send_signal(signal.SIGKILL)
        process.communicate()
        text = journal.read_text() if journal.exists() else ""
        running += text.count('"op_code":4') - text.count('"op_code":6')  # trials that began, and that ended
    assert running > 0
    assert finished(start(journal)) == uninterrupted


@pytest.mark.thorough
def test_two_processes_share_the_trials_of_a_study(tmp_path, uninterrupted):
    both = [start(tmp_path / "journal") for _ in range(2)]
    first, second = (finished(process) for process in both)
    assert first == second
    assert [number for number, *_ in first] == list(range(TRIALS))
    assert len({json.dumps(settings) for _, settings, *_ in first}) == TRIALS
    assert first[0] == uninterrupted[0]


@pytest.mark.thorough
def test_the_trial_of_a_killed_process_is_run_by_another(tmp_path):
    survivor, victim = (start(tmp_path / "journal") for _ in range(2))
    time.sleep(0.3)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    found = finished(survivor)
    assert [number for number, *_ in found] == list(range(TRIALS))
    assert all(state == "complete" for *_, state in found)


def test_a_search_goes_on_where_it_was(split, tmp_path):
    journal = tmp_path / "journal"
    begun = corml.tune("ease", split, trials=5, journal=journal)
    continued = corml.tune("ease", split, trials=13, journal=journal)
    assert continued.trials[:5] == begun.trials
    assert outcomes(continued) == outcomes(corml.tune("ease", split, trials=13))


def test_a_finished_search_is_read_without_a_fit(split, tmp_path, monkeypatch):
    begun = corml.tune("ease", split, trials=3, journal=tmp_path / "journal")
    monkeypatch.setattr("corml.models.linear.ease.EASE.fit", None)
    assert corml.tune("ease", split, trials=3, journal=tmp_path / "journal").trials == begun.trials


def test_what_was_spent_before_counts(split, tmp_path):
    spent = corml.tune("ease", split, trials=3, journal=tmp_path / "journal").seconds
    assert len(corml.tune("ease", split, trials=50, seconds=spent, journal=tmp_path / "journal").trials) == 3


def test_an_interrupted_trial_is_run_again_under_its_number(split, tmp_path, monkeypatch):
    journal, calls = tmp_path / "journal", []
    evaluate = corml.evaluate

    def interrupted(*given, **how):
        calls.append(given)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(*given, **how)

    monkeypatch.setattr("corml.experiments.tuning.objective.evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        corml.tune("ease", split, trials=6, journal=journal)
    assert outcomes(corml.tune("ease", split, trials=6, journal=journal)) == outcomes(
        corml.tune("ease", split, trials=6)
    )


@pytest.mark.parametrize("torn", [b'{"op_code":4,"worker', b'{"op_code":8}', b"x" * 10_000])
def test_a_line_that_a_crash_left_unfinished_does_not_count(split, tmp_path, torn):
    journal = tmp_path / "journal"
    begun = corml.tune("ease", split, trials=3, journal=journal)
    with open(journal, "ab") as file:
        file.write(torn)
    assert corml.tune("ease", split, trials=4, journal=journal).trials[:3] == begun.trials
    assert len(corml.tune("ease", split, trials=4, journal=journal).trials) == 4


@pytest.mark.parametrize("lines", range(1, 9))
def test_a_journal_cut_after_any_line_goes_on_to_the_same_numbers(split, tmp_path, lines):
    journal = tmp_path / "journal"
    expected = outcomes(corml.tune("ease", split, trials=3, journal=journal))
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:lines]))
    assert outcomes(corml.tune("ease", split, trials=3, journal=journal)) == expected


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"model": "item-knn"}, "another model ('ease', not 'item-knn')"),
        ({"metric": "mrr@10"}, "another metric ('ndcg@10', not 'mrr@10')"),
        ({"seed": 1}, "another seed"),
        ({"folds": 3}, "another data"),
        ({"settings": {"l2": 3.0}}, "another settings"),
        ({"space": {"l2": (1.0, 5.0)}}, "another space"),
    ],
)
def test_a_journal_of_other_work_is_refused(split, tmp_path, other, what):
    journal = tmp_path / "journal"
    corml.tune("ease", split, trials=1, journal=journal)
    before = journal.read_bytes()
    with pytest.raises(UsageError) as refused:
        corml.tune(**{"model": "ease", "data": split, "trials": 2, "journal": journal, **other})
    assert what in str(refused.value)
    assert journal.read_bytes() == before


def test_a_journal_of_other_data_is_refused(split, data, tmp_path):
    corml.tune("ease", split, trials=1, journal=tmp_path / "journal")
    with pytest.raises(UsageError, match="another data"):
        corml.tune("ease", data, trials=1, journal=tmp_path / "journal")


@pytest.mark.parametrize("text", ["user,item\n1,2\n", "{}\n", "[1]\n", '{"op_code":99}\n'])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(split, tmp_path, text):
    file = tmp_path / "ratings.csv"
    file.write_text(text)
    with pytest.raises(DataError, match="is not a journal of corml tune"):
        corml.tune("ease", split, trials=1, journal=file)
    assert file.read_text() == text


def test_a_study_of_optuna_is_not_ours(split, tmp_path):
    optuna = pytest.importorskip("optuna")
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal")))
    optuna.create_study(storage=storage, study_name="theirs")
    with pytest.raises(UsageError, match="another study of Optuna"):
        corml.tune("ease", split, trials=1, journal=tmp_path / "journal")


def test_the_journal_is_one_that_optuna_opens(split, tmp_path):
    optuna = pytest.importorskip("optuna")
    tuned = corml.tune("ease", split, trials=4, journal=tmp_path / "journal")
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal"))
    study = optuna.load_study(study_name="corml tune", storage=optuna.storages.JournalStorage(backend))
    assert study.best_value == tuned.score
    assert len(study.trials) == 4


def test_two_threads_of_one_process_share_a_search_as_two_processes_do(split, tmp_path):
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(corml.tune, "ease", split, trials=6, journal=tmp_path / "journal") for _ in range(2)]
    first, second = (outcomes(one.result()) for one in both)
    assert first == second
    assert [number for number, *_ in first] == list(range(6))
    assert os.listdir(tmp_path) == ["journal"]  # no lock is left


def test_a_journal_needs_a_folder_that_exists(split, tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        corml.tune("ease", split, trials=1, journal=tmp_path / "nowhere" / "journal")


HOSTILE = {
    "no settings": ("settings", None),
    "settings of another form": ("settings", [1]),
    "a point of another form": ("point", 5),
    "a point beyond the space": ("point", {"neighbours": 10**9}),
    "seconds that are text": ("seconds", "1"),
    "seconds without an end": ("seconds", float("inf")),
    "a reason that is none": ("reason", 3),
    "a gain that is no interval": ("gain", [0.1]),
    "a gain of text": ("gain", ["0", "1"]),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_record_that_no_search_wrote_is_a_sentence(split, tmp_path, what):
    name, value = HOSTILE[what]
    path = tmp_path / "x.journal"
    corml.tune("item-knn", split, trials=2, journal=path)
    record = {"op_code": 8, "worker_id": "x", "trial_id": 1, "user_attr": {name: value}}
    lines = path.read_text().splitlines()
    at = max(at for at, line in enumerate(lines) if json.loads(line)["op_code"] == 6)  # what ends a trial
    path.write_text("\n".join([*lines[:at], json.dumps(record), *lines[at:]]) + "\n")
    with pytest.raises(DataError, match=r"Trial 1 in the journal .* is damaged: choose another journal"):
        corml.tune("item-knn", split, trials=3, journal=path)


def test_a_line_that_is_no_record_is_found_before_anything_is_added(split, tmp_path):
    path = tmp_path / "x.journal"
    corml.tune("item-knn", split, trials=2, journal=path)
    before = path.read_bytes() + b"{half\n"
    path.write_bytes(before)
    with pytest.raises(DataError, match="is not a journal of corml tune"):
        corml.tune("item-knn", split, trials=3, journal=path)
    assert path.read_bytes() == before
