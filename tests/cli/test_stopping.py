"""SIGTERM, SIGHUP and Ctrl-C end every command within two seconds with 75, also during long steps outside Python."""

import os
import signal
import subprocess
import sys
import time

import pytest

import corml
from corml.cli import _stopping
from corml.persistence import unfinished

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")

SOON = 2.0 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # seconds; more on a busy machine

# Long steps; during most of them Python handles no signal.
LONG = {
    "a sleep": "work = lambda: time.sleep(30)",
    "a kernel": """
import numba, numpy as np
@numba.njit(nogil=True)
def spin(n):
    x = np.uint64(1)
    for i in range(n):
        x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return x
spin(1)
work = lambda: spin(20_000_000_000)
""",
    "a factorisation": """
import numpy as np
from corml.linalg.spd import factor_upper
A = np.eye(14_000, dtype=np.float32)
A += np.float32(1e-6)
def work():
    while True:
        factor_upper(A)
""",
    "a read of Polars": """
import polars
many = polars.LazyFrame({"a": range(300_000)})
both = many.join(many, how="cross").select((polars.col("a") * polars.col("a_right")).sum())
work = lambda: both.collect(engine="streaming")
""",
    "a thread that is waited for": """
import threading
def work():
    try:
        time.sleep(60)
    finally:
        time.sleep(60)
""",
    "an import that raises another error": """
def work():
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        raise ImportError("compiled code failed to import") from None
""",
    "an import of compiled code that prints first": """
def work():
    try:
        time.sleep(60)
    except KeyboardInterrupt as fault:
        sys.excepthook(type(fault), fault, fault.__traceback__)
        raise ImportError("compiled code failed to import") from None
""",
    "a callback of compiled code, which ignores errors": """
import ctypes
callback = ctypes.CFUNCTYPE(None)(lambda: time.sleep(60))
def work():
    callback()
    time.sleep(60)
""",
}
PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # it may be ignored where the tests run
from pathlib import Path
{long}
def reached(*arguments, **options):
    print("reached", flush=True)
    work()
import {module} as module
module.{name} = reached
from corml.cli import main
main({words!r})
"""
READING = ("corml", "load")
FITTING = ("corml.models.corml.estimator", "fit_as_planned")
WRITING = ("corml.persistence.atomic", "_fill")


def stopped(long, number, words, cwd, step=READING):
    """Exit code, standard error and seconds after the signal, which comes when the step is reached."""
    module, name = step
    program = PROGRAM.format(long=LONG[long], words=[str(word) for word in words], module=module, name=name)
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "reached\n"
        time.sleep(0.2)
        begun = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
        return process.returncode, said, time.monotonic() - begun
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("long", "name", "step"),
    [
        ("a sleep", "SIGINT", READING),
        ("a sleep", "SIGTERM", FITTING),
        ("a sleep", "SIGHUP", WRITING),
        ("a kernel", "SIGTERM", READING),
        ("a factorisation", "SIGINT", READING),
        ("a read of Polars", "SIGTERM", READING),
        ("a thread that is waited for", "SIGINT", READING),
        ("an import that raises another error", "SIGTERM", READING),
        ("an import of compiled code that prints first", "SIGINT", READING),
        ("a callback of compiled code, which ignores errors", "SIGTERM", READING),
    ],
)
def test_a_signal_in_the_middle_of_one_long_step_ends_the_command_with_75(tmp_path, shop, long, name, step):
    words = ["fit", shop / "ratings.csv", "-o", "m.corml"]
    code, said, seconds = stopped(long, getattr(signal, name), words, tmp_path, step)
    assert (code, seconds < SOON) == (75, True), (seconds, said)
    assert said.splitlines()[-1] == f"error[interrupted]: {_stopping.STOPPED}"
    assert "Traceback" not in said
    assert os.listdir(tmp_path) == []


# Where the interpreter is when all is done: it still has its handlers, or has given them up.
ENDS = {
    "at exit": "import atexit; atexit.register(slow)",
    "after its handlers": "Late = type('', (), {'__del__': slow}); x = Late()",
}
ENDING = """
import os, sys, time
def slow(*_, write=os.write, sleep=time.sleep):
    write(1, b"ending\\n")
    sleep(0.5)
{end}
from corml.cli import main
sys.argv = ["corml", "--version"]
main()
"""


@pytest.mark.parametrize(("end", "name"), [("at exit", "SIGTERM"), ("after its handlers", "SIGINT")])
def test_the_exit_code_of_finished_work_stands_while_the_interpreter_ends(end, name):
    words = [sys.executable, "-c", ENDING.format(end=ENDS[end])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("corml ")
        assert process.stdout.readline() == "ending\n"
        process.send_signal(getattr(signal, name))
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, "")


WRITES = {
    "a file": (WRITING, ["fit", "{r}", "-o", "new"]),
    "an export": (("corml.persistence.atomic", "_flush"), ["export", "{m}", "--to", "sqlite", "--out", "new"]),
    "standard output": (("corml.data", "write"), ["data", "convert", "{r}", "-"]),
}


@pytest.mark.parametrize("what", WRITES)
def test_what_is_half_written_is_removed_where_the_process_is_ended(tmp_path, shop, monkeypatch, what):
    step, words = WRITES[what]
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    given = {"{r}": shop / "ratings.csv", "{m}": shop / "all.corml"}
    words = [given.get(word, word) for word in words]
    code, said, seconds = stopped("a thread that is waited for", signal.SIGTERM, words, tmp_path, step)
    assert (code, seconds < SOON) == (75, True), (seconds, said)
    left = [path for path in tmp_path.rglob("*") if path.name != "tmp" and "numba" not in str(path)]
    assert left == []


def test_a_factorisation_lets_other_threads_run():
    import threading

    import numpy as np

    from corml.linalg.spd import factor_upper

    A = np.eye(3000, dtype=np.float32) + np.float32(1e-6)
    longest, ended, last = 0.0, threading.Event(), time.perf_counter()
    work = threading.Thread(target=lambda: (factor_upper(A), ended.set()))
    begun = time.perf_counter()
    work.start()
    while not ended.wait(0.001):
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    work.join()
    assert longest < 0.5 * (time.perf_counter() - begun)


def test_what_is_listed_as_unfinished_is_removed_and_nothing_else(tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    for name in ("file", "finished"):
        (tmp_path / name).write_text("")
    with unfinished.listed(tmp_path / "finished"):
        pass
    with unfinished.listed(tmp_path / "file"), unfinished.listed(tmp_path / "folder"):
        unfinished.remove()
    assert os.listdir(tmp_path) == ["finished"]


def test_a_program_inside_another_leaves_its_signals_as_they_were():
    import contextlib
    import io

    from corml.cli import main

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit):
        main(["--version"])
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert signal.set_wakeup_fd(-1) == -1
    assert corml.__version__
