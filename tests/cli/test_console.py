"""What is shown: on a terminal, in a file, to a script."""

import importlib
import io
import json
import signal
import sys

import pytest

from corml._runtime import console_progress
from corml.cli import _console, _main, _stopping
from corml.errors import DataError


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_json_is_strict_and_complete(capsys):
    _console.show_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": ("é", None)})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "c": ["é", None]}


def test_json_is_ascii_where_the_output_is_not_utf8(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    _console.show_json(["🙂"])
    sys.stdout.flush()
    assert json.loads(raw.getvalue().decode("ascii")) == ["🙂"]


def test_a_row_of_a_table_is_one_line_in_a_file_and_folds_on_a_terminal(monkeypatch, capsys):
    rows = [["x" * 300, 1, 0.5, None, True]]
    _console.show_table(["name", "count", "share", "none", "flag"], rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["x" * 300, "1", "0.5000", "-", "yes"]
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stdout", Terminal())
    _console.show_table(["name", "count", "share", "none", "flag"], rows)
    assert sys.stdout.getvalue().count("\n") > 8


def test_numbers_are_readable(capsys):
    _console.show_table(["a"], [[12345], [0.00001234], [2e7], [0.0], [0.25]])
    assert capsys.readouterr().out.split()[2:] == ["12,345", "1.234e-05", "2e+07", "0.0000", "0.2500"]


def test_an_empty_table_has_its_head(capsys):
    _console.show_table(["a", "b"], [])
    assert capsys.readouterr().out.split()[:2] == ["a", "b"]


def test_remarks_are_one_printable_line(capsys):
    _console.tell("two\nlines \x1b[31m")
    assert capsys.readouterr().err == "two\\nlines \\x1b[31m\n"


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with _console.progress() as show:
        show("fit", 1, 10)
        show("fit", 10, 10)
    assert "fit" in sys.stderr.getvalue()


def test_progress_is_a_line_now_and_then_in_a_log(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 1.0, 2.0, 21.0])
    monkeypatch.setattr(console_progress.time, "monotonic", lambda: next(clock))
    with _console.progress() as show:
        show("load", 1, 2)
        show("fit", 1, 10)
        show("fit", 5, 10)
    assert capsys.readouterr().err == "fit: 5 of 10, about 19 s left\n"


def test_all_epochs_are_one_bar_with_the_latest_score(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with _console.progress() as show:
        for epoch in range(1, 6):
            show(f"epoch {epoch}, valid 0.{epoch}", epoch, 5)
    last = sys.stderr.getvalue().rpartition("epoch 5, valid 0.5")[2]
    assert "5/5" in last
    assert "epoch 4" not in last


def test_the_time_left_of_training_is_that_of_all_epochs_even_after_a_pause(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 0.0, 5.0, 10.0])
    monkeypatch.setattr(console_progress.time, "monotonic", lambda: next(clock))
    with _console.progress() as show:
        show("epoch 101", 1001, 2000)  # continues from a checkpoint
        show("epoch 101", 1005, 2000)
        show("epoch 102, valid 0.1", 1010, 2000)
    assert capsys.readouterr().err == "epoch 102, valid 0.1: 1010 of 2000, about 990 s left\n"


def test_lists_are_one_stage_at_any_speed_and_their_time_left_is_that_of_this_run(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 0.0, 10.0])
    monkeypatch.setattr(console_progress.time, "monotonic", lambda: next(clock))
    with _console.progress() as show:
        show("lists", 900_001, 1_000_000)  # nine parts of ten were there
        show("lists at 1,000 users/s", 910_000, 1_000_000)
    assert capsys.readouterr().err == "lists at 1,000 users/s: 910000 of 1000000, about 90 s left\n"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel nobody has compiled yet."""
    (tmp_path / "fresh_kernel.py").write_text(
        "from corml._runtime.compiled import njit\n\n@njit(cache=True, nogil=True)\ndef double(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fresh_kernel", raising=False)
    return importlib.import_module("fresh_kernel").double


@pytest.mark.parametrize(("seconds", "mentioned"), [(0.0, 1), (1000.0, 0)])
def test_a_log_mentions_a_long_compilation_once(kernel, tmp_path, monkeypatch, capsys, seconds, mentioned):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(console_progress, "COMPILE_SECONDS", seconds)
    with _console.progress():
        kernel(1)
        kernel(1.0)
    assert capsys.readouterr().err.splitlines() == [console_progress.COMPILING] * mentioned


def test_a_terminal_shows_compilation_as_a_bar(kernel, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with _console.progress():
        kernel(1)
        kernel(1.0)
    last = sys.stderr.getvalue().rpartition("compile")[2]
    assert "2/2" in last


@pytest.fixture
def broken(monkeypatch):
    """A command that fails in a chosen way."""

    def choose(fault):
        def fail(*_, **__):
            raise fault

        monkeypatch.setattr("corml.evaluation.metrics.describe", fail)

    return choose


@pytest.mark.parametrize(
    ("fault", "code", "sentence"),
    [
        (DataError("two\nlines"), 3, "error[data]: two lines"),
        (MemoryError(), 4, "error[memory]: There was not enough memory."),
        (OSError(28, "No space left on device", "x"), 3, "error[system]: No space left on device (x)."),
        (OSError("odd"), 3, "error[system]: odd."),
        (ZeroDivisionError("oh"), 1, "error[unexpected]: ZeroDivisionError: oh. This is a bug in corml"),
        (KeyboardInterrupt(), 75, "error[interrupted]: Stopped before the end"),
        (EOFError(), 75, "error[interrupted]: Stopped before the end"),
    ],
)
def test_whatever_goes_wrong_is_one_line_and_a_code(run, broken, monkeypatch, fault, code, sentence):
    monkeypatch.setattr(_main, "_discard_output", lambda: None)
    broken(fault)
    outcome = run("metrics")
    assert outcome.code == code
    assert sentence in outcome.err


def test_a_reader_that_went_away_is_no_failure(run, broken, monkeypatch):
    discarded = []
    monkeypatch.setattr(_main, "_discard_output", lambda: discarded.append(True))
    broken(BrokenPipeError(32, "Broken pipe"))
    assert run("metrics").code == 0
    assert discarded


def test_an_interrupt_before_the_start_is_polite_too(monkeypatch, capsys):
    import builtins

    from corml.cli import main

    original = builtins.__import__

    def interrupted(name, *rest):
        if name == "corml.cli._main":
            raise KeyboardInterrupt
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 75
    assert capsys.readouterr().err.startswith("error[interrupted]: ")


def test_the_entry_point_runs_the_program(capsys):
    from corml.cli import main

    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("corml ")


def test_debug_shows_where_it_happened(broken):
    broken(DataError("no"))
    with pytest.raises(DataError):
        _main.main(["metrics", "--debug"])


def test_the_caller_gets_its_signal_handler_back(run):
    before = signal.getsignal(signal.SIGTERM)
    run("--version")
    assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_is_an_interrupt_of_what_is_done_inside_alone():
    with _stopping.stoppable(for_good=False):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert _stopping.is_stopping()
    assert not _stopping.is_stopping()
