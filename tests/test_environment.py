"""Environment variables that Numba or Polars would fail on are refused in a sentence that names them."""

import os
import subprocess
import sys

import pytest

from corml._runtime import environment
from corml.errors import UsageError

FIT = ["fit", "movielens-small", "--at-least", "4", "--k-core", "30", "--model", "popularity", "--out", "m.corml"]
BAD = [
    ("POLARS_MAX_THREADS", "0", "a whole number from 1 to 4096"),
    ("POLARS_MAX_THREADS", "100000", "a whole number from 1 to 4096"),
    ("POLARS_ASYNC_THREAD_COUNT", "0", "a whole number from 1 to 4096"),
    ("POLARS_MAX_BLOCKING_THREAD_COUNT", "0", "a whole number from 1 to 4096"),
    ("NUMBA_NUM_THREADS", "0", "a whole number from 1 to 4096"),
    ("NUMBA_NUM_THREADS", "abc", "a whole number from 1 to 4096"),
    ("NUMBA_CPU_FEATURES", "avx2", "features with signs"),
    ("NUMBA_DISABLE_JIT", "yes", "0 or 1"),
]


def run(folder, words, **variables):
    kept = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run([sys.executable, *words], cwd=folder, env=kept, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
def test_a_value_that_a_library_fails_on_is_refused_by_name(monkeypatch, name, value, allowed):
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=f"{name} must be {allowed}.*; got '{value}'. Change it or unset it."):
        environment.check()


@pytest.mark.parametrize(("name", "value"), [("POLARS_MAX_THREADS", "0"), ("NUMBA_NUM_THREADS", "abc")])
def test_a_command_with_such_a_value_ends_with_one_line_and_exit_code_2(tmp_path, name, value):
    done = run(tmp_path, ["-m", "corml", *FIT], **{name: value})
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("note:")]
    assert done.returncode == 2
    assert line.startswith(f"error[usage]: The environment variable {name} must be a whole number from 1 to 4096")
    assert not (tmp_path / "m.corml").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-m", "corml", *FIT], 2, "error[usage]: NUMBA_DISABLE_JIT is set, but corml needs compiled"),
        (["-m", "corml", "serve", "m.corml", "--port", "0"], 2, "error[usage]: NUMBA_DISABLE_JIT is set"),
        (["-m", "corml", "--help"], 0, ""),
        (["-c", "import corml; corml.CoRML()"], 1, "corml.errors.UsageError: NUMBA_DISABLE_JIT is set"),
    ],
    ids=["fit", "serve", "help", "python"],
)
def test_without_compilation_everything_that_needs_kernels_is_refused_with_the_reason(tmp_path, words, code, message):
    done = run(tmp_path, words, NUMBA_DISABLE_JIT="1")
    assert done.returncode == code
    assert (done.stderr.splitlines() or [""])[-1].startswith(message)


def test_compilation_that_a_program_has_switched_off_is_refused_too(tmp_path):
    done = run(tmp_path, ["-c", "import numba; numba.config.DISABLE_JIT = 1; import corml; corml.CoRML()"])
    assert done.stderr.splitlines()[-1].startswith("corml.errors.UsageError: NUMBA_DISABLE_JIT is set")


def test_values_that_libraries_can_use_are_left_alone(monkeypatch):
    for name, value in (
        ("POLARS_MAX_THREADS", "4"),
        ("NUMBA_NUM_THREADS", ""),
        ("NUMBA_DISABLE_JIT", "0"),
        ("NUMBA_CPU_FEATURES", "+avx2,-avx512f"),
    ):
        monkeypatch.setenv(name, value)
    environment.check()


def test_a_library_is_refused_for_its_own_variables_alone(monkeypatch):
    monkeypatch.setenv("POLARS_MAX_THREADS", "0")
    environment.check("NUMBA")
    with pytest.raises(UsageError, match="POLARS_MAX_THREADS"):
        environment.check("POLARS")
