"""corml serve: model files behind an HTTP API."""

import importlib.util
import sys

import typer

from corml._runtime import environment
from corml.cli._console import QUIET, say
from corml.errors import UsageError
from corml.service.options import Options, named_files, origins, read_token
from corml.service.supervisor import Supervisor

__all__ = ["serve"]

NEEDED = ("starlette", "msgspec", "uvicorn", "httptools", "prometheus_client")


def serve(
    models: list[str] = typer.Argument(
        ..., metavar="MODEL…", help="Model files, NAME=FILE, or a folder with .corml files; the first is the default."
    ),
    host: str = typer.Option("127.0.0.1", "--host", metavar="ADDRESS", help="Address to listen at."),
    port: int = typer.Option(8000, "--port", "-p", metavar="N", help="Port to listen at; 0 takes a free one."),
    workers: int = typer.Option(1, "--workers", metavar="N", help="Processes that answer."),
    threads: int = typer.Option(1, "--threads", metavar="N", help="Threads of each of them."),
    token_file: str = typer.Option(
        None, "--token-file", metavar="FILE", help="A file with the token that callers send (or CORML_TOKEN)."
    ),
    admin_token_file: str = typer.Option(
        None, "--admin-token-file", metavar="FILE", help="A token of its own for reloads (or CORML_ADMIN_TOKEN)."
    ),
    allow_host: list[str] = typer.Option(
        [], "--allow-host", metavar="NAME", help="A name this service is called by; may be repeated."
    ),
    cors: list[str] = typer.Option(
        [],
        "--cors",
        metavar="ORIGIN",
        help="Pages of this origin may call, e.g. https://shop.example; may be repeated.",
    ),
    log: str = typer.Option("plain", "--log", metavar="plain|json", help="Form of the log, on standard error."),
    docs: bool = typer.Option(True, "--docs/--no-docs", help="Pages /docs and /openapi.json."),
    in_flight: int = typer.Option(64, "--in-flight", metavar="N", help="Requests at work in each process."),
    rate: float = typer.Option(None, "--rate", metavar="N", help="Requests per second of one address."),
    timeout: float = typer.Option(5.0, "--timeout", metavar="SECONDS", help="Time to receive and answer a request."),
    drain: float = typer.Option(1.0, "--drain", metavar="SECONDS", help="Time between «not ready» and the end."),
) -> None:
    """Serve models over HTTP: lists, explanations, why not.

    Only this machine can call it, unless --host says more; then a token is needed. A new version of a model file is
    taken by SIGHUP or POST /v1/admin/reload: it is checked and tested first, and the old version answers until then.
    SIGTERM ends it when all requests are answered.

    \b
    Examples:
      corml serve movies.corml
      corml serve shop=models/shop.corml movies.corml --port 9000 --workers 2
      corml serve models/ --host 0.0.0.0 --token-file token --log json
    """
    check_packages("service")
    environment.check()  # the workers would fail one after the other
    options = Options(
        models=named_files(models),
        host=host,
        port=port,
        workers=workers,
        threads=threads,
        token=read_token(token_file, "CORML_TOKEN"),
        admin_token=read_token(admin_token_file, "CORML_ADMIN_TOKEN"),
        hosts=tuple(allow_host),
        cors=origins(cors),
        log=log,
        docs=docs,
        in_flight=in_flight,
        rate=rate,
        timeout=timeout,
        drain=drain,
    )
    Supervisor(options, quiet=QUIET.get(), announce=say_now).run()


def check_packages(what: str) -> None:
    """Refuse to start without the packages of the extra."""
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        raise UsageError(f'The {what} needs more packages: pip install "corml[serve]".')


def say_now(text: str) -> None:
    """Print at once, also where standard output is a file."""
    say(text)
    sys.stdout.flush()
