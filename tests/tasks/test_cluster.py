"""A Dask cluster gives the bytes of one process, whichever workers die; and only this machine can reach it."""

import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import corml
from corml._runtime.parallel import threads
from corml.errors import ResourceError, UsageError
from corml.outofcore.fit import files as cuts
from corml.outofcore.fit import fit as fitting
from corml.outofcore.tasks import Artefacts, Damaged, Task
from support import flip_last_bit, random_interactions

distributed = pytest.importorskip("distributed")

from corml.outofcore.tasks import cluster as clusters  # noqa: E402 (only where there is Dask)
from corml.outofcore.tasks.cluster import Dask, connected, local_workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns of ports and forks as it closes

WITHOUT_PAIRS = "corml.outofcore.fit.matrix:without_pairs"


def digest(model):
    H = model.H_
    arrays = [model.V_, H.indptr, H.indices, H.data]
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


@pytest.fixture(scope="module", autouse=True)
def _small_tasks():
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, size in (("PAIRS", 4000), ("VISITS", 60_000), ("GATHERS", 600_000)):
            monkeypatch.setattr(cuts, name, size)
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    random_interactions(0, 800, 450, 8).to_frame().write_parquet(folder / "pairs.parquet")
    return corml.build_store(folder / "pairs.parquet", folder / "pairs.store", memory="1MB")


@pytest.fixture(scope="module")
def cluster():
    with local_workers(2) as client:
        yield client


@pytest.fixture
def two(cluster):
    """Two workers, also after a test that killed some."""
    cluster.wait_for_workers(2, timeout=60)
    return cluster


def model(**settings):
    return corml.CoRML(**{"adapt": False, "candidates": 25, "rank": 16, **settings})


@pytest.fixture(scope="module")
def alone(store):
    """What one process learns."""
    return digest(corml.fit_store(model(), store))


@pytest.fixture
def artefacts(tmp_path):
    made = Artefacts(tmp_path / "work")
    made.prepare()
    return made


def without_pairs(artefacts, at=1):
    """A task on a matrix that is kept, which workers can run."""
    ptr, indices = np.array([0, 2, 3], dtype=np.int32), np.array([0, 1, 1], dtype=np.int32)
    matrix = artefacts.keep(u_ptr=ptr, u_indices=indices, i_ptr=np.array([0, 1, 3], dtype=np.int32), i_indices=indices)
    left_out = artefacts.keep(u=np.array([at]), i=np.array([at]))
    return Task(WITHOUT_PAIRS, {"matrix": matrix, "left_out": left_out})


# --- the bytes of one process ----------------------------------------------------------------------------------------


def test_two_workers_learn_the_same_and_only_names_of_files_travel(store, two, alone, monkeypatch):
    given, returned = [], []
    submit, answer = Dask._submit, Dask._answer
    monkeypatch.setattr(Dask, "_submit", lambda self, task: (given.append(task), submit(self, task))[1])
    monkeypatch.setattr(
        Dask, "_answer", lambda self, future, task: (returned.append(answer(self, future, task)), returned[-1])[1]
    )
    monkeypatch.setattr(two, "scatter", lambda *_, **__: pytest.fail("scattered data are lost with their holder"))
    assert digest(corml.fit_store(model(), store, cluster=two.scheduler.address)) == alone
    assert len(given) > 50
    assert max(len(pickle.dumps(task)) for task in given) <= 4096
    assert max(len(json.dumps(one)) for one in returned) <= 4096


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 4])
def test_any_number_of_workers_learns_the_same(store, alone, count):
    with local_workers(count) as client:
        assert digest(corml.fit_store(model(), store, cluster=client)) == alone


def test_killed_workers_change_nothing(store, two, alone, tmp_path, monkeypatch):
    """One worker is killed when the first task is submitted, then all of them at a later one."""
    submitted, submit = [], Dask._submit

    def submit_and_kill(self, task):
        future = submit(self, task)
        submitted.append(task)
        if len(submitted) in (1, 20):
            pids = [nanny.pid for nanny in two.cluster.workers.values() if nanny.pid]
            for pid in pids[: len(submitted)]:
                os.kill(pid, signal.SIGKILL)
        return future

    monkeypatch.setattr(Dask, "_submit", submit_and_kill)
    assert digest(corml.fit_store(model(), store, cluster=two, work=tmp_path / "work")) == alone
    assert len(submitted) > 20


@pytest.mark.slow
@pytest.mark.parametrize("all_of_them", [False, True], ids=["one worker", "all workers"])
def test_workers_killed_in_every_stage_change_nothing(store, tmp_path, monkeypatch, all_of_them):
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
        learned = corml.fit_store(model(adapt=True), store, cluster=client, work=tmp_path / "work")
    assert digest(learned) == digest(corml.fit_store(model(adapt=True), store))
    assert len(stages) >= 6, stages
    assert all(stages.values())


def test_a_killed_driver_finds_its_finished_work(store, two, alone, tmp_path, monkeypatch):
    made, submit = [], Dask._submit
    monkeypatch.setattr(Dask, "_submit", lambda self, task: (made.append(task), submit(self, task))[1])
    with monkeypatch.context() as stopping:
        stopping.setattr(fitting, "checked", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            corml.fit_store(model(), store, cluster=two, work=tmp_path / "work")
    first = sum(task.durable for task in made)
    made.clear()
    assert digest(corml.fit_store(model(), store, cluster=two, work=tmp_path / "work")) == alone
    assert first >= 5
    assert not any(task.durable for task in made)


def test_a_damaged_input_is_detected_by_a_worker_and_rebuilt(two, artefacts):
    executor, task = Dask(artefacts, two), without_pairs(artefacts)
    executor.run([task])
    nothing = artefacts.keep(u=np.zeros(0, int), i=np.zeros(0, int))
    second = Task(task.kernel, {"matrix": task.key, "left_out": nothing})
    flip_last_bit(artefacts.path(task.key, durable=True) / "u_indices.npy")
    two.run(lambda: clusters._opened.clear())
    executor.run([second])
    assert artefacts.open(second.key)["u_indices"].tolist() == [0, 1]
    flip_last_bit(artefacts.path(task.inputs["matrix"], durable=True) / "u_ptr.npy")
    two.run(lambda: clusters._opened.clear())
    artefacts.discard(second.key, task.key)
    with pytest.raises(Damaged):  # no task makes what the driver kept
        executor.run([task])


def test_the_first_task_of_a_kernel_runs_alone_and_compiles_for_the_others(two, artefacts, monkeypatch):
    events, submit, answer = [], Dask._submit, Dask._answer
    monkeypatch.setattr(Dask, "_submit", lambda *given: (events.append("submitted"), submit(*given))[1])
    monkeypatch.setattr(Dask, "_answer", lambda *given: (events.append("finished"), answer(*given))[1])
    seen = []
    Dask(artefacts, two).run([without_pairs(artefacts, at) for at in range(3)], lambda *step: seen.append(step))
    assert events[:4] == ["submitted", "finished", "submitted", "submitted"]
    assert seen == [(1, 3), (2, 3), (3, 3)]


# --- refusals --------------------------------------------------------------------------------------------------------


def test_a_task_that_ends_its_workers_is_named_and_given_up(two, artefacts, monkeypatch):
    submit, task = two.submit, without_pairs(artefacts)
    monkeypatch.setattr(two, "submit", lambda _, *given, **how: submit(os._exit, 7, **how))
    with pytest.raises(ResourceError, match=r"ended 3 workers, one after the other: without_pairs .* reads .*B"):
        Dask(artefacts, two).run([task])


@pytest.mark.parametrize(
    ("asked", "answer", "message"),
    [("versions", {"numpy": "2.0"}, r"numpy 2\.0, not .*install the same"), ("_token", "?", "need the same folder")],
)
def test_a_worker_with_other_versions_or_another_folder_is_refused(two, tmp_path, monkeypatch, asked, answer, message):
    run, work = two.run, getattr(clusters, asked)
    monkeypatch.setattr(
        two, "run", lambda kernel, *given, **how: {"tcp://w1": answer} if kernel is work else run(kernel, *given, **how)
    )
    with pytest.raises(UsageError, match=message):
        Dask(Artefacts(tmp_path), two)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://10.1.2.3:8786", "without TLS"),
        ("tcp://shop.example:8786", "without TLS"),
        *((address, "Invalid address") for address in ("127.0.0.1:8786", "http://127.0.0.1", "tcp://", "nonsense")),
    ],
)
def test_an_unsafe_or_invalid_address_is_refused(address, message):
    with pytest.raises(UsageError, match=message), connected(address):
        pass


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
    workers = {"tcp://a:1": ("a", 12, 1), "tcp://a:2": ("a", 12, 1), "tcp://b:1": ("b", 12, 4)}
    executor = Dask.__new__(Dask)
    executor.client = SimpleNamespace(run=lambda _: workers)
    executor.require(lambda threads: 6)
    with pytest.raises(ResourceError, match="worker 'tcp://a:1'"):
        executor.require(lambda threads: 7)
    with pytest.raises(ResourceError, match="worker 'tcp://b:1'"):
        executor.require(lambda threads: 4 * threads)


def test_work_and_cluster_are_for_models_that_learn_from_files(store):
    with pytest.raises(UsageError, match="work and cluster are for CoRML: popularity learns in memory"):
        corml.fit_store(corml.Popularity(), store, cluster="tcp://127.0.0.1:1")


# --- local clusters --------------------------------------------------------------------------------------------------


def test_a_local_cluster_is_reached_from_this_machine_alone_and_idles_cheaply(two):
    import dask

    about = two.scheduler_info()
    assert all("://127.0.0.1:" in address for address in [about["address"], *about["workers"]])
    assert {worker["memory_limit"] for worker in about["workers"].values()} == {0}
    assert two.cluster.scheduler.http_server.port != 8787  # Dask's default, with a warning if it is taken
    names = ("MALLOC_TRIM_THRESHOLD_", "OPENBLAS_NUM_THREADS", "CORML_THREADS")
    found = two.run(lambda: [os.environ.get(name) for name in names])
    assert {(trim, blas) for trim, blas, _ in found.values()} == {(None, "1")}
    assert 2 <= sum(int(own) for *_, own in found.values()) <= max(2, threads())
    clusters._distributed()
    assert dask.config.get("distributed.worker.profile.enabled") is False
    assert dask.config.get("distributed.admin.tick.interval") == "500ms"


def test_dask_is_imported_for_a_cluster_only():
    code = "import sys, corml, corml.outofcore.tasks, corml.models.corml.estimator; print('distributed' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"
