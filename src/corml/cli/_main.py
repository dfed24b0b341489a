"""Run a command; whatever goes wrong becomes one line on standard error and an exit code."""

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

import corml
from corml import plugins
from corml.cli._console import clean, say
from corml.errors import INTERRUPTED, ConvergenceWarning, CormlError

__all__ = ["app", "main"]

TYPER_INTERRUPTED = 130  # what typer makes of Ctrl-C
UNEXPECTED = 1

# The road of a newcomer; a command that is not on it comes after.
ROAD = ("demo", "data", "fit", "recommend", "similar", "explain", "evaluate", "verify", "inspect", "models", "metrics")


class InOrder(TyperGroup):
    """Lists the commands as somebody would use them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of ROAD."""
        place = {name: at for at, name in enumerate(ROAD)}
        return sorted(self.commands, key=lambda name: (place.get(name, len(ROAD)), name))


def app() -> typer.Typer:
    """All commands of this room."""
    made = typer.Typer(
        name="corml",
        cls=InOrder,
        help=f"corml {corml.__version__}: top-N recommendation from implicit feedback.\n\nStart with: corml demo",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=True)(_everywhere)
    for name in plugins.names("corml.cli"):
        command = plugins.get("corml.cli", name)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name)(command)
    return made


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the program `corml`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", ConvergenceWarning)
            warnings.showwarning = _warn
            _print_anything()
            sys.exit(_run([word for word in given if word != "--debug"], debug))
    finally:
        signal.signal(signal.SIGTERM, before)


def _everywhere(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and stop."),
    debug: bool = typer.Option(False, "--debug", help="Show the full traceback when something fails."),
) -> None:
    if version:
        say(f"corml {corml.__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())


def _run(arguments: list[str], debug: bool) -> int:
    try:
        code = app()(arguments, prog_name="corml", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # typer exits by itself if the reader went away, as in `corml … | head`
        _forget_output()
        return 0
    except (KeyboardInterrupt, typer.Abort):
        code = TYPER_INTERRUPTED
    except Exception as fault:
        if debug:
            raise
        return _explain(fault)
    if code == TYPER_INTERRUPTED:
        return _complain(
            "interrupted", "Stopped before the end; every file is whole or as it was. Run it again.", INTERRUPTED
        )
    return code if isinstance(code, int) else 0


def _explain(fault: Exception) -> int:
    if isinstance(fault, CormlError):
        return _complain(fault.code, str(fault), fault.exit_code)
    if hasattr(fault, "format_message"):  # typer's own, about options and arguments
        message = fault.format_message()
        where = getattr(getattr(fault, "ctx", None), "command_path", "corml")
        return _complain("usage", f"{message}{'' if message.endswith(('.', '?')) else '.'} See: {where} --help", 2)
    if isinstance(fault, MemoryError):
        return _complain("memory", "There was not enough memory. Free some, or give it a smaller piece of work.", 4)
    if isinstance(fault, OSError):
        _forget_output()  # if that is what cannot be written, Python must not try again at its end
        about = f" ({fault.filename})" if fault.filename else ""
        return _complain("system", f"{fault.strerror or fault}{about}. Check the disk and the permissions.", 3)
    advice = "This is a mistake in corml: run it again with --debug, and report what it shows."
    return _complain("unexpected", f"{type(fault).__name__}: {fault}. {advice}", UNEXPECTED)


def _complain(code: str, sentence: str, exit_code: int) -> int:
    print(f"error[{code}]: {clean(' '.join(sentence.splitlines()))}", file=sys.stderr)
    return exit_code


def _print_anything() -> None:
    """Escape what the terminal's encoding has no character for, rather than fail."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    print(f"warning: {clean(' '.join(str(message).split()))}", file=sys.stderr)


def _stop(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt
