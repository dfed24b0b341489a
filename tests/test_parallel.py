import os
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from corml._runtime import parallel
from corml._runtime.parallel import blas, each, over_rows, threads


def test_the_environment_decides_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "3")
    assert threads() == 3
    monkeypatch.setenv("CORML_THREADS", "many")
    monkeypatch.setattr(parallel, "_quota", lambda: None)
    assert threads() == len(os.sched_getaffinity(0))


@pytest.fixture
def container(tmp_path, monkeypatch):
    """A machine of eight cores without limits; called with files and their text, it sets some."""
    monkeypatch.delenv("CORML_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    monkeypatch.setattr(parallel, "CGROUPS", tmp_path)
    monkeypatch.setattr(parallel, "MEMBERSHIP", tmp_path / "membership")
    parallel._quota.cache_clear()

    def limit(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    yield limit
    parallel._quota.cache_clear()


def test_every_allowed_core_has_a_thread(container):
    assert threads() == 8


def test_a_process_bound_to_one_core_has_one_thread(container, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5})
    assert threads() == 1


V1, NESTED = "5:memory:/\n4:cpu,cpuacct:/jobs/7\n", "0::/jobs/7\n"


@pytest.mark.parametrize(
    ("files", "count"),
    [
        *(({"cpu.max": text}, 2) for text in ("200000 100000\n", "150000 100000\n")),
        ({"cpu.max": "50000 100000\n"}, 1),
        *(({"cpu.max": text}, 8) for text in ("max 100000\n", "800000 100000", "", "many", "1 0", "x y")),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        (
            {
                "membership": V1,
                "cpu,cpuacct/jobs/cpu.cfs_quota_us": "200000",
                "cpu,cpuacct/jobs/cpu.cfs_period_us": "100000",
            },
            2,
        ),
        ({"membership": NESTED, "jobs/cpu.max": "300000 100000", "jobs/7/cpu.max": "600000 100000"}, 3),
    ],
)
def test_the_narrowest_readable_quota_of_the_control_groups_counts(container, files, count):
    container(**files)
    assert threads() == count


def test_a_quota_never_gives_more_threads_than_cores(container, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    container(**{"cpu.max": "800000 100000"})
    assert threads() == 2


@pytest.mark.parametrize("count", ["1", "2", "4"])
@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
def test_every_row_is_worked_on_once(rows, count, monkeypatch):
    monkeypatch.setenv("CORML_THREADS", count)
    touched, lock = np.zeros(rows, dtype=int), threading.Lock()

    def work(start, stop):
        with lock:
            touched[start:stop] += 1

    over_rows(work, rows, smallest=3)
    assert (touched == 1).all()


def test_what_fails_in_a_thread_fails_in_the_caller(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "2")

    def work(start, stop):
        raise ArithmeticError("row")

    with pytest.raises(ArithmeticError):
        over_rows(work, 1000, smallest=1)


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_is_held_at_the_number_of_threads_asked_for():
    with blas(1):
        assert blas_threads() == {1}


def test_the_lowest_number_counts_until_its_holder_lets_go():
    with blas(3):
        before = blas_threads()
        few, many = blas(1), blas(2)
        few.__enter__()
        many.__enter__()  # as another thread would, in between
        assert blas_threads() == {1}
        few.__exit__(None, None, None)
        assert blas_threads() == {2}
        many.__exit__(None, None, None)
        assert blas_threads() == before == {3}


def test_what_was_set_before_is_put_back():
    with threadpool_limits(3, user_api="blas"):
        with blas(1), blas(2):
            pass
        assert blas_threads() == {3}


@pytest.mark.parametrize("count", ["1", "2", "4"])
def test_each_result_comes_in_its_place(count, monkeypatch):
    monkeypatch.setenv("CORML_THREADS", count)
    assert list(each(lambda number: number**2, 50)) == [number**2 for number in range(50)]


def test_a_thread_of_ours_starts_no_others_and_leaves_blas_alone(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "2")

    def outer(_):
        inner = set(each(lambda _: threading.get_ident(), 5))
        return inner == {threading.get_ident()} and blas_threads() == {1}

    assert all(each(outer, 6))


def test_no_more_threads_work_than_asked_for(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "4")
    assert set(each(lambda _: threading.get_ident(), 9, max_threads=1)) == {threading.get_ident()}


def test_after_a_failure_no_more_work_is_begun(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "2")
    begun = []

    def work(number):
        begun.append(number)
        if number == 0:
            raise ArithmeticError("first")
        time.sleep(0.01)

    with pytest.raises(ArithmeticError):
        list(each(work, 200))
    assert len(begun) < 200
