"""A fit on a store learns what a fit in memory learns, resumes after a kill, and always ends with the same bytes."""

import errno
import os
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
from corml.errors import DataError, ResourceError, SettingError, UsageError
from corml.linalg import dense_normal
from corml.linalg.dense_normal import normal_product, scaled_product
from corml.linalg.products import add_dense_product
from corml.linalg.sparse import Rows, narrow, scaled
from corml.outofcore.fit import files as cuts
from corml.outofcore.fit import pair_work
from corml.outofcore.tasks import Artefacts

SETTINGS = {
    "defaults": {"solver": "sparse"},
    "all pairs": {"solver": "sparse", "adapt": False},
    "some candidates": {"adapt": False, "candidates": 25},
    "weights of users": {"adapt": False, "candidates": 25, "user_norm": 0.5, "pair_tol": 1.0},
    "budget": {"adapt": False, "solver": "sparse", "budget": 8},
    "no filter": {"adapt": False, "solver": "sparse", "mix": 1.0},
}


# --- the same as in memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("any_store", "name"),
    [
        ("timed", "defaults"),
        ("weighted", "defaults"),
        ("weighted", "weights of users"),
        *(pytest.param("plain", name, marks=pytest.mark.slow) for name in ("defaults", "weights of users")),
        pytest.param("timed", "weights of users", marks=pytest.mark.slow),
    ],
    indirect=["any_store"],
)
def test_times_and_weights_are_learned_from_as_in_memory(any_store, name):
    check_both(any_store, name)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in ("defaults", "weights of users")])
def test_a_fit_on_a_store_learns_what_a_fit_in_memory_learns(store, name):
    check_both(store, name)


def check_both(store, name):
    on_disk = corml.fit_store(corml.CoRML(**SETTINGS[name]), store)
    in_memory = corml.CoRML(**SETTINGS[name]).fit(store.interactions())
    assert on_disk.settings_ == in_memory.settings_
    assert abs(on_disk.H_ - in_memory.H_).max() < 1e-5
    G = [model.V_ @ model.V_.T for model in (on_disk, in_memory)]
    assert np.abs(G[0] - G[1]).max() < 1e-4
    assert on_disk.users_ == in_memory.users_
    assert np.array_equal(on_disk.degrees_, in_memory.degrees_)
    users = list(on_disk.users_)
    lists = [model.recommend(users, k=10).items for model in (on_disk, in_memory)]
    assert (lists[0] == lists[1]).all(axis=1).mean() >= 0.999


def test_products_by_rows_and_through_users_give_the_same(store, simple, monkeypatch):
    weights = []
    for cost in (1e-9, 1e9):  # always through users, always by rows
        monkeypatch.setattr(pair_work, "A_USER_GATHER", cost)
        weights.append(corml.fit_store(simple(), store).H_)
    assert abs(weights[0] - weights[1]).max() < 1e-5


def test_a_model_fitted_on_a_store_can_be_saved_and_recommends(store, simple, tmp_path):
    model = corml.fit_store(simple(), store)
    model.save(tmp_path / "model.corml")
    again = corml.read_model(tmp_path / "model.corml")
    users = list(model.users_)[:50]
    assert again.recommend(users).items.tolist() == model.recommend(users).items.tolist()
    assert len(again.recommend(history=[list(model.items_)[:3]]).items[0]) == 10


# --- the same bytes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["1", "5"])
def test_the_bytes_do_not_depend_on_threads_memory_or_blocks(
    store, simple, learned, digest, tmp_path, monkeypatch, threads
):
    monkeypatch.setenv("CORML_THREADS", threads)
    monkeypatch.setattr(cuts, "VISITS", 20_000 if threads == "1" else 10**9)
    limit = memory.resident() + (2 << 30)  # of this process with all it has loaded by now
    assert digest(corml.fit_store(simple(max_memory=f"{limit}"), store, work=tmp_path / "work")) == learned


# --- kills -----------------------------------------------------------------------------------------------------------

FIT = """
import sys, corml
from corml.outofcore.fit import files as cuts, pair_work
cuts.PAIRS, cuts.VISITS, cuts.GATHERS, pair_work.SECONDS = 3000, 60_000, 400_000, 0.0
model = corml.CoRML(adapt=False, candidates=25, rank=32)
corml.fit_store(model, corml.Store(sys.argv[1]), work=sys.argv[2]).save(sys.argv[3])
"""


def start(store, work, out):
    command = [sys.executable, "-c", FIT, str(store.path), str(work), str(out)]
    return subprocess.Popen(command, env={**os.environ, "CORML_THREADS": "1"})


def wait_for(process, work, artefacts):
    """Until a fit has finished so many artefacts."""
    while process.poll() is None and len(list(work.glob("durable/*/[!.]*"))) < artefacts:
        time.sleep(0.005)


@pytest.mark.parametrize("moments", [(1, 12), pytest.param(range(1, 41), marks=pytest.mark.slow)], ids=["two", "many"])
def test_a_killed_fit_resumes_and_ends_with_the_same_bytes(store, learned, digest, tmp_path, moments):
    work, out, killed = tmp_path / "work", tmp_path / "model.corml", 0
    for artefacts in moments:
        process = start(store, work, out)
        wait_for(process, work, artefacts)
        if artefacts == 1:
            with pytest.raises(UsageError, match="Another process works in"):
                corml.fit_store(corml.CoRML(), store, work=work)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        if not work.exists():  # it was done
            assert digest(corml.read_model(out)) == learned
    process = start(store, work, out)
    assert process.wait(timeout=300) == 0
    assert killed > len(moments) / 2
    assert digest(corml.read_model(out)) == learned
    assert not work.exists()


@pytest.fixture
def writes(monkeypatch):
    """Keys of the durable artefacts that are written."""
    keys, make = [], Artefacts.make

    def noted(self, key, fill, *, durable):
        if durable:
            keys.append(key)
        return make(self, key, fill, durable=durable)

    monkeypatch.setattr(Artefacts, "make", noted)
    return keys


@pytest.mark.parametrize("free", [0, 4, pytest.param(9, marks=pytest.mark.slow), 25])
def test_a_fit_on_a_full_disk_resumes_with_the_same_bytes(
    store, simple, learned, digest, writes, tmp_path, monkeypatch, free
):
    """So many arrays fit on the disk; what was finished by then is used."""
    save, saved = np.save, []

    def full(path, array, **how):
        if len(saved) >= free:
            raise OSError(errno.ENOSPC, "No space left on device")
        saved.append(path)
        save(path, array, **how)

    with monkeypatch.context() as limited:
        limited.setattr(np, "save", full)
        with pytest.raises(DataError, match=r"No space left on device.* What is finished stays: make room and start"):
            corml.fit_store(simple(), store, work=tmp_path / "work")
    kept = {path.name for path in (tmp_path / "work" / "durable").glob("*/[!.]*")}
    writes.clear()
    assert digest(corml.fit_store(simple(), store, work=tmp_path / "work")) == learned
    assert kept
    assert not kept & set(writes)


def test_finished_work_is_not_repeated(store, simple, writes, tmp_path, monkeypatch):
    """Stopped at its last step, a fit with filter selection writes only what was not finished."""
    with monkeypatch.context() as stopping:
        stopping.setattr("corml.outofcore.fit.fit.checked", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            corml.fit_store(simple(adapt=True), store, work=tmp_path / "work")
    first = len(writes)
    writes.clear()
    corml.fit_store(simple(adapt=True), store, work=tmp_path / "work")
    assert first > 10
    assert len(writes) <= 0.05 * first


def test_the_solver_resumes_from_its_last_checkpoint(store, simple, learned, digest, tmp_path, monkeypatch):
    monkeypatch.setattr(pair_work, "SECONDS", 0.0)
    steps, product = [], pair_work.TaskProduct.one_way

    def counted(self, x):
        steps.append(1)
        if len(steps) == 6:
            raise KeyboardInterrupt
        return product(self, x)

    monkeypatch.setattr(pair_work.TaskProduct, "one_way", counted)
    with pytest.raises(KeyboardInterrupt):
        corml.fit_store(simple(), store, work=tmp_path / "work")
    steps[:] = [0] * 10
    again = corml.fit_store(simple(), store, work=tmp_path / "work")
    assert digest(again) == learned
    assert len(steps) - 10 < again.fitted_.certificates[0].steps


def test_a_fit_that_was_killed_while_it_removed_its_work_resumes(store, simple, learned, digest, tmp_path, monkeypatch):
    def killed(path, **_):
        raise KeyboardInterrupt

    with monkeypatch.context() as kill:
        kill.setattr(Artefacts, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            corml.fit_store(simple(), store, work=tmp_path / "work")
    for about in sorted((tmp_path / "work").rglob("about.json"))[::2]:
        about.unlink()  # it had removed some of the files
    assert digest(corml.fit_store(simple(), store, work=tmp_path / "work")) == learned
    assert not (tmp_path / "work").exists()


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"filter": "elementwise", "adapt": False},
        {"solver": "admm"},
        {"rho": 3.0},
        {"precision": "double"},
    ],
)
def test_settings_of_fits_in_memory_are_refused_before_anything_is_written(store, settings):
    with pytest.raises(SettingError, match="A fit on a store"):
        corml.fit_store(corml.CoRML(**settings), store)
    assert not (store.path / "fit").exists()


def test_too_little_memory_is_refused(store, tmp_path):
    with pytest.raises(ResourceError, match="Leading a fit"):
        corml.fit_store(corml.CoRML(max_memory="10MB"), store, work=tmp_path / "work")


def test_a_folder_with_other_files_is_refused(store, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for work, error, message in (
        (tmp_path, UsageError, "not the folder of a fit"),
        (tmp_path / "mine.txt", UsageError, "not the folder of a fit"),
        (tmp_path / "mine.txt" / "inner", DataError, "Could not write"),
    ):
        with pytest.raises(error, match=message):
            corml.fit_store(corml.CoRML(), store, work=work)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_other_models_load_the_store_and_fit_names_the_function_for_stores(store):
    on_disk = corml.fit_store(models.make("item-knn"), store)
    in_memory = models.make("item-knn").fit(store.interactions())
    users = list(on_disk.users_)[:20]
    assert on_disk.recommend(users).items.tolist() == in_memory.recommend(users).items.tolist()
    fit = corml.CoRML().fit
    with pytest.raises(UsageError, match=r"use corml\.fit_store"):
        fit(store)


def test_progress_begins_with_the_plan(store, simple, tmp_path, capsys):
    model = simple(rank=4, candidates=5, max_steps=3, tol=0)
    corml.fit_store(model, store, work=tmp_path / "w", progress=True)
    first = capsys.readouterr().err.splitlines()[0]
    plan = r"plan: \d+ stages, about [\d,]+ tasks; the driver needs .*B, a worker .*B \(estimated\)"
    assert re.fullmatch(plan, first)


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


def test_shares_of_many_rows_are_summed_to_the_same_bytes_for_any_number_of_threads(R, monkeypatch):
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


@pytest.mark.parametrize(("work", "of_one"), [([1] * 10, 3), ([0] * 5, 1), ([9, 0, 0, 1], 2), ([], 1), ([5], 1)])
def test_ranges_cover_all_rows_once(work, of_one):
    found = cuts.ranges(np.array(work), of_one)
    rows = [row for a, b in found for row in range(a, b)]
    assert rows == list(range(len(work)))
    assert all(a < b for a, b in found) or not work


def test_the_number_of_tasks_of_a_stage_is_limited():
    assert cuts.count(1e18, 1.0, 10**9) == cuts.MOST == 10_000
