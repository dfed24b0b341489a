import os
import threading

import numpy as np
import pytest

from corml.parallel import blas, over_rows, threads


def test_the_environment_decides_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "3")
    assert threads() == 3
    monkeypatch.setenv("CORML_THREADS", "many")
    assert threads() == len(os.sched_getaffinity(0))


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


def test_blas_is_held_at_the_number_of_threads_asked_for():
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    with blas(1):
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}
