"""Who does the work of a command: this process, processes of its own, or a cluster of Dask."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from corml.cli._options import with_options
from corml.errors import UsageError

CLUSTER: dict[str, Any] = {
    "workers": (
        int | None,
        typer.Option(
            None,
            "--workers",
            metavar="N",
            help="Of a store, its split or lists in a folder: share it among N processes.",
        ),
    ),
    "address": (
        str | None,
        typer.Option(
            None,
            "--cluster",
            metavar="ADDRESS",
            help="Of a store, its split or lists in a folder: the scheduler of a Dask cluster, tcp://… or tls://….",
        ),
    ),
    "insecure": (
        bool,
        typer.Option(False, "--insecure-cluster", help="Allow a cluster on other machines without TLS."),
    ),
}
NAMES = {"workers": "--workers", "address": "--cluster", "insecure": "--insecure-cluster"}


def with_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a cluster; it receives those that were used as `cluster`, for `client_of`."""

    def gather(values: dict[str, Any]) -> dict[str, Any]:
        used = {name: value for name, value in values.items() if value is not None and value is not False}
        if "workers" in used and "address" in used:
            raise UsageError("--workers starts a cluster here and --cluster names one that runs: give one of them.")
        if "workers" in used and used["workers"] < 1:
            raise UsageError(f"--workers takes a number of at least 1; got {used['workers']}.")
        if "insecure" in used and "address" not in used:
            raise UsageError("--insecure-cluster says something of --cluster ADDRESS: give it, or leave both out.")
        return used

    return with_options(command, "cluster", CLUSTER, gather)


def named(asked: Mapping[str, Any]) -> list[str]:
    """The options that were used, as they are written."""
    return [NAMES[name] for name in asked]


@contextmanager
def client_of(asked: Mapping[str, Any]) -> Iterator[Any]:
    """A client of the cluster that was asked for, or None."""
    if not asked:
        yield None
        return
    from corml.outofcore.tasks.cluster import connected, local_workers  # only who asks for it waits for Dask

    if "address" in asked:
        with connected(asked["address"], insecure="insecure" in asked) as client:
            yield client
        return
    with local_workers(asked["workers"]) as client:
        yield client
