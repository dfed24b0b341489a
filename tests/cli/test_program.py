"""The installed program as the shell sees it: signals, pipes, full disks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import corml

PROGRAM = Path(sys.executable).with_name("corml")
COMMAND = [str(PROGRAM)] if PROGRAM.exists() else [sys.executable, "-c", "from corml.cli import main; main()"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX systems")


def test_the_program_is_installed_and_says_its_version():
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"corml {corml.__version__}\n"
    assert done.stderr == ""


def start(code, *words, cwd):
    """Run the program with a line of Python before it, which makes a stage slow and says when it is reached."""
    program = f"import sys, time\nfrom corml.cli import main\n{code}\nmain({list(map(str, words))!r})"
    return subprocess.Popen(
        [sys.executable, "-c", program], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


WAIT = """
def slow(*arguments, **options):
    print("reached", flush=True)
    time.sleep(30)
"""
STAGES = {
    "reading": WAIT + "import corml.data._load as room; room.gather = slow",
    "fitting": WAIT + "import corml.models.corml.estimator as room; room.fit_as_planned = slow",
    "writing": WAIT + "import corml.persistence.atomic as room; room._fill = slow",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["Ctrl-C", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_signal_stops_the_work_with_75_and_leaves_nothing(tmp_path, shop, stage, number):
    process = start(STAGES[stage], "fit", shop / "ratings.csv", "-o", "m.corml", cwd=tmp_path)
    try:
        assert process.stdout.readline() == "reached\n"
        begun = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
        assert time.monotonic() - begun < 10
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 75
    assert said.splitlines()[-1].startswith("error[interrupted]: ")
    assert "Traceback" not in said
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("words", [["metrics"], ["models"], ["--help"], ["data", "list", "--json"]])
def test_a_reader_that_leaves_early_is_no_error(words):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, *words], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 0
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_behind_standard_output_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "metrics"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("error[system]: No space left on device")
    assert done.stderr.count("\n") == 1


def test_any_encoding_of_the_terminal_will_do(shop):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, "models"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0
    assert "\\u2265" in done.stdout
