"""A fit on a store learns what a fit in memory learns, goes on after a kill, and always ends with the same bytes."""

import errno
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

import corml
from corml import models
from corml._runtime import memory
from corml.errors import DataError, SettingError, UsageError
from corml.linalg import dense_normal
from corml.linalg.dense_normal import normal_product, scaled_product
from corml.linalg.normal import product_rows
from corml.linalg.pairs import Support
from corml.linalg.products import add_dense_product
from corml.linalg.sparse import Rows, Sides, narrow, scaled
from corml.outofcore.fit import files as cuts
from corml.outofcore.fit import pair_work
from corml.outofcore.tasks import Artefacts

SETTINGS = {
    "untouched": {"solver": "sparse"},
    "all pairs": {"solver": "sparse", "adapt": False},
    "some candidates": {"adapt": False, "candidates": 25},
    "weights of users": {"adapt": False, "candidates": 25, "user_norm": 0.5, "pair_tol": 1.0},
    "budget": {"adapt": False, "solver": "sparse", "budget": 8},
    "no filter": {"adapt": False, "solver": "sparse", "mix": 1.0},
}


def digest(model):
    H = model.H_
    parts = [model.V_, H.indptr, H.indices, H.data]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def dense_product(A):
    return A @ A.T


# --- the same as in memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["untouched", "weights of users"])
def test_times_and_weights_are_learned_from_as_in_memory(any_store, name):
    check_both(any_store, name)


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_learned_is_what_a_fit_in_memory_learns(store, name):
    check_both(store, name)


def check_both(store, name):
    on_disk, in_memory = corml.CoRML(**SETTINGS[name]), corml.CoRML(**SETTINGS[name])
    corml.fit_store(on_disk, store)
    in_memory.fit(store.interactions())
    assert on_disk.settings_ == in_memory.settings_
    assert abs(on_disk.H_ - in_memory.H_).max() < 1e-5
    G = [dense_product(model.V_) for model in (on_disk, in_memory)]
    assert np.abs(G[0] - G[1]).max() < 1e-4
    assert on_disk.users_ == in_memory.users_
    assert np.array_equal(on_disk.degrees_, in_memory.degrees_)
    users = list(on_disk.users_)
    lists = [model.recommend(users, k=10).items for model in (on_disk, in_memory)]
    assert (lists[0] == lists[1]).all(axis=1).mean() >= 0.999


def test_both_ways_to_multiply_give_the_same(store, monkeypatch):
    learned = []
    for cost in (1e-9, 1e9):  # through users: never, always by rows
        monkeypatch.setattr(pair_work, "A_USER_GATHER", 1 / cost)
        learned.append(corml.fit_store(corml.CoRML(adapt=False, candidates=25), store).H_)
    assert abs(learned[0] - learned[1]).max() < 1e-5


def test_a_model_fitted_on_a_store_can_be_saved_updated_and_asked(store, tmp_path):
    model = corml.fit_store(corml.CoRML(adapt=False), store)
    model.save(tmp_path / "model.corml")
    again = corml.read_model(tmp_path / "model.corml")
    users = list(model.users_)[:50]
    assert again.recommend(users).items.tolist() == model.recommend(users).items.tolist()
    history = [list(model.items_)[:3]]
    assert len(again.recommend(history=history).items[0]) == 10


# --- the same bytes --------------------------------------------------------------------------------------------------


def test_threads_and_parts_of_the_store_do_not_show_in_the_bytes(store, tmp_path, monkeypatch):
    learned = set()
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("CORML_THREADS", threads)
        learned.add(digest(corml.fit_store(corml.CoRML(candidates=25), store)))
    assert len(learned) == 1


def test_how_items_are_cut_does_not_show_in_the_bytes(store, monkeypatch):
    learned = set()
    for visits in (20_000, 60_000, 10**9):
        monkeypatch.setattr(cuts, "VISITS", visits)
        learned.add(digest(corml.fit_store(corml.CoRML(adapt=False, candidates=25), store)))
    assert len(learned) == 1


def test_a_limit_of_memory_changes_nothing_that_is_learned(store):
    free = corml.fit_store(corml.CoRML(adapt=False, candidates=25), store)
    limit = memory.resident() + (2 << 30)  # of this process with all it has loaded by now
    limited = corml.fit_store(corml.CoRML(adapt=False, candidates=25, max_memory=f"{limit}"), store)
    assert digest(free) == digest(limited)


# --- kills -----------------------------------------------------------------------------------------------------------

FIT = """
import sys, corml
from corml.outofcore.fit import files as cuts, pair_work
cuts.PAIRS, cuts.VISITS, cuts.GATHERS, pair_work.SECONDS = 3000, 60_000, 400_000, 0.0
print("begin", flush=True)
model = corml.fit_store(corml.CoRML(candidates=25), corml.Store(sys.argv[1]), work=sys.argv[2])
model.save(sys.argv[3])
"""


def start(store, work, out):
    command = [sys.executable, "-c", FIT, str(store.path), str(work), str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "CORML_THREADS": "1"})
    assert process.stdout.readline() == b"begin\n"
    return process


def finish(process):
    assert process.wait(timeout=300) == 0
    process.stdout.close()


@pytest.mark.parametrize("rounds", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_goes_on_and_ends_with_the_same_bytes(store, tmp_path, rounds):
    began = time.monotonic()
    finish(start(store, tmp_path / "whole", tmp_path / "whole.corml"))
    took = time.monotonic() - began
    whole, chance = digest(corml.read_model(tmp_path / "whole.corml")), random.Random(1)
    work, out, kills = tmp_path / "killed", tmp_path / "killed.corml", 0
    for _ in range(rounds):
        process = start(store, work, out)
        try:
            process.wait(chance.uniform(0, took / 2))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        process.stdout.close()
        if out.exists() and not work.exists():  # what was kept had made it short: once more from the beginning
            assert digest(corml.read_model(out)) == whole
            out.unlink()
    finish(start(store, work, out))
    assert kills > rounds / 2
    assert digest(corml.read_model(out)) == whole
    assert not work.exists()


@pytest.mark.parametrize("free", [0, 4, 9, 25, 60])
def test_a_disk_that_is_full_is_said_and_with_room_it_goes_on_to_the_same_bytes(store, tmp_path, monkeypatch, free):
    """So many arrays fit on the disk; what was finished by then is used."""
    fitted, save, made = corml.CoRML(adapt=False, candidates=25), np.save, []

    def full(path, array, **how):
        if len(made) >= free:
            raise OSError(errno.ENOSPC, "No space left on device")
        made.append(path)
        save(path, array, **how)

    with monkeypatch.context() as limited:
        limited.setattr(np, "save", full)
        with pytest.raises(DataError, match=r"No space left on device.* What is finished stays: make room and start"):
            corml.fit_store(fitted, store, work=tmp_path / "work")
    kept = {path.name for path in (tmp_path / "work" / "durable").glob("*/[!.]*")}
    again, make = [], Artefacts.make

    def noted(self, key, fill, *, durable):
        again.append(key)
        return make(self, key, fill, durable=durable)

    with monkeypatch.context() as watched:
        watched.setattr(Artefacts, "make", noted)
        learned = digest(corml.fit_store(fitted, store, work=tmp_path / "work"))
    assert learned == digest(corml.fit_store(corml.CoRML(adapt=False, candidates=25), store))
    assert kept
    assert not kept & set(again)


def test_finished_work_is_not_done_again(store, tmp_path, monkeypatch):
    """Stopped at its last step, a fit makes only what was not finished."""
    made = []
    perform = Artefacts.make

    def counted(self, key, fill, *, durable):
        if durable:
            made.append(key)
        return perform(self, key, fill, durable=durable)

    monkeypatch.setattr(Artefacts, "make", counted)
    model = corml.CoRML(candidates=25)
    with monkeypatch.context() as stopping:
        stopping.setattr("corml.outofcore.fit.fit.checked", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            corml.fit_store(model, store, work=tmp_path / "work")
    first = len(made)
    made.clear()
    corml.fit_store(model, store, work=tmp_path / "work")
    assert first > 20
    assert len(made) <= 0.05 * first


def test_points_are_kept_in_turn_and_the_solver_goes_on_from_the_last(store, tmp_path, monkeypatch):
    monkeypatch.setattr(pair_work, "SECONDS", 0.0)
    whole = corml.fit_store(corml.CoRML(adapt=False, candidates=25), store, work=tmp_path / "whole")
    steps = []
    product = pair_work.TaskProduct.one_way

    def stopping(self, x):
        steps.append(1)
        if len(steps) == 6:
            raise KeyboardInterrupt
        return product(self, x)

    with monkeypatch.context() as stop:
        stop.setattr(pair_work.TaskProduct, "one_way", stopping)
        with pytest.raises(KeyboardInterrupt):
            corml.fit_store(corml.CoRML(adapt=False, candidates=25), store, work=tmp_path / "work")
    steps.clear()
    monkeypatch.setattr(pair_work.TaskProduct, "one_way", lambda self, x: (steps.append(1), product(self, x))[1])
    again = corml.fit_store(corml.CoRML(adapt=False, candidates=25), store, work=tmp_path / "work")
    assert digest(again) == digest(whole)
    assert again.fitted_.certificates == whole.fitted_.certificates
    assert len(steps) < whole.fitted_.certificates[0].steps


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{"filter": "elementwise", "adapt": False}, {"solver": "admm"}, {"rho": 3.0}, {"precision": "double"}]
)
def test_what_only_memory_can_do_is_refused(store, settings):
    with pytest.raises(SettingError, match="A fit on a store"):
        corml.fit_store(corml.CoRML(**settings), store)
    assert not (store.path / "fit").exists()


def test_a_fit_that_was_killed_while_it_removed_its_work_is_known_again(store, tmp_path, monkeypatch):
    def killed(path, **_):
        raise KeyboardInterrupt

    with monkeypatch.context() as kill:
        kill.setattr("corml.outofcore.tasks.artefacts.Artefacts.remove", killed)
        with pytest.raises(KeyboardInterrupt):
            corml.fit_store(corml.CoRML(adapt=False, candidates=25), store, work=tmp_path / "work")
    for about in sorted((tmp_path / "work").rglob("about.json"))[::2]:
        about.unlink()  # it had removed some of the files
    again = corml.fit_store(corml.CoRML(adapt=False, candidates=25), store, work=tmp_path / "work")
    assert digest(again) == digest(corml.fit_store(corml.CoRML(adapt=False, candidates=25), store))
    assert not (tmp_path / "work").exists()


def test_two_fits_do_not_share_a_folder(store, tmp_path):
    process = start(store, tmp_path / "work", tmp_path / "model.corml")
    while not (tmp_path / "work" / "durable").exists():
        time.sleep(0.01)
    with pytest.raises(UsageError, match="Another process works in"):
        corml.fit_store(corml.CoRML(), store, work=tmp_path / "work")
    finish(process)


def test_a_folder_with_something_else_is_left_alone(store, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not the folder of a fit"):
        corml.fit_store(corml.CoRML(), store, work=tmp_path)
    with pytest.raises(UsageError, match="not the folder of a fit"):
        corml.fit_store(corml.CoRML(), store, work=tmp_path / "mine.txt")
    with pytest.raises(DataError, match="Could not write"):
        corml.fit_store(corml.CoRML(), store, work=tmp_path / "mine.txt" / "inner")
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_too_little_memory_is_refused_before_anything_is_found(store):
    with pytest.raises(corml.errors.ResourceError, match="Leading a fit"):
        corml.fit_store(corml.CoRML(max_memory="10MB"), store)


def test_fit_refuses_a_store_and_names_the_function_for_it(store):
    fit = corml.CoRML().fit
    with pytest.raises(UsageError, match=r"use corml\.fit_store"):
        fit(store)


def test_other_models_load_the_store(store):
    on_disk = corml.fit_store(models.make("item-knn"), store)
    in_memory = models.make("item-knn").fit(store.interactions())
    users = list(on_disk.users_)[:20]
    assert on_disk.recommend(users).items.tolist() == in_memory.recommend(users).items.tolist()


# --- kernels ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["plain", "weighted"])
def R(request):
    rng = np.random.default_rng(4)
    dense = (rng.random((80, 30)) < 0.2) * (1.0 if request.param == "plain" else rng.random((80, 30)) + 0.5)
    return csr_array(dense.astype(np.float32))


@pytest.mark.parametrize("threads", ["1", "3", "9"])
def test_the_product_with_a_block_has_the_bytes_of_products_with_the_scaled_matrix(R, threads, monkeypatch):
    monkeypatch.setenv("CORML_THREADS", threads)
    rng = np.random.default_rng(5)
    B, a, b = rng.standard_normal((30, 16)).astype(np.float32), rng.random(80), rng.random(30)
    N, of_users, expected, plain = (
        narrow(scaled(R, rows=a, columns=b)),
        *(np.zeros((n, 16), "f4") for n in (80, 30, 30)),
    )
    add_dense_product(N, B, of_users)
    add_dense_product(N.T.tocsr(), of_users, expected)
    add_dense_product(R.T.tocsr(), of_users, plain)
    rows = Rows.of(R)
    assert np.array_equal(scaled_product(rows, a, b, B), of_users)
    assert np.array_equal(normal_product(rows, a, b, B, 0, 80, twice=True), expected)
    assert np.array_equal(normal_product(rows, a, b, B, 0, 80, twice=False), plain)
    halves = [normal_product(rows, a, b, B, first, last, twice=True) for first, last in ((0, 33), (33, 80))]
    assert np.allclose(sum(halves), expected, rtol=1e-4, atol=1e-5)


def test_many_rows_are_added_up_in_shares_to_the_same_bytes_for_any_number_of_threads(R, monkeypatch):
    rng = np.random.default_rng(7)
    rows, B, a, b = Rows.of(R), rng.standard_normal((30, 16)).astype(np.float32), rng.random(80), rng.random(30)
    in_order = normal_product(rows, a, b, B, 3, 77, twice=True)
    monkeypatch.setattr(dense_normal, "MANY", 100)
    found = []
    for count in ("1", "2", "3", "9"):
        monkeypatch.setenv("CORML_THREADS", count)
        found.append(normal_product(rows, a, b, B, 3, 77, twice=True))
    assert all(np.array_equal(one, found[0]) for one in found)
    assert np.allclose(found[0], in_order, rtol=1e-4, atol=1e-5)
    assert not np.array_equal(found[0], in_order), "the rows were not shared out"
    cuts = dense_normal._cuts(rows.indptr, 3, 77)
    entries = np.diff(rows.indptr[cuts])
    assert cuts[0] == 3
    assert cuts[-1] == 77
    assert entries.max() - entries.min() <= 2 * np.diff(rows.indptr).max()


def test_the_product_by_rows_is_that_of_dense_matrices(R):
    rng = np.random.default_rng(6)
    pattern = np.triu(rng.random((30, 30)) < 0.4, 1)
    support = Support.of(csr_array((pattern | pattern.T).astype(np.float32)))
    X = np.triu(rng.random((30, 30)), 1) * pattern
    X = (X + X.T).astype(np.float32)
    p, weights = rng.random(30).astype(np.float32) + 0.5, rng.random(80).astype(np.float32)
    P = R.toarray() * p
    expected = support.values(csr_array((P.T @ (weights[:, None] * P) @ X).astype(np.float32)))
    x, out = support.values(csr_array(X)), np.zeros(len(support), dtype=np.float32)
    product_rows(Sides.of(R), (p, weights), support, x, out, (0, 30))
    assert np.allclose(out, expected, rtol=1e-4)
    low = int(support.indptr[11])
    part = np.zeros(len(support) - low, dtype=np.float32)
    product_rows(Sides.of(R), (p, weights), support, x, part, (11, 30))
    assert np.array_equal(part, out[low:])


@pytest.mark.parametrize(("work", "of_one"), [([1] * 10, 3), ([0] * 5, 1), ([9, 0, 0, 1], 2), ([], 1), ([5], 1)])
def test_ranges_cover_all_rows_once(work, of_one):
    found = cuts.ranges(np.array(work), of_one)
    rows = [row for a, b in found for row in range(a, b)]
    assert rows == list(range(len(work)))
    assert all(a < b for a, b in found) or not work


def test_a_stage_never_has_more_tasks_than_a_scheduler_hands_out_in_seconds():
    assert cuts.count(1e18, 1.0, 10**9) == cuts.MOST == 10_000


def test_a_fit_with_progress_says_its_plan_first(store, tmp_path, capsys):
    corml.fit_store(
        corml.CoRML(rank=4, candidates=5, adapt=False, max_steps=3, tol=0), store, work=tmp_path / "w", progress=True
    )
    first = capsys.readouterr().err.splitlines()[0]
    assert re.fullmatch(
        r"plan: \d+ stages, about [\d,]+ tasks; the driver needs .*B, a worker .*B \(estimated\)", first
    )
