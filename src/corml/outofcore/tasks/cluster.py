"""Tasks on a Dask cluster: the tasks, kernels and bytes of `Serial`, on any number of machines.

All machines share the folder of the artefacts. What passes between them are names of files and facts of a few bytes: a
worker that dies loses nothing but its unfinished task, which another one repeats. Dask is imported when a cluster is
used.

Four traps are handled here: Dask's memory limit counts mapped files as if they were memory and would end workers (so it
is off); its allocator settings make fresh memory three times as expensive (removed); many workers compile the same
kernel at once (the first task of a kind runs alone); anyone who reaches the port of a scheduler can run programs (so it
is on loopback, or uses TLS).
"""

import importlib.metadata
import os
import secrets
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from corml._runtime import memory
from corml._runtime.parallel import threads
from corml._runtime.version import VERSION as CORML
from corml.errors import ResourceError, UsageError, ascii_line
from corml.outofcore.tasks.artefacts import TOKEN, Artefacts
from corml.outofcore.tasks.executor import VERSION, Executor, Needed, Serial, Task, perform

if TYPE_CHECKING:
    from distributed import Client

DEATHS = 3  # of workers at one task, after which it is the task
LOOPBACK = {"127.0.0.1", "localhost", "::1", ""}
IDLE = {  # a cluster that waits is to take no CPU time
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.scheduler.allowed-failures": DEATHS - 1,
}

_opened: dict[str, Artefacts] = {}  # of a worker: it compares hashes once


def run_task(folder: str, task: Task) -> dict[str, Any]:
    """Run a task, on a worker: its facts, or the key of a damaged input."""
    return perform(_opened.setdefault(folder, Artefacts(folder)), task)


class Dask(Executor):
    """Runs tasks on the workers of a cluster."""

    def __init__(self, artefacts: Artefacts, client: "Client") -> None:
        super().__init__(artefacts)
        self.client = client
        self.compiled: set[str] = set()
        _check_nodes(client, artefacts)

    def _performed(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, dict[str, Any]]]:
        as_completed: Any = _distributed().as_completed
        first = [task for task in tasks[:1] if task.kernel not in self.compiled]  # the others load the compiled kernel
        for some in (first, tasks[len(first) :]):
            running = {self._submit(task): task for task in some}
            for future in as_completed(running, loop=self.client.loop):
                task = running[future]
                answer = self._answer(future, task)
                if task.durable and "facts" in answer:
                    self.artefacts.trust(task.key)
                yield task, answer
            self.compiled.update(task.kernel for task in some)

    def require(self, needed: Needed) -> None:
        """Refuse workers that may take less memory than a task needs; workers of one machine share its memory."""
        workers = self.client.run(_free)
        on_machine = Counter(machine for machine, _, _ in workers.values())
        for node, (machine, free, cores) in workers.items():
            share, most = free // on_machine[machine], needed(cores)
            if most > share:
                raise ResourceError(
                    f"The worker {ascii_line(node, 200)} may take {memory.size(share)}, and a task needs up to "
                    f"{memory.size(most)}: start fewer workers a machine, with fewer threads, or set candidates to "
                    "fewer pairs an item."
                )

    def _submit(self, task: Task) -> Any:
        # a name of its own for each try: what failed once is not remembered
        name = f"{task.kernel.partition(':')[2]}-{task.key[:16]}-{secrets.token_hex(4)}"
        return self.client.submit(run_task, str(self.artefacts.folder.resolve()), task, key=name, pure=False)

    def _answer(self, future: Any, task: Task) -> dict[str, Any]:
        from distributed.scheduler import KilledWorker

        try:
            answer: dict[str, Any] = future.result()
        except KilledWorker as fault:
            folders = [one.folder for key in task.inputs.values() if (one := self.artefacts.find(key))]
            read = memory.size(sum(path.stat().st_size for folder in folders for path in folder.iterdir()))
            params = ", ".join(f"{name} {value}" for name, value in task.params.items() if isinstance(value, int))
            raise ResourceError(
                f"A task ended {DEATHS} workers, one after the other: {task.kernel.partition(':')[2]} ({params}), "
                f"which reads {read}. What is finished stays: give workers more memory, and start again."
            ) from fault
        return answer


# --- clusters --------------------------------------------------------------------------------------------------------


@contextmanager
def executor_on(cluster: "str | Client | None", artefacts: Artefacts) -> Iterator[Executor]:
    """An executor for a Dask client, the address of a scheduler, or None: this process."""
    if cluster is None:
        yield Serial(artefacts)
    elif isinstance(cluster, str):
        with connected(cluster) as client:
            yield Dask(artefacts, client)
    else:
        yield Dask(artefacts, cluster)


def _distributed() -> Any:
    try:
        import dask
        import distributed
    except ImportError:
        raise UsageError("A cluster needs Dask: pip install 'corml[cluster]'.") from None
    dask.config.set(IDLE)
    before = dict(dask.config.get("distributed.nanny.pre-spawn-environ", {}))
    before.pop("MALLOC_TRIM_THRESHOLD_", None)
    dask.config.set({"distributed.nanny.pre-spawn-environ": before})
    return distributed


@contextmanager
def local_workers(count: int) -> "Iterator[Client]":
    """Worker processes on this machine, reachable from this machine alone."""
    distributed = _distributed()
    environ = {"CORML_THREADS": str(max(1, threads() // count)), "POLARS_MAX_THREADS": "1"}
    cluster = distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        memory_limit=0,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # any port: with none named, Dask takes 8787, and warns if it is taken
        scheduler_kwargs={"dashboard": False},
        env=environ,
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def connected(address: str, *, insecure: bool = False, security: Any = None) -> "Iterator[Client]":
    """A client of a running scheduler; one on another machine must use TLS, unless `insecure`."""
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or not parts.netloc:
        raise UsageError(
            f"Invalid address of a scheduler {ascii_line(address, 200)}: write it like tcp://127.0.0.1:8786."
        )
    if parts.scheme == "tcp" and (parts.hostname or "") not in LOOPBACK and not insecure:
        raise UsageError(
            f"{ascii_line(address, 200)} is another machine without TLS, and whoever reaches a scheduler can run "
            "programs on its workers: use tls://, or give --insecure-cluster in a network of your own."
        )
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout="20s", security=security)
    except (OSError, ValueError) as fault:
        raise UsageError(f"No scheduler answers at {ascii_line(address, 200)}: {ascii_line(fault)}.") from fault
    with client:
        yield client


def versions() -> dict[str, str]:
    """What must be the same on all nodes for the same bytes."""
    import platform

    import numba
    import numpy
    import scipy

    packages = {module.__name__: module.__version__ for module in (numpy, scipy, numba)}
    packages["polars"] = importlib.metadata.version("polars")  # which writes lists
    return {"corml": CORML, "python": platform.python_version(), "tasks": str(VERSION), **packages}


def _free() -> tuple[str, int, int]:
    """The machine of a worker, what may be taken there, and threads of the worker."""
    return socket.gethostname(), memory.budget(), threads()


def _token(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _check_nodes(client: "Client", artefacts: Artefacts) -> None:
    """Refuse workers with other versions, and those that cannot reach the folder."""
    mine = versions()
    for node, theirs in client.run(versions).items():
        differing = [f"{name} {theirs.get(name)}, not {mine[name]}" for name in mine if theirs.get(name) != mine[name]]
        if differing:
            raise UsageError(f"The worker {ascii_line(node, 200)} has {', '.join(differing)}: install the same on all.")
    path, token = artefacts.folder / f"{TOKEN}{secrets.token_hex(8)}", secrets.token_hex(16)
    path.write_text(token, encoding="utf-8")
    try:
        for node, read in client.run(_token, str(path.resolve()), on_error="return").items():
            if read != token:
                raise UsageError(
                    f"The worker {ascii_line(node, 200)} cannot read {ascii_line(artefacts.folder.resolve(), 200)}: "
                    "all workers need the same folder under the same path."
                )
    finally:
        os.unlink(path)
