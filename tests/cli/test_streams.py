"""Standard output and error that are closed, full or left by their reader: the work is done, the file is whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import corml
from corml._runtime.console_progress import shown

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a shell of POSIX systems, and /dev/full")

PROGRAM = Path(sys.executable).with_name("corml")
INSTALLED = f"'{PROGRAM}'" if PROGRAM.exists() else f"'{sys.executable}' -c 'from corml.cli import main; main()'"
CORML = f"'{sys.executable}' -m corml"


def shell(line, cwd):
    """Run a line of the shell, in which `corml` is the program."""
    line = line.replace("corml ", f"{CORML} ", 1)
    return subprocess.run(["sh", "-c", line], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def place(tmp_path, shop):
    (tmp_path / "r.csv").symlink_to(shop / "ratings.csv")
    (tmp_path / "m").symlink_to(shop / "all.corml")
    return tmp_path


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"], ids=["closed", "full"])
def test_a_fit_without_standard_error_writes_its_model(place, where):
    done = shell(f"corml fit r.csv --out new.corml {where}", place)
    assert done.returncode == 0
    assert done.stdout.startswith("wrote new.corml: ")  # and no remark that was meant for standard error
    assert done.stdout.count("\n") == 1
    assert corml.read_model(place / "new.corml").NAME == "corml"


@pytest.mark.parametrize(("words", "where", "code"), [("m", "2>&-", 2), ("nothing --all", "2>/dev/full", 3)])
def test_an_error_that_nobody_can_read_has_its_exit_code(place, words, where, code):
    assert shell(f"corml recommend {words} {where}", place).returncode == code


@pytest.mark.parametrize(
    ("where", "reason"),
    [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")],
    ids=["closed", "full"],
)
def test_a_fit_without_standard_output_writes_its_model_and_says_what_is_lost(place, where, reason):
    done = shell(f"corml fit r.csv --out new.corml {where}", place)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        f"error[system]: {reason} (standard output): what was to be printed is lost, files that were to be written are "
        "complete."
    )
    assert corml.read_model(place / "new.corml").NAME == "corml"


def test_without_both_there_is_the_exit_code_and_the_file(place):
    assert shell("corml fit r.csv --out new.corml >&- 2>&- <&-", place).returncode == 3
    assert corml.read_model(place / "new.corml").NAME == "corml"


def test_a_reader_that_leaves_early_does_not_stop_the_work(place):
    done = shell("corml fit r.csv --out new.corml --json | true", place)
    assert (done.returncode, "error" in done.stderr) == (0, False)
    assert corml.read_model(place / "new.corml").NAME == "corml"


def test_the_number_of_a_closed_stream_is_not_given_to_a_file(place):
    """What a library writes to standard error would otherwise land in the model file."""
    code = "import os, corml.cli._streams as s\ns._open_closed_ones()\nprint(os.open('new', os.O_CREAT | os.O_WRONLY))"
    done = shell(f"corml 2>&- <&-; '{sys.executable}' -c \"{code}\" 2>&- <&-", place)
    assert int(done.stdout.split()[-1]) > 2


class Full:
    """Standard error on a full disk."""

    def isatty(self):
        return False

    def write(self, text):
        raise OSError(28, "No space left on device")

    flush = write


class Closed(Full):
    """Standard error that was closed."""

    def isatty(self):
        raise ValueError("I/O operation on closed file")


@pytest.mark.parametrize("stream", [None, Full(), Closed()], ids=["none", "full", "closed"])
def test_progress_of_the_library_does_not_need_standard_error(monkeypatch, capsys, place, stream):
    monkeypatch.setattr("corml._runtime.console_progress.ASKED_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    with shown(True) as show:
        show("fit", 1, 2)
    store = corml.build_store(place / "r.csv", place / "s.store")
    assert corml.CoRML(rank=2).fit(corml.load(place / "r.csv"), progress=True).NAME == "corml"
    assert corml.fit_store(corml.CoRML(rank=2), store, progress=True).NAME == "corml"
    assert capsys.readouterr().out == ""  # nor does what was meant for it go to standard output


@pytest.mark.parametrize("program", [INSTALLED, CORML], ids=["corml", "python -m corml"])
def test_the_program_is_installed_and_prints_its_version(tmp_path, program):
    done = subprocess.run(f"{program} --version", shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"corml {corml.__version__}\n", "")


@pytest.mark.parametrize("words", ["models", "data list --json"])
def test_a_reader_that_leaves_early_is_no_error(words):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(f"{CORML} {words}", shell=True, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 0
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())


def test_any_encoding_of_the_terminal_will_do(place):
    done = shell("PYTHONIOENCODING=ascii corml models", place)
    assert done.returncode == 0
    assert "\\u2265" in done.stdout
