"""Run a command; whatever goes wrong becomes one line on standard error and an exit code."""

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

import corml
from corml import plugins
from corml.errors import INTERRUPTED, CormlError

__all__ = ["app", "main"]

TYPER_INTERRUPTED = 130  # what typer makes of Ctrl-C


def app() -> typer.Typer:
    """All commands of this room."""
    made = typer.Typer(
        name="corml",
        help=f"corml {corml.__version__}: top-N recommendation from implicit feedback. Start with: corml demo",
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_everywhere)
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
    signal.signal(signal.SIGTERM, _stop)
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        sys.exit(_run([word for word in given if word != "--debug"], debug))


def _everywhere(
    version: bool = typer.Option(False, "--version", help="Show the version and stop.", is_eager=True),
    debug: bool = typer.Option(False, "--debug", help="Show the full traceback when something fails."),
) -> None:
    if version:
        typer.echo(f"corml {corml.__version__}")
        raise typer.Exit


def _run(arguments: list[str], debug: bool) -> int:
    try:
        code = app()(arguments, prog_name="corml", standalone_mode=False)
    except CormlError as fault:
        if debug:
            raise
        return _complain(fault.code, str(fault), fault.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = TYPER_INTERRUPTED
    except BrokenPipeError:  # the reader went away, as in `corml … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _complain("memory", "There was not enough memory. Free some, or give it a smaller piece of work.", 4)
    except Exception as fault:
        if debug or not hasattr(fault, "format_message"):
            raise
        return _complain("usage", f"{fault.format_message().rstrip('.')}. See: corml --help", 2)
    if code == TYPER_INTERRUPTED:
        return _complain("interrupted", "Stopped before the end; nothing was written. Run it again.", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _complain(code: str, sentence: str, exit_code: int) -> int:
    line = " ".join(sentence.split("\n"))
    print(f"error[{code}]: {line}", file=sys.stderr)
    return exit_code


def _warn(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    print(f"warning: {' '.join(str(message).split())}", file=sys.stderr)


def _stop(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt
