"""Two commands with one --out: the second is refused, names the process of the first, and changes nothing."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from corml.errors import UsageError
from corml.persistence import locks

pytestmark = pytest.mark.skipif(locks.fcntl is None, reason="a system without locks")

# A command waits where its long work begins, until a line comes.
WAIT = """
import sys
from corml.cli import main
import corml.experiments.run as module
work = module.evaluate
def slow(*arguments, **options):
    print("reached", flush=True)
    sys.stdin.readline()
    return work(*arguments, **options)
module.evaluate = slow
main({words!r})
"""
COMMANDS = {
    "compare": ["compare", "{r}", "--models", "ease", "-m", "ndcg@10", "--out", "out"],
    "reproduce": ["reproduce", "table", "--quick", "--models", "item-knn", "--out", "out"],
    "report": ["report", "{m}", "--out", "out", "--name", "other"],
    "fit": ["fit", "{r}", "--model", "ease", "--out", "out"],
    "tune": ["tune", "{r}", "--model", "ease", "--trials", "1", "--out", "out"],
}
FIRST = ["compare", "{r}", "--models", "popularity,item-knn", "-m", "ndcg@10", "--out", "out"]


def filled(words, shop):
    return [word.format(r=shop / "ratings.csv", m=shop / "split.corml") for word in words]


def start(folder, shop):
    """The first of two commands, in the middle of its work."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAIT.format(words=filled(FIRST, shop))],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CORML_THREADS": "1"},
    )
    for line in process.stdout:
        if line == "reached\n":
            return process
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_refused_while_somebody_else_writes_its_out(run, here, shop, command):
    with ExitStack() as stack, ThreadPoolExecutor(1) as other:
        other.submit(stack.enter_context, locks.held("out", folder=command in ("compare", "reproduce"))).result()
        refused = run(*filled(COMMANDS[command], shop))
    assert refused.code == 2, refused
    assert f"error[usage]: Process {os.getpid()}, started 2" in refused.err
    assert "is writing 'out': wait until it has ended, or choose another name." in refused.err


def test_the_second_of_two_commands_with_one_out_is_refused_and_the_first_is_whole(run, here, shop):
    process = start(here, shop)
    try:
        refused = run(*filled(COMMANDS["compare"], shop))
        out, err = process.communicate("go\n", timeout=60)
    finally:
        process.kill()
        process.wait()
    assert refused.code == 2, refused
    assert f"error[usage]: Process {process.pid}, started 2" in refused.err
    assert process.returncode == 0, (out, err)
    files = ["study.json", "tables.txt", "tables.md", "tables.tex", "results.csv", "results.json", "report.html"]
    for name in files:
        assert "popularity" in (here / "out" / name).read_text("utf-8").lower(), name
    assert os.listdir(here) == ["out"]  # no lock is left
    assert not (here / "out" / ".lock").exists()


def test_a_command_that_was_killed_holds_nothing(run, here, shop):
    process = start(here, shop)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert run(*filled(COMMANDS["compare"], shop)).code == 0
    assert not (here / "out" / ".lock").exists()


def test_one_hold_inside_another_is_one_and_other_threads_are_refused(tmp_path):
    def again():
        with locks.held(tmp_path / "x"):
            pass

    with locks.held(tmp_path / "x"), ThreadPoolExecutor(1) as threads:
        again()
        with pytest.raises(UsageError, match=f"Process {os.getpid()}, started"):
            threads.submit(again).result()
    threads = ThreadPoolExecutor(1)
    threads.submit(again).result()
    assert os.listdir(tmp_path) == []


def test_a_link_and_the_file_it_leads_to_are_one_target(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "x")

    def other():
        with locks.held(tmp_path / "x"):
            pass

    with locks.held(tmp_path / "link"), ThreadPoolExecutor(1) as threads:
        with pytest.raises(UsageError, match="is writing"):
            threads.submit(other).result()


def test_a_folder_made_for_a_command_that_fails_is_not_left(run, here):
    assert run("compare", "none.csv", "--models", "popularity", "--out", "new").code == 3
    assert os.listdir(here) == []
