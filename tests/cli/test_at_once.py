"""Two commands with one --out: the second is refused, names the process of the first, and changes nothing."""

import os
import signal
import subprocess
import sys

import pytest

from corml.errors import UsageError
from corml.persistence import locks

pytestmark = pytest.mark.skipif(locks.fcntl is None, reason="a system without locks")

# The first command waits, where its long work begins, until a line comes.
WAIT = """
import sys
from corml.cli import main
import {room} as room
work = room.{step}
def slow(*arguments, **options):
    print("reached", flush=True)
    sys.stdin.readline()
    return work(*arguments, **options)
room.{step} = slow
main({words!r})
"""
COMMANDS = {
    "compare": (
        ("corml.experiments.run", "evaluate"),
        ["compare", "{r}", "--models", "popularity,item-knn", "-m", "ndcg@10", "--out", "out"],
        ["compare", "{r}", "--models", "ease", "-m", "ndcg@10", "--out", "out"],
    ),
    "reproduce": (
        ("corml.experiments.run", "evaluate"),
        ["reproduce", "table", "--quick", "--models", "popularity", "--out", "out"],
        ["reproduce", "table", "--quick", "--models", "item-knn", "--out", "out"],
    ),
    "report": (
        ("corml.cli.report", "render"),
        ["report", "{m}", "--out", "out"],
        ["report", "{m}", "--out", "out", "--name", "other"],
    ),
    "fit": (
        ("corml.cli.fit", "save_or_keep"),
        ["fit", "{r}", "--model", "popularity", "--out", "out"],
        ["fit", "{r}", "--model", "ease", "--out", "out"],
    ),
    "tune": (
        ("corml.cli.tune", "put"),
        ["tune", "{r}", "--model", "popularity", "--trials", "1", "--out", "out"],
        ["tune", "{r}", "--model", "ease", "--trials", "1", "--out", "out"],
    ),
}


def start(folder, shop, at, words):
    room, step = at
    program = WAIT.format(room=room, step=step, words=filled(words, shop))
    process = subprocess.Popen(
        [sys.executable, "-c", program],
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


def filled(words, shop):
    return [word.format(r=shop / "ratings.csv", m=shop / "split.corml") for word in words]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_second_of_two_commands_with_one_out_is_refused_and_the_first_is_whole(run, here, shop, command):
    at, first, second = COMMANDS[command]
    process = start(here, shop, at, first)
    try:
        refused = run(*filled(second, shop))
        out, err = process.communicate("go\n", timeout=60)
    finally:
        process.kill()
        process.wait()
    assert refused.code == 2, refused
    assert f"error[usage]: Process {process.pid}, started 2" in refused.err
    assert "is writing 'out': wait until it has ended, or choose another name." in refused.err
    assert process.returncode == 0, (out, err)
    for name in WHOLE.get(command, ()):
        assert "popularity" in (here / "out" / name).read_text("utf-8").lower(), name
    assert os.listdir(here) == ["out"]  # no lock is left
    assert not (here / "out" / ".lock").exists()


WHOLE = {
    "compare": ["study.json", "tables.txt", "tables.md", "tables.tex", "results.csv", "results.json", "report.html"],
    "reproduce": ["table.md", "table.csv", "table.json"],
}


def test_a_command_that_was_killed_holds_nothing(run, here, shop):
    at, first, second = COMMANDS["compare"]
    process = start(here, shop, at, first)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert run(*filled(second, shop)).code == 0
    assert not (here / "out" / ".lock").exists()


def test_one_hold_inside_another_is_one_and_other_threads_are_refused(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

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
    from concurrent.futures import ThreadPoolExecutor

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
