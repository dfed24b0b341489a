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
def test_a_value_that_a_library_fails_on_is_one_line_and_exit_code_2(tmp_path, name, value, allowed):
    done = run(tmp_path, ["-m", "corml", *FIT], **{name: value})
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("note:")]
    assert done.returncode == 2
    assert line.startswith(f"error[usage]: The environment variable {name} must be {allowed}")
    assert line.endswith(f"got '{value}'. Change it or unset it.")
    assert not (tmp_path / "m.corml").exists()


def test_without_compilation_everything_that_needs_kernels_is_refused_with_the_reason(tmp_path):
    done = run(tmp_path, ["-m", "corml", *FIT], NUMBA_DISABLE_JIT="1")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error[usage]: NUMBA_DISABLE_JIT is set, but corml needs compiled")
    served = run(tmp_path, ["-m", "corml", "serve", "m.corml", "--port", "0"], NUMBA_DISABLE_JIT="1")
    assert (served.returncode, served.stderr.count("\n")) == (2, 1)
    helped = run(tmp_path, ["-m", "corml", "--help"], NUMBA_DISABLE_JIT="1")
    assert helped.returncode == 0


@pytest.mark.parametrize(
    "program",
    [
        "import corml; corml.CoRML()",
        "import numba; numba.config.DISABLE_JIT = 1; import corml; corml.CoRML()",
        "from corml.linalg import spd",
    ],
)
def test_python_raises_the_same_error_and_no_traceback_of_numba(tmp_path, program):
    done = run(tmp_path, ["-c", program], NUMBA_DISABLE_JIT="0" if "config" in program else "1")
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
