"""Options of commands that share their work among processes: on this machine, or on a Dask cluster."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from corml.cli._options import Command, Given, option, switch, used, with_options
from corml.errors import UsageError

if TYPE_CHECKING:
    from distributed import Client

CLUSTER = {
    "workers": option(int, "--workers", "N", "Number of worker processes (stores and --out FOLDER/ only)."),
    "address": option(
        str,
        "--cluster",
        "ADDRESS",
        "Scheduler of a Dask cluster, tcp://… or tls://… (stores and --out FOLDER/ only).",
    ),
    "insecure": switch("--insecure-cluster", "Allow a cluster on other machines without TLS."),
}
FLAGS = {"workers": "--workers", "address": "--cluster", "insecure": "--insecure-cluster"}


def with_cluster(command: Command) -> Command:
    """Give a command the options of a cluster; it receives those that were used as `cluster`, for `client_of`."""

    def gather(values: Given) -> Given:
        given = used(values)
        if "workers" in given and "address" in given:
            raise UsageError("--workers starts a cluster here and --cluster names a running one: give one of them.")
        if given.get("workers", 1) < 1:
            raise UsageError(f"--workers takes a number of at least 1; got {given['workers']}.")
        if "insecure" in given and "address" not in given:
            raise UsageError("--insecure-cluster requires --cluster ADDRESS.")
        return given

    return with_options(command, "cluster", CLUSTER, gather)


def named(cluster: Mapping[str, object]) -> list[str]:
    """The options that were used, as they are written."""
    return [FLAGS[name] for name in cluster]


@contextmanager
def client_of(cluster: Given) -> Iterator["Client | None"]:
    """A client of the cluster that the options name, or None."""
    if not cluster:
        yield None
        return
    from corml.outofcore.tasks.cluster import connected, local_workers  # Dask is loaded only where it is used

    if "address" in cluster:
        context = connected(cluster["address"], insecure="insecure" in cluster)
    else:
        context = local_workers(cluster["workers"])
    with context as client:
        yield client
