"""Run a command; whatever goes wrong becomes one line on standard error and an exit code."""

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

import corml
from corml._runtime import address_space, memory
from corml.cli._commands import Commands
from corml.cli._console import HELD, QUIET, VERBOSE, WORDS, in_flags, say
from corml.cli._stopping import STOPPED, is_stopping
from corml.errors import (
    INTERRUPTED,
    ConvergenceWarning,
    CormlError,
    DataWarning,
    LeakageWarning,
    WeightsWarning,
    printable,
)

TYPER_INTERRUPTED = 130  # what typer makes of Ctrl-C
UNEXPECTED = 1
QUIETLY = ("-q", "--quiet")
VERBOSELY = ("-v", "--verbose")
SWITCHES = ("--debug", *QUIETLY, *VERBOSELY)


def app() -> typer.Typer:
    """The program with all its commands."""
    program = typer.Typer(
        name="corml",
        cls=Commands,
        help=f"corml {corml.__version__}: top-N recommendation from implicit feedback.\n\nStart with: corml demo",
        add_completion=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(_root)
    return program


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the program `corml`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    switches = {word for word in given[:end] if word in SWITCHES}  # which may stand anywhere before a `--`
    words = [word for at, word in enumerate(given) if at >= end or word not in SWITCHES]
    WORDS.set(tuple(given))
    QUIET.set(bool(switches & set(QUIETLY)))
    VERBOSE.set(bool(switches & set(VERBOSELY)))
    with contextlib.ExitStack() as held, warnings.catch_warnings():
        HELD.set(held)
        for category in (ConvergenceWarning, LeakageWarning, WeightsWarning):
            warnings.simplefilter("always", category)
        warnings.simplefilter("once", DataWarning)  # many lists may be made of one request
        warnings.showwarning = _warn
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")  # escape what the terminal's encoding does not have
        sys.exit(_run(words, "--debug" in switches))


def _root(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
    quiet: bool = typer.Option(False, *QUIETLY, help="Print results, warnings and errors, nothing else."),
    verbose: bool = typer.Option(False, *VERBOSELY, help="Print details too, such as every test and setting."),
    debug: bool = typer.Option(False, "--debug", help="Show the full traceback when something fails."),
) -> None:
    """Options of the program itself, declared here for its help: all take effect before typer reads a word."""


def _dispatch(arguments: list[str]) -> Any:
    """Run what was asked for; the version needs no typer, which is slow to read even a flag, and no words mean help."""
    if arguments[:1] == ["--version"]:
        say(f"corml {corml.__version__}")
        return 0
    address_space.prepare("corml")
    return app()(arguments or ["--help"], prog_name="corml", standalone_mode=False)


def _run(arguments: list[str], debug: bool) -> int:
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # typer exits by itself after a completion, and if the reader went away,
        with contextlib.suppress(OSError):  # as in `corml … | head`
            sys.stdout.flush()
        _discard_output()
        return 0
    except (KeyboardInterrupt, typer.Abort):
        code = TYPER_INTERRUPTED
    except BaseException as fault:
        panic = type(fault).__name__ == "PanicException"  # a library in Rust gave up; not an Exception
        if debug or not (isinstance(fault, Exception) or panic):
            raise
        if not is_stopping() or getattr(fault, "exit_code", None) == INTERRUPTED:
            return _explain(fault)
        code = TYPER_INTERRUPTED
    if code == TYPER_INTERRUPTED:
        return _fail("interrupted", STOPPED, INTERRUPTED)
    return code if isinstance(code, int) else 0


def _explain(fault: BaseException) -> int:
    if isinstance(fault, CormlError):
        return _fail(fault.code, in_flags(str(fault)), fault.exit_code)
    if hasattr(fault, "format_message"):  # typer's own, about options and arguments
        message = fault.format_message()
        where = getattr(getattr(fault, "ctx", None), "command_path", "corml")
        return _fail("usage", f"{message}{'' if message.endswith(('.', '?')) else '.'} See: {where} --help", 2)
    if memory.is_shortage(fault):
        return _fail("memory", memory.SHORT, 4)
    if isinstance(fault, OSError):
        _discard_output()  # if that is what cannot be written, Python must not try again at its end
        about = f" ({fault.filename})" if fault.filename else ""
        return _fail("system", f"{fault.strerror or fault}{about}. Check the disk and the permissions.", 3)
    advice = "This is a bug in corml: run it again with --debug, and report what it shows."
    return _fail("unexpected", f"{type(fault).__name__}: {fault}. {advice}", UNEXPECTED)


def _fail(code: str, sentence: str, exit_code: int) -> int:
    print(f"error[{code}]: {printable(' '.join(sentence.splitlines()))}", file=sys.stderr)
    return exit_code


def _discard_output() -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    print(f"warning: {printable(in_flags(' '.join(str(message).split())))}", file=sys.stderr)
