"""A cluster of Dask gives the bytes of one process, whoever dies; and lets nobody in who should not be."""

import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import corml
from corml._runtime.parallel import threads
from corml.errors import ResourceError, UsageError
from corml.outofcore.fit import fit as fitting
from corml.outofcore.tasks import Artefacts, Damaged, Serial, Task
from support import random_interactions

distributed = pytest.importorskip("distributed")

from corml.outofcore.tasks import cluster as clusters  # noqa: E402 (only where there is Dask)
from corml.outofcore.tasks.cluster import Dask, connected, local_workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns of ports and forks as it closes

KERNELS = "corml.outofcore.fit.matrix"


def digest(model):
    H = model.H_
    parts = [model.V_, H.indptr, H.indices, H.data]
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    random_interactions(0, 800, 450, 8).to_frame().write_parquet(folder / "pairs.parquet")
    return corml.build_store(folder / "pairs.parquet", folder / "pairs.store", memory="1MB")


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch):
    from corml.outofcore.fit import files as cuts

    monkeypatch.setattr(cuts, "PAIRS", 2000)
    monkeypatch.setattr(cuts, "VISITS", 30_000)
    monkeypatch.setattr(cuts, "GATHERS", 300_000)


@pytest.fixture(scope="module")
def two():
    with local_workers(2) as client:
        yield client


@pytest.fixture(scope="module")
def alone(store):
    """What one process learns, with the cuts of these tests."""
    from corml.outofcore.fit import files as cuts

    before = cuts.PAIRS, cuts.VISITS, cuts.GATHERS
    cuts.PAIRS, cuts.VISITS, cuts.GATHERS = 2000, 30_000, 300_000
    learned = digest(corml.fit_store(model(), store))
    cuts.PAIRS, cuts.VISITS, cuts.GATHERS = before
    return learned


def model():
    return corml.CoRML(adapt=False, candidates=25, rank=16)


def without_pairs(artefacts):
    """A task on a matrix that is kept, which workers can run."""
    ptr, indices = np.array([0, 2, 3], dtype=np.int32), np.array([0, 1, 1], dtype=np.int32)
    matrix = artefacts.keep(u_ptr=ptr, u_indices=indices, i_ptr=np.array([0, 1, 3], dtype=np.int32), i_indices=indices)
    left_out = artefacts.keep(u=np.array([1]), i=np.array([1]))
    return Task(f"{KERNELS}:without_pairs", {"matrix": matrix, "left_out": left_out}), matrix


def test_two_workers_learn_what_one_process_learns(store, two, alone):
    assert digest(corml.fit_store(model(), store, cluster=two)) == alone


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 4])
def test_any_number_of_workers_learns_the_same(store, alone, count):
    with local_workers(count) as client:
        assert digest(corml.fit_store(model(), store, cluster=client)) == alone


def test_workers_that_are_killed_change_nothing(store, two, alone, tmp_path):
    """One worker is killed while they work, then all of them. A third death would be taken for the task's fault."""
    stop, killed = threading.Event(), []

    def kill():
        while not stop.wait(1.0):
            pids = list(two.run(os.getpid, on_error="ignore").values())
            for pid in pids if killed else pids[:1]:
                os.kill(pid, signal.SIGKILL)
            killed.append(len(pids))
            if len(killed) == 2:
                return

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        learned = digest(corml.fit_store(model(), store, cluster=two, work=tmp_path / "work"))
    finally:
        stop.set()
        killer.join()
    assert killed
    assert learned == alone


@pytest.mark.slow
@pytest.mark.parametrize("all_of_them", [False, True], ids=["one worker", "all workers"])
def test_workers_killed_in_every_stage_change_nothing(store, alone, tmp_path, monkeypatch, all_of_them):
    """As soon as the first task of a stage is on its way, a worker that runs it is killed, or all are."""
    stages, submit = {}, Dask._submit
    with local_workers(2) as client:

        def submitted(self, task):
            future = submit(self, task)
            if task.kernel not in stages:
                pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
                stages[task.kernel] = len(pids)
                for pid in pids if all_of_them else pids[:1]:
                    os.kill(pid, signal.SIGKILL)
            return future

        monkeypatch.setattr(Dask, "_submit", submitted)
        fitted = corml.CoRML(candidates=25, rank=16)  # with the look, which has stages of its own
        assert digest(corml.fit_store(fitted, store, cluster=client, work=tmp_path / "work")) == digest(
            corml.fit_store(corml.CoRML(candidates=25, rank=16), store)
        )
    assert len(stages) >= 6, stages
    assert all(stages.values())


def test_a_driver_that_was_killed_finds_its_finished_work(store, two, alone, tmp_path, monkeypatch):
    made = []
    submit = Dask._submit
    monkeypatch.setattr(Dask, "_submit", lambda self, task: (made.append(task), submit(self, task))[1])
    with monkeypatch.context() as stopping:
        stopping.setattr("corml.outofcore.fit.fit.checked", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            corml.fit_store(model(), store, cluster=two, work=tmp_path / "work")
    first = sum(task.durable for task in made)
    made.clear()
    assert digest(corml.fit_store(model(), store, cluster=two, work=tmp_path / "work")) == alone
    assert first > 5
    assert not any(task.durable for task in made)


def test_a_task_that_ends_its_workers_is_named_and_not_tried_for_ever(two, tmp_path, monkeypatch):
    artefacts = Artefacts(tmp_path)
    artefacts.prepare()
    task, _ = without_pairs(artefacts)
    submit = two.submit
    monkeypatch.setattr(two, "submit", lambda _, *given, **how: submit(os._exit, 7, **how))
    with pytest.raises(ResourceError, match=r"ended 3 workers, one after the other: without_pairs .* reads .*B"):
        Dask(artefacts, two).run([task])


def test_what_is_damaged_is_found_by_a_worker_and_made_again(two, tmp_path):
    artefacts = Artefacts(tmp_path)
    artefacts.prepare()
    task, matrix = without_pairs(artefacts)
    executor = Dask(artefacts, two)
    executor.run([task])
    second = Task(task.kernel, {"matrix": task.key, "left_out": artefacts.keep(u=np.zeros(0, int), i=np.zeros(0, int))})
    path = artefacts.path(task.key, durable=True) / "u_indices.npy"
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    two.run(lambda: clusters._opened.clear())
    executor.run([second])
    assert artefacts.open(second.key)["u_indices"].tolist() == [0, 1]
    artefacts.discard(second.key)
    flawed = bytearray((artefacts.path(matrix, durable=True) / "u_ptr.npy").read_bytes())
    flawed[-1] ^= 1
    (artefacts.path(matrix, durable=True) / "u_ptr.npy").write_bytes(flawed)
    two.run(lambda: clusters._opened.clear())
    artefacts.discard(task.key)
    with pytest.raises(Damaged):  # nobody knows how to make what the driver kept
        executor.run([task])


def test_a_worker_with_other_versions_is_refused(two, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "versions", lambda: {"numpy": "1.0"})
    mine = clusters.versions
    monkeypatch.setattr(two, "run", lambda *_, **__: {"tcp://w1": {"numpy": "2.0"}})
    with pytest.raises(UsageError, match=r"has numpy 2\.0, not 1\.0"):
        Dask(Artefacts(tmp_path), two)
    assert mine() == {"numpy": "1.0"}


def test_a_worker_that_cannot_reach_the_folder_is_refused(two, tmp_path, monkeypatch):
    run = two.run
    answers = lambda work, *given, **how: {"tcp://w1": "?"} if work is clusters._token else run(work, *given, **how)  # noqa: E731
    monkeypatch.setattr(two, "run", answers)
    with pytest.raises(UsageError, match="need the same folder"):
        Dask(Artefacts(tmp_path), two)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["tcp://10.1.2.3:8786", "tcp://shop.example:8786"])
def test_another_machine_without_tls_is_refused(address):
    with pytest.raises(UsageError, match="without TLS"), connected(address):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "http://127.0.0.1", "tcp://", "nonsense"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError, match="no address of a scheduler"), connected(address):
        pass


def test_a_local_cluster_listens_on_this_machine_alone_and_leaves_memory_to_us(two):
    about = two.scheduler_info()
    addresses = [about["address"], *about["workers"]]
    assert all("://127.0.0.1:" in address for address in addresses)
    assert {worker["memory_limit"] for worker in about["workers"].values()} == {0}
    environments = two.run(lambda: (os.environ.get("MALLOC_TRIM_THRESHOLD_"), os.environ.get("CORML_THREADS")))
    assert {trim for trim, _ in environments.values()} == {None}
    assert all(int(count) >= 1 for _, count in environments.values())


def test_two_commands_with_workers_do_not_ask_for_the_same_port(two):
    with local_workers(1) as other:
        ports = {one.cluster.scheduler.http_server.port for one in (two, other)}
    assert len(ports) == 2
    assert 8787 not in ports  # which Dask takes unless told otherwise, with a warning where it is taken


def test_workers_of_one_machine_do_not_ask_for_more_threads_than_it_has(two):
    found = two.run(lambda: (int(os.environ["CORML_THREADS"]), os.environ.get("OPENBLAS_NUM_THREADS")))
    assert sum(own for own, _ in found.values()) <= max(2, threads())
    assert {blas for _, blas in found.values()} == {"1"}


def test_a_cluster_that_waits_takes_hardly_any_processor_time(two):
    import dask

    clusters._distributed()
    assert dask.config.get("distributed.worker.profile.enabled") is False
    assert dask.config.get("distributed.admin.tick.interval") == "500ms"
    spent = [sum(two.run(time.process_time).values())]
    time.sleep(1.0)
    spent.append(sum(two.run(time.process_time).values()))
    assert spent[1] - spent[0] < 0.5


def test_names_of_files_pass_between_machines_and_no_arrays(store, two, alone, monkeypatch):
    given, returned = [], []
    submit, answer = Dask._submit, Dask._answer

    def submitted(self, task):
        given.append(len(pickle.dumps(task)))
        return submit(self, task)

    def answered(self, future, task):
        returned.append(answer(self, future, task))
        return returned[-1]

    monkeypatch.setattr(Dask, "_submit", submitted)
    monkeypatch.setattr(Dask, "_answer", answered)
    monkeypatch.setattr(two, "scatter", lambda *_, **__: pytest.fail("scattered data are lost with their holder"))
    assert digest(corml.fit_store(model(), store, cluster=two)) == alone
    assert len(given) > 50
    assert max(given) <= 4096
    assert max(len(json.dumps(one)) for one in returned) <= 4096


def test_the_first_task_of_a_kind_runs_alone_and_compiles_for_the_others(two, tmp_path, monkeypatch):
    artefacts, together = Artefacts(tmp_path), []
    _, matrix = without_pairs(artefacts)
    tasks = [
        Task(
            f"{KERNELS}:without_pairs",
            {"matrix": matrix, "left_out": artefacts.keep(u=np.array([at]), i=np.array([at]))},
        )
        for at in range(3)
    ]
    finished = Dask._finished

    def noted(self, some):
        together.append(len(some))
        return finished(self, some)

    monkeypatch.setattr(Dask, "_finished", noted)
    Dask(artefacts, two).run(tasks)
    assert together == [1, 2]


def test_a_worker_without_the_memory_for_a_task_is_refused_before_anything_starts(store, two, monkeypatch):
    executor = Dask.__new__(Dask)
    executor.client = two
    executor.require(lambda threads: 1)
    with pytest.raises(ResourceError, match=r"The worker '?tcp://127.* may take .*B, and a task needs up to .*GiB"):
        executor.require(lambda threads: 1 << 50)
    monkeypatch.setattr(Dask, "run", lambda *_: pytest.fail("it started"))
    monkeypatch.setattr(fitting, "plan_of_store", lambda store, settings, cores: SimpleNamespace(worker_bytes=1 << 50))
    with pytest.raises(ResourceError, match="start fewer workers a machine"):
        corml.fit_store(model(), store, cluster=two)


def test_workers_of_one_machine_share_its_memory():
    class Machines:
        def run(self, _):
            return {"tcp://a:1": ("a", 12, 1), "tcp://a:2": ("a", 12, 1), "tcp://b:1": ("b", 12, 4)}

    executor = Dask.__new__(Dask)
    executor.client = Machines()
    executor.require(lambda threads: 6)
    with pytest.raises(ResourceError, match="worker 'tcp://a:1'"):
        executor.require(lambda threads: 7)
    with pytest.raises(ResourceError, match="worker 'tcp://b:1'"):
        executor.require(lambda threads: 4 * threads)


def test_a_scheduler_is_reached_by_its_address(store, two, alone):
    assert digest(corml.fit_store(model(), store, cluster=two.scheduler.address)) == alone


def test_dask_is_imported_only_when_it_is_asked_for():
    found = (
        "import sys, corml, corml.outofcore.tasks, corml.models.corml.estimator; print('distributed' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"


def test_work_and_cluster_are_for_models_that_learn_from_files(store):
    with pytest.raises(UsageError, match="work and cluster are for CoRML: popularity learns in memory"):
        corml.fit_store(corml.Popularity(), store, cluster="tcp://127.0.0.1:1")


def test_serial_and_dask_write_the_same_artefacts(two, tmp_path):
    keys = []
    for name, executor in (("one", Serial), ("two", lambda artefacts: Dask(artefacts, two))):
        artefacts = Artefacts(tmp_path / name)
        artefacts.prepare()
        task, _ = without_pairs(artefacts)
        executor(artefacts).run([task])
        keys.append((task.key, artefacts.open(task.key)["u_indices"].tolist()))
    assert keys[0] == keys[1]
